// SPDX-License-Identifier: Apache-2.0
// The one table of the environment variables of the transactional memory library (src/tm), with names,
// values and defaults. ELISION_HIDE_RTM (abi/lock_variables.h) counts too.
//
// A program that runs with more rights than its caller (AT_SECURE) ignores all of them.
#pragma once

#include <cstddef>

namespace elision::abi {

enum class TmVariable : std::size_t {
  kMode,
  kAcceptUnsafe,
  kFastPath,
  kRetry,
  kCountersDir,
  kVerbose,
  kCount
};

struct TmVariableRow {
  const char* name;
  const char* default_value;
  const char* values;
  const char* meaning;
};

inline constexpr TmVariableRow kTmVariables[] = {
    {"ELISION_TM", "default", "default, ale, hle, hle-scm, unsafe-lr, serial",
     "how transactions run; default: ale where hardware transactions commit, else serial"},
    {"ELISION_TM_ACCEPT_UNSAFE", "0", "0, 1",
     "1: allow unsafe-lr, which may run on inconsistent memory and corrupt the program"},
    {"ELISION_TM_FAST_PATH", "two-speed", "two-speed, logged",
     "ale: run uninstrumented while no fallback is active or, as the paper, always log writes"},
    {"ELISION_TM_RETRY", "patient", "patient, hint",
     "patient: wait for a held lock or a fallback, then try again in hardware; hint: try again only if the "
     "CPU sets the retry bit, as in the ALE paper (unsafe-lr also after a held lock, ale also after a "
     "fallback that began meanwhile)"},
    {"ELISION_TM_COUNTERS_DIR", "", "a directory", "keep the counters of each process in a file there"},
    {"ELISION_TM_VERBOSE", "0", "0, 1", "say on standard error what was chosen"},
};
static_assert(sizeof kTmVariables / sizeof kTmVariables[0] == static_cast<std::size_t>(TmVariable::kCount));

constexpr const TmVariableRow& row_of(TmVariable variable) {
  return kTmVariables[static_cast<std::size_t>(variable)];
}

/// The modes by name. The order is the numbering in counter files.
enum class TmMode : unsigned { kSerial, kHle, kHleScm, kUnsafeLr, kAle, kCount };
inline constexpr const char* kTmModeNames[] = {"serial", "hle", "hle-scm", "unsafe-lr", "ale"};
static_assert(sizeof kTmModeNames / sizeof kTmModeNames[0] == static_cast<std::size_t>(TmMode::kCount));

}  // namespace elision::abi
