// SPDX-License-Identifier: Apache-2.0
// How every verb reads its arguments: options in front of "--" belong to the verb, everything
// behind it belongs to the program and is never looked at.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace elision::cli {

/// A verb's arguments, split at the first "--".
struct Arguments {
  std::vector<std::string> options;  // the verb's own
  bool separator = false;            // whether "--" was there
  std::vector<std::string> program;  // name and arguments; empty without "--"
};

Arguments split_arguments(const std::vector<std::string>& arguments);

/// An empty set of options whose help begins with `usage` and `description`.
std::unique_ptr<CLI::App> make_app(const std::string& usage, const std::string& description);

/// Parses `options` into `app`. True if the verb should go on, false if `--help` was asked for and
/// printed. Throws UsageError with the nearest option name for one that does not exist.
bool parse_options(CLI::App& app, const std::vector<std::string>& options);

/// Accepts numbers from `low` to `high` (both whole) in an option's value, and says so in one line.
CLI::Validator number_between(double low, double high);

/// `arguments.program`, or a UsageError that shows how to name a program to `verb`.
const std::vector<std::string>& required_program(const Arguments& arguments, std::string_view verb);

}  // namespace elision::cli
