// SPDX-License-Identifier: Apache-2.0
// How the transactions of a program that is compiled with -fgnu-tm run: by GCC's own libitm under one of its
// methods, or by libelision-tm in one of its modes (abi/tm_variables.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/lock_options.h"

namespace CLI {
class App;
}

namespace elision::cli {

/// The options of `run`, `vm` and `compare`.
inline constexpr const char* kTm = "--tm";
inline constexpr const char* kTmRetry = "--tm-retry";

/// GCC's libitm, which chooses its method itself. The others are compared with it.
inline constexpr const char* kLibitm = "libitm";

/// The default modes of `elision compare --tm default`, kLibitm first.
const std::vector<std::string>& default_tm_modes();

/// "libitm, ..., ale or serial", for help texts.
std::string tm_mode_forms();

/// True if GCC's libitm runs the transactions. It counts nothing.
bool is_libitm(std::string_view mode);

/// True if the mode needs hardware transactions. Without them it runs as `serial`.
bool needs_hardware(std::string_view mode);

/// Throws UsageError, naming the nearest mode, unless `name` is one.
void require_tm_mode(std::string_view name);

/// Checks all that is said of modes: they exist, there are no options of locks beside them, and `retry`
/// (empty: not given) has an effect on one of them. Throws UsageError.
void check_tm_modes(const std::vector<std::string>& modes, const LockOptions& lock, const std::string& retry);

/// The modes in "a,b,c". Throws UsageError, also for an empty or repeated name.
std::vector<std::string> parse_tm_modes(std::string_view list);

/// Adds --tm-retry, which needs --tm.
void add_tm_retry(CLI::App& app, std::string& retry);

/// The same options as words for another `elision` process. `retry` is left out if it has no effect on
/// `mode`.
std::vector<std::string> as_words(const std::string& mode, const std::string& retry);

/// Sets the variables for `mode`, and for `retry` unless that is empty. The unsafe mode is accepted, since
/// the user has named it.
void set_tm_variables(std::vector<std::string>& environment, const std::string& mode,
                      const std::string& retry);

/// The same, and preloads libelision-tm into the program in `file` if the mode is one of its own. Throws
/// UsageError if the library is missing.
void set_tm_mode(std::vector<std::string>& environment, const std::string& file, const std::string& mode,
                 const std::string& retry);

}  // namespace elision::cli
