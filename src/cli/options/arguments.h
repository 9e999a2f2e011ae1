// SPDX-License-Identifier: Apache-2.0
// How every verb reads its arguments: options in front of "--" belong to the verb, everything
// behind it belongs to the program and is never looked at.
#pragma once

#include <CLI/CLI.hpp>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace elision::cli {

/// A verb's arguments, split at the first "--".
struct Arguments {
  std::vector<std::string> options;  // the verb's own
  std::vector<std::string> program;  // name and arguments; empty without "--"
};

Arguments split_arguments(const std::vector<std::string>& arguments);

/// An empty set of options whose help begins with `usage` and `description`.
std::unique_ptr<CLI::App> make_app(const std::string& usage, const std::string& description);

/// Parses `options` into `app`. True if the verb should go on, false if `--help` was asked for and
/// printed. Throws UsageError with the nearest option name for one that does not exist.
bool parse_options(CLI::App& app, const std::vector<std::string>& options);

/// The decimal number that `text` is, digits and nothing else; throws UsageError that names `option` unless
/// it lies between `low` and `high`.
std::uint64_t whole_number(std::string_view option, std::string_view text, std::uint64_t low,
                           std::uint64_t high);

/// Leaves room below 2^64 for the seeds of further runs, which count up from the first.
inline constexpr std::uint64_t kLastFirstSeed = 9'999'999'999'999'999'999U;

/// An option whose value is such a number. `value` keeps what it has if the option is not given.
template <std::unsigned_integral Number>
CLI::Option* add_number(CLI::App& app, const std::string& option, Number& value, std::uint64_t low,
                        std::uint64_t high, const std::string& help) {
  const auto store = [option, &value, low, high](const std::string& text) {
    value = static_cast<Number>(whole_number(option, text, low, high));
  };
  return app.add_option_function<std::string>(option, store, help)->type_name("NUMBER");
}

/// Accepts a length of time above nothing and up to `most` seconds, with or without a fraction.
CLI::Validator seconds_up_to(double most);

/// `arguments.program`, or a UsageError that shows how to name a program to `verb`.
const std::vector<std::string>& required_program(const Arguments& arguments, std::string_view verb);

}  // namespace elision::cli
