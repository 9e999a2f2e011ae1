// SPDX-License-Identifier: Apache-2.0
#include "cli/texts/walk.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cctype>

#include "cli/host/parse.h"
#include "cli/options/arguments.h"
#include "cli/options/designs.h"
#include "cli/texts/manual_words.h"
#include "cli/verbs.h"
#include "machine/description_toml.h"

namespace elision::cli {
namespace {

void add_alternative(ValueText& value, const std::string& name) {
  const auto add = [&value](const std::vector<std::string>& words) {
    value.words.insert(value.words.end(), words.begin(), words.end());
  };
  if (name == "DESIGN") return add(example_designs());
  if (name == "MACHINE") return add(machine::built_in_machines());
  if (name == "FILE") value.is_file = true;
  if (name == "FOLDER") value.is_folder = true;
  if (std::islower(static_cast<unsigned char>(name.front())) != 0) add({name});
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::sort(names.begin(), names.end());
  return names;
}

std::string condition_of(const CLI::Option& option) {
  std::vector<std::string> parts;
  if (const auto needed = names_of(option.get_needs()); !needed.empty())
    parts.push_back(fmt::format("only with {}", fmt::join(needed, " and ")));
  if (const auto excluded = names_of(option.get_excludes()); !excluded.empty())
    parts.push_back(fmt::format("not with {}", fmt::join(excluded, " or ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

OptionText option_of(const CLI::Option& option) {
  OptionText text;
  text.is_positional = option.get_positional();
  text.name = text.is_positional ? option.get_name(true) : "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) text.short_name = "-" + option.get_snames().front();
  if (option.get_items_expected_max() > 0) text.value = value_of(option.get_type_name());
  text.help = option.get_description();
  text.condition = condition_of(option);
  return text;
}

VerbText text_of(const Verb& verb) {
  const std::unique_ptr<CLI::App> app = verb.app();
  VerbText text;
  text.name = verb.name;
  text.summary = verb.summary;
  text.usage = usage_of(*app);
  text.description = app->get_description();
  text.options = options_of(*app);
  text.takes_program = text.usage.find("-- PROGRAM") != std::string::npos;
  text.manual = manual_words(verb.name);
  return text;
}

}  // namespace

ValueText value_of(const std::string& name) {
  constexpr std::string_view kList = ",...";
  ValueText value;
  value.name = name;
  std::string_view one = name;
  value.is_list = one.size() > kList.size() && one.substr(one.size() - kList.size()) == kList;
  if (value.is_list) one.remove_suffix(kList.size());
  for (const std::string& alternative : split_list(one, '|')) add_alternative(value, alternative);
  return value;
}

std::vector<OptionText> options_of(const CLI::App& app) {
  std::vector<OptionText> options;
  for (const CLI::Option* option : app.get_options()) options.push_back(option_of(*option));
  return options;
}

CommandTexts texts_of_command(const std::string& version, const std::string& date) {
  CommandTexts texts;
  texts.version = version;
  texts.date = date;
  texts.manual = manual_words("");
  for (const Verb& verb : verbs()) {
    if (verb.app != nullptr) texts.verbs.push_back(text_of(verb));
  }
  return texts;
}

}  // namespace elision::cli
