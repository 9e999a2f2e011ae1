// SPDX-License-Identifier: Apache-2.0
// What tsx=, tsx_async_abort= and the vulnerability file mean is Linux's
// Documentation/admin-guide/hw-vuln/tsx_async_abort.rst; RTM_ALWAYS_ABORT and TSX_FORCE_ABORT are Intel's
// article 000059422.
#include "cli/doctor/diagnosis.h"

#include <fmt/format.h>

#include <cerrno>
#include <initializer_list>

#include "cli/doctor/knowledge.h"

namespace elision::cli::doctor {
namespace {

// Transactions of one store, alone: fewer commits than this mean that something ends them from outside.
constexpr double kOrdinaryShare = 0.9;

// The vulnerability file's words.
constexpr const char* kNotAffected = "Not affected";
constexpr const char* kTsxDisabled = "Mitigation: TSX disabled";

bool any_commit(const Facts& f) { return f.trial.counts.commits > 0; }

bool few_commit(const Facts& f) { return f.trial.counts.commits < kOrdinaryShare * f.trial.counts.attempts; }

bool is_one_of(const std::optional<std::string>& value, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (value == word) return true;
  }
  return false;
}

bool open_to_taa(const Facts& f) { return f.kernel.taa && *f.kernel.taa != kNotAffected; }

/// What tsx= amounts to: an unknown word is "off" to the kernel. Nothing without the parameter.
std::optional<std::string> asked_tsx(const Facts& f) {
  if (!f.kernel.tsx || is_one_of(f.kernel.tsx, {"on", "off", "auto"})) return f.kernel.tsx;
  return "off";
}

/// Whether the kernel says that it switched TSX off, or was told to on a CPU that has it.
bool kernel_switched_off(const Facts& f) {
  return f.kernel.taa == kTsxDisabled || (asked_tsx(f) == "off" && has_rtm_without_taa(f.cpu));
}

/// Whether the kernel, not being asked, leaves TSX off even on a CPU that is not open to TAA.
bool off_by_default(const Facts& f) {
  return !f.kernel.tsx && (!f.kernel.built_in_tsx || f.kernel.built_in_tsx == "off");
}

bool on_ec2(const Facts& f) { return f.kernel.system_vendor == "Amazon EC2"; }

std::string committed(const Facts& f) {
  return fmt::format("{} of {} trial transactions committed", f.trial.counts.commits,
                     f.trial.counts.attempts);
}

std::string kernel_off_sentence(const Facts& f) {
  if (f.kernel.tsx && !is_one_of(f.kernel.tsx, {"on", "off", "auto"}))
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

struct Rule {
  const char* name;
  bool (*holds)(const Facts& f, const Diagnosis& d);
  std::string (*text)(const Facts& f);
};

const Rule kNotes[] = {
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

/// A guest's kernel has learnt of the CPU only what the hypervisor shows, which may leave out that it is not
/// open to TAA.
bool misled_about_taa(const Facts& f) {
  return open_to_taa(f) && f.cpu.hypervisor && has_rtm_without_taa(f.cpu);
}

/// Where the kernel tells nothing of TAA, only the model can exclude it.
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
    // A guest that says "TSX disabled" has seen the switch, which hypervisors show with RTM only; a mere
    // tsx=off proves nothing.
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

template <std::size_t kCount>
std::vector<Remark> that_hold(const Rule (&rules)[kCount], const Facts& facts, const Diagnosis& diagnosis) {
  std::vector<Remark> remarks;
  for (const Rule& rule : rules) {
    if (rule.holds(facts, diagnosis)) remarks.push_back({rule.name, rule.text(facts)});
  }
  return remarks;
}

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
  diagnosis.advice = that_hold(kAdvice, facts, diagnosis);
  return diagnosis;
}

}  // namespace elision::cli::doctor
