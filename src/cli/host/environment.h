// SPDX-License-Identifier: Apache-2.0
// Edits to the environment of a program that is about to start.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace elision::cli {

/// Names with values, in the order in which they are set.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// A copy of `environment` (a null-terminated array) as strings.
std::vector<std::string> copy_environment(const char* const* environment);

/// Sets `name` to `value`, replacing an old value.
void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value);

/// Removes `name`.
void unset_variable(std::vector<std::string>& environment, const std::string& name);

/// The value of `name`, or an empty string.
std::string variable(const std::vector<std::string>& environment, const std::string& name);

/// Puts `library` in front of LD_PRELOAD's libraries, once.
void prepend_preload(std::vector<std::string>& environment, const std::string& library);

/// A null-terminated array of pointers into `strings`, which must outlive it.
std::vector<char*> pointers_to(const std::vector<std::string>& strings);

}  // namespace elision::cli
