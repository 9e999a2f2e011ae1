// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>

#include "cli/doctor/knowledge.h"

namespace elision::cli::doctor {
namespace {

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

Row bit(const char* name, bool value, const char* if_set, const char* if_clear) {
  return {"CPUID", name, yes_or_no(value), value ? if_set : if_clear};
}

Row host_row(const CpuFacts& cpu) {
  if (cpu.virtual_cpu)
    return {"CPU", "virtual", "yes", "the CPU of elision vm: a machine description in virtual time"};
  if (!cpu.hypervisor) return {"CPU", "hypervisor", "none", "CPUID shows what the CPU has"};
  return {"CPU", "hypervisor", hypervisor_name(cpu),
          "a virtual machine: the hypervisor chooses what CPUID shows"};
}

void add_cpu(const Facts& f, std::vector<Row>& rows) {
  const CpuFacts& cpu = f.cpu;
  rows.push_back({"CPU", "model", cpu.brand.empty() ? "not told" : cpu.brand, ""});
  rows.push_back(
      {"CPU", "signature",
       fmt::format("{}, family {}, model {}, stepping {}", cpu.vendor.empty() ? "no CPUID" : cpu.vendor,
                   cpu.family, cpu.model, cpu.stepping),
       ""});
  rows.push_back({"CPU", "microcode", f.kernel.microcode.value_or("not shown"),
                  cpu.hypervisor ? "as the hypervisor tells it" : ""});
  rows.push_back(host_row(cpu));
}

void add_cpuid(const CpuFacts& cpu, std::vector<Row>& rows) {
  rows.push_back(bit("RTM", cpu.rtm, "instructions for transactions that commit: what Elision uses",
                     "no transactions that commit"));
  rows.push_back(bit("HLE", cpu.hle, "older prefixes for locks; Elision does not use them",
                     "older prefixes for locks; not missed"));
  rows.push_back(bit("RTM_ALWAYS_ABORT", cpu.rtm_always_abort, "microcode ends every transaction",
                     "microcode does not end every transaction"));
  rows.push_back(bit("TSX_FORCE_ABORT", cpu.tsx_force_abort,
                     "perf may end every transaction to gain a counter",
                     "perf does not end transactions to gain a counter"));
  rows.push_back(bit("TSXLDTRK", cpu.tsxldtrk, "can read without tracking conflicts; Elision does not use it",
                     "cannot read without tracking conflicts; not missed"));
  rows.push_back(bit("ARCH_CAPABILITIES", cpu.arch_capabilities,
                     "there may be a switch by which the kernel turns TSX off",
                     "no switch by which the kernel could turn TSX on or off"));
}

std::string causes(const htm::Trial& trial) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < trial.aborts.size(); ++i) {
    if (trial.aborts[i] > 0) words.push_back(fmt::format("{} {}", abi::kAbortCauseNames[i], trial.aborts[i]));
  }
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

void add_trial(const Facts& f, const Diagnosis& d, std::vector<Row>& rows) {
  const htm::Trial& trial = f.trial.counts;
  if (f.trial.illegal_instruction) {
    rows.push_back(
        {"trial", "committed", "illegal", "XBEGIN is an illegal instruction, whatever CPUID says"});
  } else if (d.reason == Reason::kHidden) {
    rows.push_back({"trial", "committed", "not tried", "ELISION_HIDE_RTM=1: Elision behaves as without RTM"});
  } else if (trial.attempts == 0) {
    rows.push_back({"trial", "committed", "not tried", "XBEGIN would be an illegal instruction"});
  } else {
    rows.push_back({"trial", "committed", fmt::format("{} of {}", trial.commits, trial.attempts),
                    "transactions of one store, alone"});
    rows.push_back(
        {"trial", "aborted", causes(trial),
         trial.commits < trial.attempts ? "other: an interrupt, a fault, or the CPU's own reason" : ""});
  }
  if (f.trial.nesting_depth > 0)
    rows.push_back({"trial", "nesting", fmt::format("{} deep", f.trial.nesting_depth),
                    "transactions that fit into each other"});
  const std::string kind = always_abort_kind(f, d);
  const char* meaning = "AAHTM locks wait without speculating";
  if (kind == "virtual-cpu") meaning = "AAHTM locks speculate, by instructions that only this CPU has";
  if (kind == "nested-rtm") meaning = "AAHTM locks may use it by --rtm-always-abort; not guaranteed";
  rows.push_back({"trial", "always-abort", kind, meaning});
}

Row tsx_row(const Facts& f) {
  const KernelFacts& kernel = f.kernel;
  if (kernel.tsx)
    return {"kernel", "tsx=", *kernel.tsx, "on its command line: on, off, or auto (off if open to TAA)"};
  if (!kernel.command_line_known) return {"kernel", "tsx=", "not known", "its command line cannot be read"};
  if (f.cpu.rtm) return {"kernel", "tsx=", "not given", "the kernel leaves TSX on all the same"};
  return {"kernel", "tsx=", "not given",
          kernel.built_in_tsx ? fmt::format("so it is {}, as this kernel is built", *kernel.built_in_tsx)
                              : "so by default: in Linux off since 5.4, auto as planned for 7.0"};
}

Row flag_row(const Facts& f) {
  const std::optional<bool>& flag = f.kernel.rtm_flag;
  if (!flag) return {"kernel", "rtm flag", "not known", "/proc/cpuinfo shows no flags"};
  return {"kernel", "rtm flag", yes_or_no(*flag),
          *flag == f.cpu.rtm ? "/proc/cpuinfo agrees with CPUID" : "/proc/cpuinfo differs from CPUID"};
}

void add_kernel(const Facts& f, std::vector<Row>& rows) {
  const KernelFacts& kernel = f.kernel;
  rows.push_back({"kernel", "Linux", kernel.release.empty() ? "not known" : kernel.release,
                  f.cpu.virtual_cpu ? "the host's, which switches nothing on the virtual CPU" : ""});
  if (f.cpu.virtual_cpu) return rows.push_back(flag_row(f));
  rows.push_back(tsx_row(f));
  if (kernel.tsx_async_abort) rows.push_back({"kernel", "tsx_async_abort=", *kernel.tsx_async_abort, ""});
  if (kernel.mitigations) rows.push_back({"kernel", "mitigations=", *kernel.mitigations, ""});
  rows.push_back({"kernel", "TAA, a data leak", kernel.taa.value_or("not told"),
                  kernel.taa == "Not affected" ? "nothing leaks by way of TSX (or there is no TSX)" : ""});
  for (const auto& other : kernel.others) rows.push_back({"kernel", other.name, other.text, ""});
  rows.push_back(flag_row(f));
}

std::string outcome(int error) {
  return error == 0 ? "yes"
                    : fmt::format("no ({})", strerrorname_np(error) ? strerrorname_np(error) : "error");
}

const char* cycles_meaning(int error, bool virtual_cpu) {
  if (error == ENOSYS && virtual_cpu) return "elision vm has no perf; its option --stats counts";
  switch (error) {
    case 0:
      return "perf can count in this user's programs";
    case EACCES:
    case EPERM:
      return "perf is not permitted to count";
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      return "no hardware counters (PMU), as in many virtual machines";
    case ENOSYS:
      return "this kernel has no perf";
    default:
      return "perf cannot count";
  }
}

Row tsx_events_row(const PerfFacts& perf) {
  std::vector<std::string> open;
  for (const PerfFacts::Event& event : perf.tsx_events) {
    if (event.error == 0) open.push_back(event.name);
  }
  const std::size_t listed = perf.tsx_events.size();
  if (listed == 0)
    return {"perf", "TSX events", "none", "perf cannot count transactions: the kernel lists no events"};
  return {"perf", "TSX events", fmt::format("{} of {}", open.size(), listed),
          open.empty() ? "the kernel lists them, but opens none" : fmt::format("{}", fmt::join(open, " "))};
}

void add_perf(const Facts& f, std::vector<Row>& rows) {
  const PerfFacts& perf = f.perf;
  const std::string level = perf.paranoid ? std::to_string(*perf.paranoid) : "not known";
  const char* meaning = "perf_event_paranoid: user code may be counted";
  if (perf.paranoid.value_or(0) > 2) meaning = "perf_event_paranoid: counting needs CAP_PERFMON";
  if (!perf.paranoid) meaning = "perf_event_paranoid cannot be read";
  if (perf.capable) meaning = "perf_event_paranoid does not matter: this process has CAP_PERFMON";
  rows.push_back({"perf", "paranoid", level, meaning});
  rows.push_back(
      {"perf", "cycles", outcome(perf.cycles_error), cycles_meaning(perf.cycles_error, f.cpu.virtual_cpu)});
  rows.push_back(tsx_events_row(perf));
}

const char* glibc_meaning(const GlibcFacts& glibc) {
  switch (glibc_elision(glibc.version)) {
    case GlibcElision::kNotGlibc:
      return "another C library";
    case GlibcElision::kBuildOption:
      return "by its version (2.18 to 2.26) elides locks, if built to";
    case GlibcElision::kTunable:
      return enables_glibc_elision(glibc.elision_tunables)
                 ? "elides locks by itself: GLIBC_TUNABLES tells it to"
                 : "can elide locks, by its version (2.27 to 2.42); is not told to";
    case GlibcElision::kRemoved:
      return "does not elide locks by itself any more (from 2.43)";
  }
  return "";
}

void add_glibc(const GlibcFacts& glibc, std::vector<Row>& rows) {
  rows.push_back({"libc", "glibc", glibc.version.empty() ? "no" : glibc.version, glibc_meaning(glibc)});
  if (!glibc.elision_tunables.empty()) rows.push_back({"libc", "GLIBC_TUNABLES", glibc.elision_tunables, ""});
}

}  // namespace

const char* always_abort_kind(const Facts& facts, const Diagnosis& diagnosis) {
  auto kind = abi::AlwaysAbortKind::kNone;
  if (diagnosis.live)
    kind =
        facts.cpu.virtual_always_abort ? abi::AlwaysAbortKind::kVirtualCpu : abi::AlwaysAbortKind::kNestedRtm;
  return abi::kAlwaysAbortNames[static_cast<std::size_t>(kind)];
}

std::vector<Row> rows_of(const Facts& facts, const Diagnosis& diagnosis) {
  std::vector<Row> rows;
  add_cpu(facts, rows);
  add_cpuid(facts.cpu, rows);
  add_trial(facts, diagnosis, rows);
  add_kernel(facts, rows);
  add_perf(facts, rows);
  add_glibc(facts.glibc, rows);
  return rows;
}

}  // namespace elision::cli::doctor
