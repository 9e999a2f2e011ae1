// SPDX-License-Identifier: Apache-2.0
// The one source of the workloads that includes CLI11, whose code takes a compiler some fifteen seconds.
#include "command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

namespace workloads {
namespace {

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// CLI11 would take -1 as the largest number.
std::string complain_about_sign(const std::string& word) {
  return word.find('-') == std::string::npos ? "" : "Value " + word + " is negative";
}

}  // namespace

Option Option::within(std::int64_t low, std::int64_t high) const {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option Option::within_real(double low, double high) const {
  option_->check([low, high](const std::string& word) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(word, value) && low <= value && value <= high) return {};  // no NaN
    return "Value " + word + " not in range " + text_of(low) + " to " + text_of(high);
  });
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option Option::excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

CommandLine::CommandLine(std::string program, const std::string& description)
    : program_(std::move(program)), app_(std::make_unique<CLI::App>(description)) {
  static std::string line;
  line = program_ + ": not enough memory for this input\n";
  std::set_new_handler([] {
    std::fputs(line.c_str(), stderr);
    std::_Exit(2);
  });
}

CommandLine::~CommandLine() = default;

Option CommandLine::add(const std::string& name, int& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option CommandLine::add(const std::string& name, unsigned& value, const std::string& help) {
  return Option(app_->add_option(name, value, help)->check(complain_about_sign));
}

Option CommandLine::add(const std::string& name, std::uint64_t& value, const std::string& help) {
  return Option(app_->add_option(name, value, help)->check(complain_about_sign));
}

Option CommandLine::add(const std::string& name, double& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option CommandLine::add(const std::string& name, std::string& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option CommandLine::add(const std::string& name, std::vector<std::string>& words, const std::string& help) {
  return Option(app_->add_option(name, words, help));
}

Option CommandLine::add_flag(const std::string& name, bool& given, const std::string& help) {
  return Option(app_->add_flag(name, given, help));
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_->exit(error);  // --help
    return refuse(error.what());
  }
  return std::nullopt;
}

int CommandLine::refuse(const std::string& complaint) const {
  std::fprintf(stderr, "%s: %s\n", program_.c_str(), complaint.c_str());
  return 2;
}

}  // namespace workloads
