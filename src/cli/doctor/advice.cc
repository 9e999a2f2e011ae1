// SPDX-License-Identifier: Apache-2.0
// MSR 0x122 is IA32_TSX_CTRL, its bit 0 RTM_DISABLE (Intel SDM volume 4).
#include "cli/doctor/advice.h"

#include <fmt/format.h>

#include <cerrno>

#include "cli/doctor/knowledge.h"
#include "cli/doctor/predicates.h"
#include "cli/doctor/rule.h"

namespace elision::cli::doctor {
namespace {

/// A guest's kernel knows the CPU only as the hypervisor shows it, which may omit that the CPU is not
/// vulnerable to TAA.
bool misled_about_taa(const Facts& f) {
  return open_to_taa(f) && f.cpu.hypervisor && has_rtm_without_taa(f.cpu);
}

/// If the kernel says nothing about TAA, only the CPU model can exclude it.
bool may_be_open_to_taa(const Facts& f) {
  return f.kernel.taa ? open_to_taa(f) : !has_rtm_without_taa(f.cpu);
}

std::string taa_warning(const Facts& f) {
  return fmt::format(
      "Only where every program and guest is trusted: this CPU {} open to TAA (CVE-2019-11135), which "
      "leaks data between them. tsx_async_abort=full,nosmt beside it closes that, for the price of "
      "hyper-threads.",
      open_to_taa(f) ? "is" : "may be");
}

std::string hypervisor_advice(const Facts& f) {
  if (on_ec2(f)) return "Take another host: Amazon EC2 has been reported to show RTM on no instance.";
  const std::string host = " TSX must be on in the host's own kernel first: elision doctor there says.";
  if (hypervisor_name(f.cpu) != "KVM")
    return fmt::format("Give this virtual machine RTM among its CPU features ({}).", hypervisor_name(f.cpu)) +
           host;
  return "Give this virtual machine RTM: with QEMU -cpu host or -cpu MODEL,rtm=on; with libvirt <feature "
         "policy='require' name='rtm'/>." +
         host;
}

bool kernel_is_at_fault(const Diagnosis& d) {
  return d.reason == Reason::kKernelOff || d.reason == Reason::kKernelLikelyOff;
}

bool cpu_is_at_fault(const Diagnosis& d) {
  return d.reason == Reason::kMicrocodeAborts || d.reason == Reason::kNotIntel ||
         d.reason == Reason::kErratum || d.reason == Reason::kNoRtm;
}

bool refused(int error) { return error == EACCES || error == EPERM; }

bool too_paranoid(const Facts& f) { return f.perf.paranoid.value_or(0) > 2 && !f.perf.capable; }

const Rule kAdvice[] = {
    {"show-rtm", [](const Facts&, const Diagnosis& d) { return d.reason == Reason::kHidden; },
     [](const Facts&) -> std::string {
       return "Take ELISION_HIDE_RTM=1 out of the environment, and try again: unset ELISION_HIDE_RTM.";
     }},
    {"kernel-parameter",
     [](const Facts& f, const Diagnosis& d) { return kernel_is_at_fault(d) && !may_be_open_to_taa(f); },
     [](const Facts&) -> std::string {
       return "Put tsx=on on the kernel's command line and boot again. This CPU is not open to TAA, the leak "
              "for which TSX is off.";
     }},
    {"kernel-parameter-with-risk",
     [](const Facts& f, const Diagnosis& d) {
       return kernel_is_at_fault(d) && may_be_open_to_taa(f) && !misled_about_taa(f);
     },
     [](const Facts& f) {
       return "Put tsx=on on the kernel's command line and boot again. " + taa_warning(f);
     }},
    {"kernel-parameter-of-guest",
     [](const Facts& f, const Diagnosis& d) { return kernel_is_at_fault(d) && misled_about_taa(f); },
     [](const Facts&) -> std::string {
       return "Put tsx=on on the kernel's command line and boot again. The kernel takes this CPU to be open "
              "to TAA "
              "(CVE-2019-11135), a leak of data between programs, because the hypervisor tells it nothing "
              "else; this model "
              "is not. Ask who runs the host, and for RTM there.";
     }},
    {"hypervisor",
     [](const Facts& f, const Diagnosis& d) {
       return d.reason == Reason::kHypervisorHides ||
              ((d.reason == Reason::kNeverCommits || d.reason == Reason::kIllegal) && f.cpu.hypervisor);
     },
     hypervisor_advice},
    // A guest that says "TSX disabled" has the switch, which hypervisors show only with RTM. tsx=off alone
    // proves nothing.
    {"hypervisor-too",
     [](const Facts& f, const Diagnosis& d) {
       return kernel_is_at_fault(d) && f.cpu.hypervisor && f.kernel.taa != kTsxDisabled;
     },
     [](const Facts& f) { return "If RTM still does not show: " + hypervisor_advice(f); }},
    {"own-kernel",
     [](const Facts& f, const Diagnosis& d) {
       return (d.reason == Reason::kHypervisorHides || d.reason == Reason::kNoRtm) &&
              f.cpu.arch_capabilities && (off_by_default(f) || asked_tsx(f) == "off");
     },
     [](const Facts&) -> std::string {
       return "If the CPU has TSX by its data sheet, this kernel may keep it off: put tsx=on on its command "
              "line.";
     }},
    {"kvm", [](const Facts&, const Diagnosis& d) { return d.reason == Reason::kEmulated; },
     [](const Facts&) -> std::string {
       return "Run QEMU with KVM (-accel kvm -cpu host) on a CPU that has RTM.";
     }},
    {"perf-switch",
     [](const Facts& f, const Diagnosis& d) {
       return (d.reason == Reason::kNeverCommits || d.reason == Reason::kFewCommit) &&
              f.cpu.tsx_force_abort && f.kernel.perf_may_abort_all.value_or(true);
     },
     [](const Facts&) -> std::string {
       return "End what profiles this machine, or as root: echo 0 > /sys/devices/cpu/allow_tsx_force_abort "
              "(perf then "
              "has one counter less).";
     }},
    {"tsx-control",
     [](const Facts& f, const Diagnosis& d) {
       return d.reason == Reason::kNeverCommits && f.cpu.arch_capabilities && !f.cpu.hypervisor &&
              !f.cpu.virtual_cpu;
     },
     [](const Facts&) -> std::string {
       return "As root: rdmsr 0x122 (msr-tools). An odd number says that TSX was switched off without being "
              "hidden; "
              "tsx=on on the kernel's command line switches it on.";
     }},
    {"try-again", [](const Facts&, const Diagnosis& d) { return d.reason == Reason::kFewCommit; },
     [](const Facts&) -> std::string {
       return "Try again with nothing else running: interrupts, a profiler and the other hyper-thread of the "
              "core end transactions.";
     }},
    {"restart",
     [](const Facts& f, const Diagnosis& d) {
       return d.reason == Reason::kVanished || (d.reason == Reason::kIllegal && !f.cpu.hypervisor);
     },
     [](const Facts&) -> std::string {
       return "Run outside of tools that answer CPUID themselves (recorders, some containers). If there is "
              "none, microcode loaded since took RTM: boot again, or running programs may crash at XBEGIN.";
     }},
    {"firmware", [](const Facts&, const Diagnosis& d) { return d.reason == Reason::kFirmware; },
     [](const Facts&) -> std::string {
       return "Look for TSX in the firmware's set-up, and for a newer firmware.";
     }},
    {"another-cpu", [](const Facts&, const Diagnosis& d) { return cpu_is_at_fault(d); },
     [](const Facts&) -> std::string {
       return "For transactions in hardware take an Intel Xeon from Ice Lake on (Sapphire, "
              "Emerald, "
              "Granite Rapids).";
     }},
    {"virtual-machine", [](const Facts&, const Diagnosis& d) { return !d.live; },
     [](const Facts&) -> std::string {
       return "Or change nothing: elision vm has transactions, as in: elision compare --machine "
              "xeon-gold-5520plus -- PROGRAM";
     }},
    {"glibc-elision",
     [](const Facts& f, const Diagnosis& d) {
       return d.live && glibc_elision(f.glibc.version) == GlibcElision::kTunable &&
              enables_glibc_elision(f.glibc.elision_tunables);
     },
     [](const Facts&) -> std::string {
       return "Take glibc.elision.enable=1 out of GLIBC_TUNABLES: comparisons would measure glibc's elision "
              "where they say pthread.";
     }},
    {"perf-paranoid",
     [](const Facts& f, const Diagnosis&) { return refused(f.perf.cycles_error) && too_paranoid(f); },
     [](const Facts&) -> std::string { return "For perf, as root: sysctl kernel.perf_event_paranoid=2"; }},
    {"perf-filter",
     [](const Facts& f, const Diagnosis&) { return refused(f.perf.cycles_error) && !too_paranoid(f); },
     [](const Facts&) -> std::string {
       return "For perf: something besides perf_event_paranoid refuses it, as a container's filter of system "
              "calls does "
              "(Docker: --cap-add PERFMON).";
     }},
    {"virtual-pmu",
     [](const Facts& f, const Diagnosis&) {
       return !f.cpu.virtual_cpu && f.cpu.hypervisor && !on_ec2(f) &&
              (f.perf.cycles_error == ENOENT || f.perf.cycles_error == EOPNOTSUPP);
     },
     [](const Facts&) -> std::string {
       return "For perf: give this virtual machine a PMU, counters of hardware events (QEMU: -cpu "
              "host,pmu=on).";
     }},
};

}  // namespace

std::vector<Remark> advise(const Facts& facts, const Diagnosis& diagnosis) {
  return that_hold(kAdvice, facts, diagnosis);
}

}  // namespace elision::cli::doctor
