// SPDX-License-Identifier: Apache-2.0
// From facts to a diagnosis, by tables of causes and notes (advice.cc has the changes). Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

/// Why transactions commit here, or why not. Causes are tried in this order.
enum class Reason {
  kIllegal,          // CPUID shows RTM, XBEGIN is an illegal instruction
  kMicrocodeAborts,  // RTM_ALWAYS_ABORT
  kHidden,           // ELISION_HIDE_RTM
  kNeverCommits,     // CPUID shows RTM, nothing commits
  kVirtualCpu,       // commits, on the virtual CPU of elision vm
  kFewCommit,        // commits, but too rarely
  kCommits,
  kNotIntel,  // from here on: CPUID shows no RTM
  kVanished,  // the kernel saw RTM at boot, this process sees none
  kEmulated,
  kKernelOff,
  kHypervisorHides,
  kErratum,
  kKernelLikelyOff,
  kFirmware,  // the CPU model has it and the kernel allows it
  kNoRtm,
};

/// "kernel-off": as in the JSON.
const char* name_of(Reason reason);

struct Remark {
  const char* name;  // as in the JSON
  std::string text;
};

struct Diagnosis {
  Reason reason = Reason::kNoRtm;
  bool live = false;  // transactions commit here, so that Elision uses them
  std::string sentence;
  std::vector<Remark> notes;   // further remarks
  std::vector<Remark> advice;  // what to change, the most effective first
};

Diagnosis diagnose(const Facts& facts);

}  // namespace elision::cli::doctor
