// SPDX-License-Identifier: Apache-2.0
// The facts of `elision doctor`, as plain data. The gatherers fill them in (cpu_facts, kernel_facts,
// perf_facts, trial), diagnosis judges them, rows and report_json show them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "htm/cpu.h"

namespace elision::cli::doctor {

/// From CPUID.
struct CpuFacts {
  std::string vendor;  // "GenuineIntel"; empty: there is no CPUID
  std::string brand;   // empty: not told
  unsigned family = 0;
  unsigned model = 0;
  unsigned stepping = 0;
  bool rtm = false;
  bool hle = false;
  bool rtm_always_abort = false;
  bool tsx_force_abort = false;
  bool tsxldtrk = false;
  bool arch_capabilities = false;
  bool hypervisor = false;
  std::string hypervisor_signature;  // leaf 0x40000000: "KVMKVMKVM"; empty: none
  bool virtual_cpu = false;          // that of `elision vm`
  bool virtual_always_abort = false;
};

/// From the kernel's files that anyone may read.
struct KernelFacts {
  std::string release;
  bool command_line_known = false;
  std::optional<std::string> tsx;              // tsx= on the kernel command line, the last one
  std::optional<std::string> tsx_async_abort;  // tsx_async_abort=
  std::optional<std::string> mitigations;      // mitigations=
  std::optional<std::string> built_in_tsx;  // "off", "on" or "auto": X86_INTEL_TSX_MODE of its configuration
  std::optional<std::string> taa;           // vulnerabilities/tsx_async_abort
  struct Vulnerability {
    std::string name, text;
  };
  std::vector<Vulnerability> others;       // other files there that mention TSX
  std::optional<bool> rtm_flag;            // "rtm" in /proc/cpuinfo
  std::optional<std::string> microcode;    // from /proc/cpuinfo
  std::optional<bool> perf_may_abort_all;  // cpu/allow_tsx_force_abort
  std::string system_vendor;               // "Amazon EC2"; empty: not told
};

/// From a trial of real transactions.
struct TrialFacts {
  htm::Trial counts;                 // attempts 0: CPUID shows no RTM, or it is hidden
  bool illegal_instruction = false;  // XBEGIN was an illegal instruction
  unsigned nesting_depth = 0;        // 0: not measured
};

/// From perf_event_open. An error is an errno; 0: it worked.
struct PerfFacts {
  std::optional<int> paranoid;
  bool capable = false;  // CAP_PERFMON or CAP_SYS_ADMIN
  int cycles_error = 0;
  struct Event {
    std::string name;
    int error = 0;
  };
  std::vector<Event> tsx_events;  // those that the kernel lists for this CPU
};

/// The C library of this process.
struct GlibcFacts {
  std::string version;           // "2.36"; empty: another C library
  std::string elision_tunables;  // the part of GLIBC_TUNABLES about elision
};

/// Elision's settings that decide whether transactions are used.
struct SettingsFacts {
  std::optional<std::string> hide_rtm;  // ELISION_HIDE_RTM as given; nothing: not set, or empty
};

struct Facts {
  CpuFacts cpu;
  KernelFacts kernel;
  TrialFacts trial;
  PerfFacts perf;
  GlibcFacts glibc;
  SettingsFacts settings;
};

}  // namespace elision::cli::doctor
