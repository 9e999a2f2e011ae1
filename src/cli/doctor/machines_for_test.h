// SPDX-License-Identifier: Apache-2.0
// Each known trap as a machine: what is wrong with it, and what must be said.
#pragma once

#include <cerrno>
#include <string>
#include <vector>

#include "cli/doctor/diagnosis.h"
#include "cli/doctor/facts_for_test.h"

namespace elision::cli::doctor {

using Names = std::vector<std::string>;

struct Machine {
  const char* what;
  Facts (*from)();
  void (*change)(Facts& f);
  Reason reason;
  bool live;
  Names notes;
  Names advice;
};

inline void run_on(Facts& f, const char* signature) {
  f.cpu.hypervisor = true;
  f.cpu.hypervisor_signature = signature;
}

inline void commits(Facts& f, unsigned count) {
  f.trial.counts = {};
  f.trial.counts.attempts = 10000;
  f.trial.counts.commits = count;
  f.trial.counts.aborts[static_cast<std::size_t>(abi::AbortCause::kOther)] = 10000 - count;
}

inline const Machine kMachines[] = {
    {"all is well", live_server, [](Facts&) {}, Reason::kCommits, true, {}, {}},
    {"well in a virtual machine",
     live_server,
     [](Facts& f) { run_on(f, "KVMKVMKVM"); },
     Reason::kCommits,
     true,
     {},
     {}},
    {"the virtual CPU",
     live_server,
     [](Facts& f) {
       f.cpu.virtual_cpu = f.cpu.virtual_always_abort = true;
       f.cpu.arch_capabilities = false;
       f.kernel.taa = "Vulnerable";
       f.perf.cycles_error = ENOSYS;
     },
     Reason::kVirtualCpu,
     true,
     {},
     {}},
    {"RTM is hidden",
     live_server,
     [](Facts& f) {
       f.settings.hide_rtm = "1";
       f.trial = {};
     },
     Reason::kHidden,
     false,
     {},
     {"show-rtm", "virtual-machine"}},
    {"to be hidden, and ended by microcode",
     live_server,
     [](Facts& f) {
       f.settings.hide_rtm = "1";
       f.cpu.rtm_always_abort = true;
       f.trial = {};
     },
     Reason::kMicrocodeAborts,
     false,
     {"hides-nothing"},
     {"another-cpu", "virtual-machine"}},
    {"nothing to hide",
     dead_server,
     [](Facts& f) {
       f.cpu.vendor = "AuthenticAMD";
       f.settings.hide_rtm = "1";
     },
     Reason::kNotIntel,
     false,
     {"hides-nothing"},
     {"another-cpu", "virtual-machine"}},
    {"the virtual CPU cannot be hidden",
     live_server,
     [](Facts& f) {
       f.cpu.virtual_cpu = f.cpu.virtual_always_abort = true;
       f.settings.hide_rtm = "1";
       f.perf.cycles_error = ENOSYS;
     },
     Reason::kVirtualCpu,
     true,
     {"hides-nothing"},
     {}},
    {"not asked to hide",
     live_server,
     [](Facts& f) { f.settings.hide_rtm = "0"; },
     Reason::kCommits,
     true,
     {},
     {}},
    {"asked to hide by a word that is no value",
     live_server,
     [](Facts& f) { f.settings.hide_rtm = "yes"; },
     Reason::kCommits,
     true,
     {"unknown-value"},
     {}},
    {"bit 11 alone says yes, nothing commits",
     live_server,
     [](Facts& f) { commits(f, 0); },
     Reason::kNeverCommits,
     false,
     {},
     {"tsx-control", "virtual-machine"}},
    {"a hypervisor shows RTM, nothing commits",
     live_server,
     [](Facts& f) {
       commits(f, 0);
       run_on(f, "KVMKVMKVM");
     },
     Reason::kNeverCommits,
     false,
     {},
     {"hypervisor", "virtual-machine"}},
    {"perf ends every transaction",
     live_server,
     [](Facts& f) {
       commits(f, 0);
       f.cpu.tsx_force_abort = true;
       f.kernel.perf_may_abort_all = true;
     },
     Reason::kNeverCommits,
     false,
     {},
     {"perf-switch", "tsx-control", "virtual-machine"}},
    {"perf may not end transactions",
     live_server,
     [](Facts& f) {
       f.cpu.tsx_force_abort = true;
       f.kernel.perf_may_abort_all = false;
     },
     Reason::kCommits,
     true,
     {},
     {}},
    {"perf could end transactions",
     live_server,
     [](Facts& f) { f.cpu.tsx_force_abort = true; },
     Reason::kCommits,
     true,
     {"perf-aborts-all"},
     {}},
    {"one half commits",
     live_server,
     [](Facts& f) { commits(f, 5000); },
     Reason::kFewCommit,
     true,
     {},
     {"try-again"}},
    {"nine tenths commit", live_server, [](Facts& f) { commits(f, 9000); }, Reason::kCommits, true, {}, {}},
    {"XBEGIN is illegal",
     live_server,
     [](Facts& f) {
       f.trial = {};
       f.trial.illegal_instruction = true;
     },
     Reason::kIllegal,
     false,
     {},
     {"restart", "virtual-machine"}},
    {"XBEGIN is illegal in a virtual machine",
     live_server,
     [](Facts& f) {
       f.trial = {};
       f.trial.illegal_instruction = true;
       run_on(f, "KVMKVMKVM");
     },
     Reason::kIllegal,
     false,
     {},
     {"hypervisor", "virtual-machine"}},
    {"microcode aborts always, RTM shown",
     live_server,
     [](Facts& f) {
       f.cpu.rtm_always_abort = true;
       commits(f, 0);
     },
     Reason::kMicrocodeAborts,
     false,
     {},
     {"another-cpu", "virtual-machine"}},
    {"microcode aborts always, the kernel cleared RTM",
     dead_server,
     [](Facts& f) {
       f.cpu.rtm_always_abort = f.cpu.tsx_force_abort = true;
       f.kernel.taa = "Mitigation: TSX disabled";
     },
     Reason::kMicrocodeAborts,
     false,
     {},
     {"another-cpu", "virtual-machine"}},
    {"microcode says always, yet some commit",
     live_server,
     [](Facts& f) { f.cpu.rtm_always_abort = true; },
     Reason::kMicrocodeAborts,
     false,
     {"commits-all-the-same"},
     {"another-cpu", "virtual-machine"}},
    {"cpuinfo without rtm, CPUID with",
     live_server,
     [](Facts& f) { f.kernel.rtm_flag = false; },
     Reason::kCommits,
     true,
     {"kernel-hides-flag"},
     {}},
    {"cpuinfo with rtm, CPUID without",
     dead_server,
     [](Facts& f) { f.kernel.rtm_flag = true; },
     Reason::kVanished,
     false,
     {},
     {"restart", "virtual-machine"}},
    {"TSX on, TAA not mitigated",
     live_server,
     [](Facts& f) { f.kernel.taa = "Vulnerable: Clear CPU buffers attempted, no microcode"; },
     Reason::kCommits,
     true,
     {"open-to-taa"},
     {}},
    {"TSX on, TAA mitigated",
     live_server,
     [](Facts& f) { f.kernel.taa = "Mitigation: Clear CPU buffers"; },
     Reason::kCommits,
     true,
     {},
     {}},
    {"AMD",
     dead_server,
     [](Facts& f) { f.cpu.vendor = "AuthenticAMD"; },
     Reason::kNotIntel,
     false,
     {},
     {"another-cpu", "virtual-machine"}},
    {"AMD in a virtual machine",
     dead_server,
     [](Facts& f) {
       f.cpu.vendor = "AuthenticAMD";
       run_on(f, "KVMKVMKVM");
     },
     Reason::kNotIntel,
     false,
     {},
     {"another-cpu", "virtual-machine"}},
    {"no x86",
     dead_server,
     [](Facts& f) { f = {}; },
     Reason::kNotIntel,
     false,
     {},
     {"another-cpu", "virtual-machine"}},
    {"the hypervisor hides RTM",
     dead_server,
     [](Facts& f) {
       run_on(f, "KVMKVMKVM");
       f.cpu.arch_capabilities = false;
     },
     Reason::kHypervisorHides,
     false,
     {},
     {"hypervisor", "virtual-machine"}},
    {"the hypervisor or this kernel hides RTM",
     dead_server,
     [](Facts& f) { run_on(f, "Microsoft Hv"); },
     Reason::kHypervisorHides,
     false,
     {},
     {"hypervisor", "own-kernel", "virtual-machine"}},
    {"a guest told tsx=on",
     dead_server,
     [](Facts& f) {
       run_on(f, "VMwareVMware");
       f.kernel.tsx = "on";
     },
     Reason::kHypervisorHides,
     false,
     {},
     {"hypervisor", "virtual-machine"}},
    {"a guest told tsx=off",
     dead_server,
     [](Facts& f) {
       run_on(f, "KVMKVMKVM");
       f.kernel.tsx = "off";
     },
     Reason::kKernelOff,
     false,
     {},
     {"kernel-parameter", "hypervisor-too", "virtual-machine"}},
    {"a guest's kernel switched it off",
     dead_server,
     [](Facts& f) {
       f.cpu.model = 0x55, f.cpu.stepping = 7;
       run_on(f, "KVMKVMKVM");
       f.kernel.taa = "Mitigation: TSX disabled";
     },
     Reason::kKernelOff,
     false,
     {},
     {"kernel-parameter-with-risk", "virtual-machine"}},
    {"a guest's kernel takes the CPU to be open to TAA",
     dead_server,
     [](Facts& f) {
       run_on(f, "KVMKVMKVM");
       f.cpu.model = 0xcf;
       f.kernel.taa = "Mitigation: TSX disabled";
     },
     Reason::kKernelOff,
     false,
     {},
     {"kernel-parameter-of-guest", "virtual-machine"}},
    {"QEMU without KVM",
     dead_server,
     [](Facts& f) { run_on(f, "TCGTCGTCGTCG"); },
     Reason::kEmulated,
     false,
     {},
     {"kvm", "virtual-machine"}},
    {"tsx=off",
     dead_server,
     [](Facts& f) { f.kernel.tsx = "off"; },
     Reason::kKernelOff,
     false,
     {},
     {"kernel-parameter", "virtual-machine"}},
    {"tsx= misspelt is off",
     dead_server,
     [](Facts& f) { f.kernel.tsx = "yes"; },
     Reason::kKernelOff,
     false,
     {},
     {"kernel-parameter", "virtual-machine"}},
    {"off for TAA, by default",
     dead_server,
     [](Facts& f) {
       f.cpu.model = 0x55, f.cpu.stepping = 7;
       f.kernel.taa = "Mitigation: TSX disabled";
     },
     Reason::kKernelOff,
     false,
     {},
     {"kernel-parameter-with-risk", "virtual-machine"}},
    {"off for TAA, by tsx=auto",
     dead_server,
     [](Facts& f) {
       f.cpu.model = 0x55, f.cpu.stepping = 7;
       f.kernel.tsx = "auto";
       f.kernel.taa = "Mitigation: TSX disabled";
     },
     Reason::kKernelOff,
     false,
     {},
     {"kernel-parameter-with-risk", "virtual-machine"}},
    {"tsx=off without a switch",
     dead_server,
     [](Facts& f) {
       f.cpu.model = 0x4f, f.cpu.stepping = 1;
       f.cpu.arch_capabilities = false;
       f.kernel.tsx = "off";
     },
     Reason::kNoRtm,
     false,
     {"parameter-without-effect"},
     {"another-cpu", "virtual-machine"}},
    {"nobody asked for it",
     dead_server,
     [](Facts&) {},
     Reason::kKernelLikelyOff,
     false,
     {},
     {"kernel-parameter", "virtual-machine"}},
    {"built to be off",
     dead_server,
     [](Facts& f) { f.kernel.built_in_tsx = "off"; },
     Reason::kKernelLikelyOff,
     false,
     {},
     {"kernel-parameter", "virtual-machine"}},
    {"built to be auto",
     dead_server,
     [](Facts& f) { f.kernel.built_in_tsx = "auto"; },
     Reason::kFirmware,
     false,
     {},
     {"firmware", "virtual-machine"}},
    {"tsx=on and still not there",
     dead_server,
     [](Facts& f) { f.kernel.tsx = "on"; },
     Reason::kFirmware,
     false,
     {},
     {"firmware", "virtual-machine"}},
    {"an unknown model told tsx=off",
     dead_server,
     [](Facts& f) { f.cpu.model = 0x97, f.kernel.tsx = "off"; },
     Reason::kNoRtm,
     false,
     {},
     {"own-kernel", "another-cpu", "virtual-machine"}},
    {"an unknown model told tsx=on",
     dead_server,
     [](Facts& f) { f.cpu.model = 0x97, f.kernel.tsx = "on"; },
     Reason::kNoRtm,
     false,
     {},
     {"another-cpu", "virtual-machine"}},
    {"tsx=off where nothing is told of TAA",
     dead_server,
     [](Facts& f) { f.kernel.tsx = "off", f.kernel.taa.reset(); },
     Reason::kKernelOff,
     false,
     {},
     {"kernel-parameter", "virtual-machine"}},
    {"a guest of a disguised model told tsx=off",
     dead_server,
     [](Facts& f) {
       run_on(f, "KVMKVMKVM");
       f.cpu.model = 167;
       f.kernel.tsx = "off";
     },
     Reason::kHypervisorHides,
     false,
     {},
     {"hypervisor", "own-kernel", "virtual-machine"}},
    {"Haswell after the microcode of 2014",
     dead_server,
     [](Facts& f) {
       f.cpu.model = 0x3c, f.cpu.stepping = 3;
       f.cpu.arch_capabilities = false;
     },
     Reason::kErratum,
     false,
     {},
     {"another-cpu", "virtual-machine"}},
    {"a laptop that never had it",
     dead_server,
     [](Facts& f) { f.cpu.model = 0x97, f.cpu.stepping = 2; },
     Reason::kNoRtm,
     false,
     {},
     {"own-kernel", "another-cpu", "virtual-machine"}},
    {"perf is forbidden by the level",
     live_server,
     [](Facts& f) {
       f.perf.paranoid = 3;
       f.perf.cycles_error = EACCES;
     },
     Reason::kCommits,
     true,
     {},
     {"perf-paranoid"}},
    {"perf is forbidden by a filter",
     live_server,
     [](Facts& f) { f.perf.cycles_error = EPERM; },
     Reason::kCommits,
     true,
     {},
     {"perf-filter"}},
    {"perf is forbidden to root by a filter",
     live_server,
     [](Facts& f) {
       f.perf.paranoid = 3;
       f.perf.capable = true;
       f.perf.cycles_error = EPERM;
     },
     Reason::kCommits,
     true,
     {},
     {"perf-filter"}},
    {"no PMU in a virtual machine",
     live_server,
     [](Facts& f) {
       run_on(f, "KVMKVMKVM");
       f.perf.cycles_error = ENOENT;
     },
     Reason::kCommits,
     true,
     {},
     {"virtual-pmu"}},
    {"glibc elides by itself",
     live_server,
     [](Facts& f) { f.glibc.elision_tunables = "glibc.elision.enable=1"; },
     Reason::kCommits,
     true,
     {},
     {"glibc-elision"}},
    {"glibc cannot elide any more",
     live_server,
     [](Facts& f) {
       f.glibc.version = "2.43";
       f.glibc.elision_tunables = "glibc.elision.enable=1";
     },
     Reason::kCommits,
     true,
     {},
     {}},
};

}  // namespace elision::cli::doctor
