// SPDX-License-Identifier: Apache-2.0
// The one table of the preload library's environment variables, with names, values and defaults. The launcher
// sets them, the library (src/runtime) reads them, and no other code has their names. Only ELISION_HIDE_RTM
// is also read by all code that asks for RTM (htm/cpu.h).
//
// A program that runs with more rights than its caller (AT_SECURE) ignores all of them.
#pragma once

#include <cstddef>

namespace elision::abi {

enum class LockVariable : std::size_t {
  kLock,
  kWait,
  kBusy,
  kBusyCounts,
  kRetry,
  kSpeculation,
  kTries,
  kMaxDist,
  kMinDist,
  kMaxSpecs,
  kSubscribe,
  kPauses,
  kScmTries,
  kRwlock,
  kCondition,
  kRtmAlwaysAbort,
  kTransactions,
  kHideRtm,
  kOff,
  kCountersDir,
  kActivity,
  kCallPaths,
  kVerbose,
  kCount,
};

struct LockVariableRow {
  const char* name;
  const char* default_value;
  const char* values;
  const char* meaning;
};

inline constexpr LockVariableRow kLockVariables[] = {
    {"ELISION_LOCK", "pthread", "a name of abi/lock_designs.h", "the lock design"},
    {"ELISION_WAIT", "park", "park, spin",
     "sleep after a bounded spin, or spin for ever as the papers' locks do"},
    {"ELISION_BUSY", "outside", "outside, inside, abort",
     "htm-N: wait for a held lock before the transaction or, as the AAHTM paper, in a loop inside it; or, as "
     "its authors' code, begin without a look, and a held lock aborts and uses up a try"},
    {"ELISION_BUSY_COUNTS", "0", "0, 1", "htm-N, busy inside: an abort out of that loop uses up a try"},
    {"ELISION_RETRY", "at-once", "at-once, back-off",
     "elided designs: back-off after four conflicts in a row or, as the AAHTM paper, after any abort"},
    {"ELISION_SPECULATION", "run-on", "run-on, abort-at-unlock",
     "AAHTM locks: what unlock does while speculating"},
    {"ELISION_TRIES", "4", "a number", "AAHTM locks: speculations per acquisition (NUM_TRIES)"},
    {"ELISION_MAX_DIST", "4", "a number", "ticket-aahtm: speculate only below this distance (MAX_DIST)"},
    {"ELISION_MIN_DIST", "2", "a number", "ticket-aahtm: speculate only from this distance on (MIN_DIST)"},
    {"ELISION_MAX_SPECS", "1", "a number",
     "tatas-pri-aahtm: threads that have speculated and wait (MAX_SPECS)"},
    {"ELISION_SUBSCRIBE", "0", "0, 1",
     "ticket-aahtm: a speculation reads now_serving first, so that every hand-over ends it"},
    {"ELISION_PAUSES", "0", "a number", "ticket-aahtm: units of back-off after an aborted speculation"},
    {"ELISION_SCM_TRIES", "10", "a number", "hle-scm: transactions before the lock is taken"},
    {"ELISION_RWLOCK", "shared", "shared, exclusive",
     "reader-writer locks: readers share, or all go one by one through the mutex design"},
    {"ELISION_CONDITION", "auto", "auto, glibc, aware, busy",
     "condition variables: glibc's, aware of transactions, or waits that only look again (auto: aware where "
     "mutexes are elided or FIFO, or where the library's own mutexes spin for ever)"},
    {"ELISION_RTM_ALWAYS_ABORT", "0", "0, 1",
     "let AAHTM locks imitate always-abort transactions by nested RTM, on the virtual machine, too"},
    {"ELISION_TRANSACTIONS", "1", "0, 1",
     "0: no transaction begins; also the variable elision_transactions of the running process, for "
     "debuggers"},
    {"ELISION_HIDE_RTM", "0", "0, 1",
     "1: behave as on a CPU without RTM; the CPU of elision vm cannot be hidden"},
    {"ELISION_OFF", "0", "0, 1", "1: all locks are glibc's, whatever else is set"},
    {"ELISION_COUNTERS_DIR", "", "a directory", "keep the counters of each process in a file there"},
    {"ELISION_ACTIVITY", "0", "0, 1",
     "pthread, glibc-elision: note what each thread does at glibc's locks too (abi/thread_activity.h)"},
    {"ELISION_CALL_PATHS", "0", "a number",
     "samples of call paths in a second of each thread's CPU time, beside the counters (abi/call_paths.h)"},
    {"ELISION_VERBOSE", "0", "0, 1", "say on standard error what was chosen"},
};
static_assert(sizeof kLockVariables / sizeof kLockVariables[0] ==
              static_cast<std::size_t>(LockVariable::kCount));

constexpr const LockVariableRow& row_of(LockVariable variable) {
  return kLockVariables[static_cast<std::size_t>(variable)];
}

}  // namespace elision::abi
