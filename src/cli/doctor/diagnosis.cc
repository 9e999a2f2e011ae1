// SPDX-License-Identifier: Apache-2.0
// Sources: Linux's Documentation/admin-guide/hw-vuln/tsx_async_abort.rst for tsx=, tsx_async_abort= and the
// vulnerability file; Intel's article 000059422 for RTM_ALWAYS_ABORT and TSX_FORCE_ABORT.
#include "cli/doctor/diagnosis.h"

#include <fmt/format.h>

#include "cli/doctor/advice.h"
#include "cli/doctor/knowledge.h"
#include "cli/doctor/predicates.h"
#include "cli/doctor/rule.h"

namespace elision::cli::doctor {
namespace {

std::string committed(const Facts& f) {
  return fmt::format("{} of {} trial transactions committed", f.trial.counts.commits,
                     f.trial.counts.attempts);
}

std::string kernel_off_sentence(const Facts& f) {
  if (f.kernel.tsx && !knows_tsx_word(f))
    return fmt::format("the kernel switched TSX off, because it does not know tsx={} of its command line",
                       *f.kernel.tsx);
  if (asked_tsx(f) == "off") return "the kernel switched TSX off, because tsx=off is on its command line";
  return fmt::format("the kernel switched TSX off to close TAA, a data leak ({})", kTsxDisabled);
}

struct Cause {
  Reason reason;
  const char* name;
  bool live;
  bool (*holds)(const Facts& f);
  std::string (*sentence)(const Facts& f);
};

const Cause kCauses[] = {
    {Reason::kIllegal, "illegal-instruction", false,
     [](const Facts& f) { return f.trial.illegal_instruction; },
     [](const Facts&) -> std::string {
       return "CPUID shows RTM, but XBEGIN is an illegal instruction here";
     }},
    {Reason::kMicrocodeAborts, "microcode-aborts", false,
     [](const Facts& f) { return f.cpu.rtm_always_abort; },
     [](const Facts&) -> std::string {
       return "CPUID says that microcode ends every transaction here (RTM_ALWAYS_ABORT)";
     }},
    {Reason::kHidden, "hidden", false, is_hidden,
     [](const Facts&) -> std::string {
       return "this CPU has RTM, but ELISION_HIDE_RTM=1 hides it from Elision";
     }},
    {Reason::kNeverCommits, "never-commits", false,
     [](const Facts& f) { return f.cpu.rtm && !any_commit(f); },
     [](const Facts& f) -> std::string {
       return fmt::format("CPUID shows RTM, but none of {} trial transactions committed",
                          f.trial.counts.attempts);
     }},
    {Reason::kVirtualCpu, "virtual-cpu", true, [](const Facts& f) { return f.cpu.rtm && f.cpu.virtual_cpu; },
     [](const Facts& f) { return committed(f) + ", on the virtual CPU of elision vm"; }},
    {Reason::kFewCommit, "few-commit", true, [](const Facts& f) { return f.cpu.rtm && few_commit(f); },
     [](const Facts& f) { return "but only " + committed(f) + ": something ends the rest"; }},
    {Reason::kCommits, "commits", true, [](const Facts& f) { return f.cpu.rtm; },
     [](const Facts& f) { return committed(f); }},
    {Reason::kNotIntel, "not-intel", false, [](const Facts& f) { return f.cpu.vendor != "GenuineIntel"; },
     [](const Facts& f) -> std::string {
       return f.cpu.vendor.empty() ? "this is no x86 CPU"
                                   : fmt::format("this CPU is not Intel's ({}) and has no RTM", f.cpu.vendor);
     }},
    {Reason::kVanished, "vanished", false, [](const Facts& f) { return f.kernel.rtm_flag == true; },
     [](const Facts&) -> std::string {
       return "the kernel saw RTM when it started, but CPUID shows this process none";
     }},
    {Reason::kEmulated, "emulated", false, [](const Facts& f) { return is_emulated(f.cpu); },
     [](const Facts&) -> std::string {
       return "QEMU emulates this CPU without KVM, and cannot emulate RTM";
     }},
    {Reason::kKernelOff, "kernel-off", false, kernel_switched_off, kernel_off_sentence},
    {Reason::kHypervisorHides, "hypervisor-hides", false, [](const Facts& f) { return f.cpu.hypervisor; },
     [](const Facts& f) -> std::string {
       return fmt::format("the hypervisor ({}) shows this virtual machine no RTM", hypervisor_name(f.cpu));
     }},
    {Reason::kErratum, "erratum", false, [](const Facts& f) { return lost_rtm_to_erratum(f.cpu); },
     [](const Facts&) -> std::string {
       return "Intel's microcode took RTM from this CPU model because of an erratum";
     }},
    {Reason::kKernelLikelyOff, "kernel-likely-off", false,
     [](const Facts& f) { return has_rtm_without_taa(f.cpu) && off_by_default(f); },
     [](const Facts& f) -> std::string {
       return f.kernel.built_in_tsx
                  ? "this CPU model has RTM; the kernel is built to keep TSX off unless told tsx=on"
                  : "this CPU model has RTM; most likely the kernel keeps TSX off, as is its default";
     }},
    {Reason::kFirmware, "firmware", false, [](const Facts& f) { return has_rtm_without_taa(f.cpu); },
     [](const Facts&) -> std::string {
       return "this CPU model has RTM and the kernel leaves it on, but CPUID does not show it";
     }},
    {Reason::kNoRtm, "no-rtm", false, [](const Facts&) { return true; },
     [](const Facts&) -> std::string {
       return "CPUID shows no RTM: this CPU lacks it, or lost it by microcode or firmware";
     }},
};

const Rule kNotes[] = {
    {"unknown-value",
     [](const Facts& f, const Diagnosis&) {
       return f.settings.hide_rtm && f.settings.hide_rtm != "0" && f.settings.hide_rtm != "1";
     },
     [](const Facts& f) {
       return fmt::format("ELISION_HIDE_RTM={} hides nothing: its values are 0 and 1.", *f.settings.hide_rtm);
     }},
    {"hides-nothing",
     [](const Facts& f, const Diagnosis& d) {
       return f.settings.hide_rtm == "1" && d.reason != Reason::kHidden;
     },
     [](const Facts& f) -> std::string {
       return f.cpu.virtual_cpu
                  ? "ELISION_HIDE_RTM=1 has no effect: the CPU of elision vm cannot be hidden."
                  : "ELISION_HIDE_RTM=1 is set too: with it Elision never uses RTM on this CPU.";
     }},
    {"open-to-taa",
     [](const Facts& f, const Diagnosis& d) {
       return d.live && !f.cpu.virtual_cpu && f.kernel.taa && f.kernel.taa->starts_with("Vulnerable");
     },
     [](const Facts&) -> std::string {
       return "With TSX on, this CPU is open to TAA (CVE-2019-11135): programs may read each other's data.";
     }},
    {"kernel-hides-flag",
     [](const Facts& f, const Diagnosis&) { return f.cpu.rtm && f.kernel.rtm_flag == false; },
     [](const Facts&) -> std::string {
       return "The kernel hides what CPUID shows: programs that go by /proc/cpuinfo will not use RTM.";
     }},
    {"commits-all-the-same",
     [](const Facts& f, const Diagnosis& d) { return d.reason == Reason::kMicrocodeAborts && any_commit(f); },
     [](const Facts& f) { return committed(f) + " all the same; Elision goes by CPUID and uses none."; }},
    {"perf-aborts-all",
     [](const Facts& f, const Diagnosis& d) {
       return d.live && f.cpu.tsx_force_abort && f.kernel.perf_may_abort_all.value_or(true);
     },
     [](const Facts&) -> std::string {
       return "While perf uses all counters of this CPU, every transaction aborts (TSX_FORCE_ABORT).";
     }},
    {"parameter-without-effect",
     [](const Facts& f, const Diagnosis&) {
       return f.kernel.tsx && !f.cpu.virtual_cpu && !f.cpu.arch_capabilities;
     },
     [](const Facts& f) {
       return fmt::format("tsx={} has no effect: this CPU has no switch for it (no ARCH_CAPABILITIES).",
                          *f.kernel.tsx);
     }},
};

}  // namespace

const char* name_of(Reason reason) {
  for (const Cause& cause : kCauses) {
    if (cause.reason == reason) return cause.name;
  }
  return "unknown";
}

Diagnosis diagnose(const Facts& facts) {
  Diagnosis diagnosis;
  for (const Cause& cause : kCauses) {
    if (!cause.holds(facts)) continue;
    diagnosis.reason = cause.reason;
    diagnosis.live = cause.live;
    diagnosis.sentence = cause.sentence(facts);
    break;
  }
  diagnosis.notes = that_hold(kNotes, facts, diagnosis);
  diagnosis.advice = advise(facts, diagnosis);
  return diagnosis;
}

}  // namespace elision::cli::doctor
