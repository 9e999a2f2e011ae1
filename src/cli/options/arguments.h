// SPDX-License-Identifier: Apache-2.0
// How every verb reads its arguments: options before "--" belong to the verb; everything after it belongs to
// the program and is not parsed.
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

// The name of an option's value (type_name() of CLI11) says what it may be: words in small letters stand for
// themselves, DESIGN, MACHINE, FILE and FOLDER for what they say, and NUMBER, SECONDS, TIME, EVENT and REGEX
// for what nobody can list. `|` separates alternatives, and ",..." ends the name of a list. Help and manual
// pages show the name, and completions offer what it stands for.

/// An empty set of options whose help begins with `usage` and `description`.
std::unique_ptr<CLI::App> make_app(const std::string& usage, const std::string& description);

/// The `usage` of an app that make_app() made.
std::string usage_of(const CLI::App& app);

/// Parses `options` into `app`. False if `--help` was asked for and printed. Throws UsageError for an unknown
/// option, naming the nearest one.
bool parse_options(CLI::App& app, const std::vector<std::string>& options);

/// Parses `text`, which must consist of decimal digits. Throws UsageError that names `option` unless the
/// number lies between `low` and `high`.
std::uint64_t whole_number(std::string_view option, std::string_view text, std::uint64_t low,
                           std::uint64_t high);

/// Leaves room below 2^64: the seeds of further runs count up from the first.
inline constexpr std::uint64_t kLastSeed = 9'999'999'999'999'999'999U;

/// An option whose value is such a number. Without the option `value` stays unchanged.
template <std::unsigned_integral Number>
CLI::Option* add_number(CLI::App& app, const std::string& option, Number& value, std::uint64_t low,
                        std::uint64_t high, const std::string& help) {
  const auto store = [option, &value, low, high](const std::string& text) {
    value = static_cast<Number>(whole_number(option, text, low, high));
  };
  return app.add_option_function<std::string>(option, store, help)->type_name("NUMBER");
}

/// Accepts seconds above 0 and up to `most`, with or without a fraction.
CLI::Validator seconds_up_to(double most);

/// Returns `arguments.program`, or throws a UsageError that shows how to name a program to `verb`.
const std::vector<std::string>& required_program(const Arguments& arguments, std::string_view verb);

}  // namespace elision::cli
