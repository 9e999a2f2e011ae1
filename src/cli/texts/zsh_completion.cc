// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/texts/completions.h"

namespace elision::cli {
namespace {

constexpr const char* kHelpers = R"(# Offers the words, and files as well.
_elision_words_or_files() {
  compadd -- "$@"
  _files
}
)";

constexpr const char* kMain = R"(
_elision() {
  if ((CURRENT == 2)); then
    _elision_verbs
    _arguments '(- *)'{-h,--help}'[list the verbs]' '(- *)--version[tell the version]'
    return
  fi
  # Everything behind the first "--" is a command line of its own.
  local -i separator=${words[(i)--]}
  if ((separator < CURRENT)); then
    shift separator words
    ((CURRENT -= separator))
    _normal
    return
  fi
  local verb=$words[2]
  shift words
  ((--CURRENT))
  _elision_options $verb
}

_elision "$@"
)";

// `text` without a special meaning in an argument of _arguments and _describe.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char character : text) {
    if (std::string_view("\\[]:").find(character) != std::string_view::npos) result += '\\';
    result += character;
  }
  return result;
}

// The action of _arguments that offers the value.
std::string action_of(const ValueText& value) {
  const std::string words = fmt::format("{}", fmt::join(value.words, " "));
  if (value.is_list && !value.words.empty())
    return fmt::format(" _values -s , {} {}", escaped(value.name), words);
  if (value.is_file) return words.empty() ? "_files" : " _elision_words_or_files " + words;
  if (value.is_folder) return "_files -/";
  return value.words.empty() ? " " : fmt::format("({})", words);
}

std::string specification(const OptionText& option) {
  const std::string value = fmt::format("{}:{}", escaped(option.value.name), action_of(option.value));
  if (option.is_positional) return shell_quoted(fmt::format("::{}", value));
  const std::string help = fmt::format("[{}]", escaped(option.help));
  if (!option.short_name.empty())
    return fmt::format("'(- *)'{{{},{}}}{}", option.short_name, option.name, shell_quoted(help));
  if (option.value.name.empty()) return shell_quoted(option.name + help);
  return shell_quoted(fmt::format("{}={}:{}", option.name, help, value));
}

std::string options(const CommandTexts& texts) {
  std::string rows;
  for (const VerbText& verb : texts.verbs) {
    rows += fmt::format("    {})\n      _arguments", verb.name);
    for (const OptionText& option : verb.options) rows += " \\\n        " + specification(option);
    if (verb.takes_program) rows += " \\\n        '1:separator:(--)'";
    rows += "\n      ;;\n";
  }
  return "\n# Offers the options of a verb, and their values.\n_elision_options() {\n  case $1 in\n" + rows +
         "    help) _elision_verbs ;;\n  esac\n}\n";
}

std::string verbs(const CommandTexts& texts) {
  std::string rows;
  for (const VerbText& verb : texts.verbs)
    rows += fmt::format("    {}\n", shell_quoted(verb.name + ":" + escaped(verb.summary)));
  return "\n_elision_verbs() {\n  local -a verbs=(\n" + rows +
         "    'help:explain a verb'\n  )\n  _describe -t verbs verb verbs\n}\n";
}

}  // namespace

std::string zsh_completion(const CommandTexts& texts) {
  return std::string(
             "#compdef elision\n# SPDX-License-Identifier: Apache-2.0\n"
             "# Completion of elision for zsh, written by elision_texts from the options of the "
             "command.\n\n") +
         kHelpers + verbs(texts) + options(texts) + kMain;
}

}  // namespace elision::cli
