// SPDX-License-Identifier: Apache-2.0
#include "cli/options/arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/host/console.h"
#include "cli/host/parse.h"
#include "cli/host/text_layout.h"
#include "cli/options/suggest.h"

namespace elision::cli {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->nonpositional(); })) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

constexpr std::size_t kOptionColumns = 30;  // the descriptions stand behind them

// CLI11 does not know "-- PROGRAM ARG..." nor the width of the terminal.
class Help : public CLI::Formatter {
 public:
  Help(std::string usage, std::size_t width) : usage_(std::move(usage)), width_(width) {}

  const std::string& usage() const { return usage_; }
  std::string make_usage(const CLI::App*, std::string) const override { return "\n  " + usage_ + "\n"; }

  std::string make_description(const CLI::App* app) const override {
    return paragraph("", app->get_description(), width_);
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string name = make_option_name(option, is_positional) + make_option_opts(option);
    const std::string first = "  " + name;
    if (display_width(first) < kOptionColumns)
      return paragraph(padded_right(first, kOptionColumns), make_option_desc(option), width_);
    return paragraph("  ", name, width_) +
           paragraph(std::string(kOptionColumns, ' '), make_option_desc(option), width_);
  }

 private:
  std::string usage_;
  std::size_t width_;
};

// The name without "=value".
std::string bare_name(const std::string& option) { return option.substr(0, option.find('=')); }

[[noreturn]] void report_extra(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  const auto dashed = std::find_if(extras.begin(), extras.end(),
                                   [](const std::string& word) { return word.rfind('-', 0) == 0; });
  if (dashed != extras.end()) throw unknown_name("option", bare_name(*dashed), option_names(app));
  const bool takes_program = usage_of(app).find("PROGRAM") != std::string::npos;
  throw UsageError(fmt::format("'{}' is not expected here{}", extras.front(),
                               takes_program ? "; a program and its arguments stand behind '--'" : ""));
}

// An empty value is usually an unset variable of a shell. It must not mean that the option was not given.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    const bool takes_value = option->get_items_expected_max() > 0;
    if (takes_value && std::find(values.begin(), values.end(), "") != values.end())
      throw UsageError(fmt::format("{} is empty", option->get_name()));
  }
}

void refuse_repeated(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const int most = option->get_items_expected_max();
    if (most > 0 && option->count() > static_cast<std::size_t>(most))
      throw UsageError(fmt::format("{} is given more than once", option->get_name()));
  }
}

}  // namespace

Arguments split_arguments(const std::vector<std::string>& arguments) {
  Arguments split;
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  split.options.assign(arguments.begin(), separator);
  if (separator != arguments.end()) split.program.assign(separator + 1, arguments.end());
  return split;
}

std::unique_ptr<CLI::App> make_app(const std::string& usage, const std::string& description) {
  auto app = std::make_unique<CLI::App>(description);
  app->formatter(std::make_shared<Help>(usage, appearance_of(STDOUT_FILENO).width.value_or(kDefaultWidth)));
  return app;
}

std::string usage_of(const CLI::App& app) { return dynamic_cast<const Help&>(*app.get_formatter()).usage(); }

bool parse_options(CLI::App& app, const std::vector<std::string>& options) {
  try {
    // CLI11 reads the vector from its end.
    app.parse(std::vector<std::string>(options.rbegin(), options.rend()));
    refuse_empty_values(app);
    return true;
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return false;
  } catch (const CLI::ExtrasError&) {
    report_extra(app);
  } catch (const CLI::ParseError& error) {
    refuse_repeated(app);
    throw UsageError(error.what());
  }
}

std::uint64_t whole_number(std::string_view option, std::string_view text, std::uint64_t low,
                           std::uint64_t high) {
  const auto value = number_of<std::uint64_t>(text);
  if (value && *value >= low && *value <= high) return *value;
  throw UsageError(fmt::format("{}: '{}' is not a whole number from {} to {}", option, text, low, high));
}

CLI::Validator seconds_up_to(double most) {
  const auto complaint = [most](const std::string& text) -> std::string {
    const auto value = number_of<double>(text);
    if (value && *value > 0 && *value <= most) return {};
    return fmt::format("'{}' is not a number of seconds above 0, up to {:.0f}", text, most);
  };
  return CLI::Validator(complaint, "");
}

const std::vector<std::string>& required_program(const Arguments& arguments, std::string_view verb) {
  if (arguments.program.empty() || arguments.program.front().empty()) {
    throw UsageError(
        fmt::format("no program to run; write it behind '--', as in: elision {} -- PROGRAM ARG...", verb));
  }
  return arguments.program;
}

}  // namespace elision::cli
