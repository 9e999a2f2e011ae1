// SPDX-License-Identifier: Apache-2.0
// The options of lock designs, shared by `run`, `vm` and `compare`, and their translation into the
// environment variables of the preload library (abi/lock_variables.h).
#pragma once

#include <string>
#include <vector>

#include "cli/host/environment.h"

namespace CLI {
class App;
}

namespace elision::cli {

struct LockOptions {
  std::string wait;         // park or spin; empty: the library's default
  std::string busy;         // inside, outside or abort
  std::string retry;        // at-once or back-off
  std::string speculation;  // run-on or abort-at-unlock
  std::string tries;        // numbers stay text: they are checked and passed on
  std::string max_dist;
  std::string min_dist;
  std::string max_specs;
  std::string pauses;
  std::string scm_tries;
  std::string rwlock;     // shared or exclusive
  std::string condition;  // auto, glibc, aware or busy
  bool busy_counts = false;
  bool subscribe = false;
  bool rtm_always_abort = false;
};

/// Adds the options to a verb.
void add_lock_options(CLI::App& app, LockOptions& options);

/// Checks the values. Throws UsageError with the nearest valid one.
void check_lock_options(const LockOptions& options);

/// Lines about options that change nothing for any of `designs`, or not for those for which one expects it.
std::vector<std::string> without_effect(const LockOptions& options, const std::vector<std::string>& designs);

/// The environment variables for `design`.
Variables lock_variables(const std::string& design, const LockOptions& options);

/// Sets them in `environment`. For glibc's own elision, adds the tunable that switches it on to those already
/// set.
void set_lock_variables(std::vector<std::string>& environment, const std::string& design,
                        const LockOptions& options);

/// The same options as words for another `elision` process.
std::vector<std::string> as_words(const LockOptions& options);

}  // namespace elision::cli
