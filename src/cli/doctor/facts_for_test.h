// SPDX-License-Identifier: Apache-2.0
// Machines that tests start from and change in one place.
#pragma once

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

/// An Ice Lake server with TSX on, no hypervisor, nothing to remark.
inline Facts live_server() {
  Facts f;
  f.cpu.vendor = "GenuineIntel";
  f.cpu.brand = "Intel(R) Xeon(R) Platinum 8380";
  f.cpu.family = 6;
  f.cpu.model = 0x6a;
  f.cpu.stepping = 6;
  f.cpu.rtm = f.cpu.hle = f.cpu.arch_capabilities = true;
  f.kernel.release = "6.12.0";
  f.kernel.command_line_known = true;
  f.kernel.tsx = "on";
  f.kernel.taa = "Not affected";
  f.kernel.rtm_flag = true;
  f.kernel.microcode = "0xd0003e7";
  f.trial.counts.attempts = 10000;
  f.trial.counts.commits = 9999;
  f.trial.counts.aborts[static_cast<std::size_t>(abi::AbortCause::kOther)] = 1;
  f.trial.nesting_depth = 7;
  f.perf.paranoid = 2;
  f.perf.tsx_events = {{"tx-abort", 0}, {"tx-commit", 0}, {"tx-start", 0}};
  f.glibc.version = "2.41";
  return f;
}

/// The same server with RTM gone from CPUID and no tsx= on the kernel command line.
inline Facts dead_server() {
  Facts f = live_server();
  f.cpu.rtm = f.cpu.hle = false;
  f.kernel.tsx.reset();
  f.kernel.rtm_flag = false;
  f.trial = {};
  return f;
}

}  // namespace elision::cli::doctor
