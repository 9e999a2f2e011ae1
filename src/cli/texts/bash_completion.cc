// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/texts/completions.h"

namespace elision::cli {
namespace {

constexpr const char* kHelpers = R"(# Offers those of the words that begin with the current one.
_elision_words() {
  local word
  for word; do [[ $word != "$current"* ]] || COMPREPLY+=("$word"); done
}

# The same for a list with commas: its last word is completed, by words that it does not have.
_elision_list() {
  local word before=
  [[ $current != *,* ]] || before=${current%,*},
  compopt -o nospace
  for word; do
    [[ $before$word != "$current"* || ,$before == *,"$word",* ]] || COMPREPLY+=("$before$word")
  done
}

# Offers files (f) or folders (d).
_elision_paths() {
  compopt -o filenames
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "-$1" -- "$current")
}

# The program behind "--", which is word $1, and its arguments: as bash-completion does it, if that is loaded.
_elision_program() {
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$1"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$current")
  else
    _elision_paths f
  fi
}
)";

constexpr const char* kMain = R"(
_elision() {
  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} at
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _elision_verbs
    return
  fi
  for ((at = 2; at < COMP_CWORD; ++at)); do
    if [[ ${COMP_WORDS[at]} == -- ]]; then
      _elision_program $((at + 1))
      return
    fi
  done
  # In --option=value the sign is a word of its own.
  if [[ $current == = ]]; then
    current=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  _elision_value "$verb $option" || _elision_options "$verb"
}

complete -F _elision elision
)";

std::vector<std::string> quoted(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& word : words) result.push_back(shell_quoted(word));
  return result;
}

// What offers the value; ":" if nothing can be offered.
std::string command_of(const ValueText& value) {
  std::vector<std::string> commands;
  if (!value.words.empty()) {
    commands.push_back(fmt::format("{} {}", value.is_list ? "_elision_list" : "_elision_words",
                                   fmt::join(quoted(value.words), " ")));
  }
  if (value.is_file) commands.emplace_back("_elision_paths f");
  if (value.is_folder) commands.emplace_back("_elision_paths d");
  return commands.empty() ? ":" : fmt::format("{}", fmt::join(commands, "; "));
}

std::string values(const CommandTexts& texts) {
  std::string rows;
  for (const VerbText& verb : texts.verbs) {
    for (const OptionText& option : verb.options) {
      if (!option.is_positional && !option.value.name.empty())
        rows += fmt::format("    '{} {}') {} ;;\n", verb.name, option.name, command_of(option.value));
    }
  }
  return "\n# Offers values of an option, which stands behind its verb in $1. Fails if that takes "
         "none.\n_elision_value() {\n"
         "  case $1 in\n" +
         rows + "    *) return 1 ;;\n  esac\n}\n";
}

std::string options(const CommandTexts& texts) {
  std::string rows;
  for (const VerbText& verb : texts.verbs) {
    std::vector<std::string> words;
    std::string positional;
    for (const OptionText& option : verb.options) {
      if (option.is_positional) {
        positional += "; " + command_of(option.value);
      } else {
        words.push_back(option.name);
      }
    }
    if (verb.takes_program) words.emplace_back("--");
    rows += fmt::format("    {}) _elision_words {}{} ;;\n", verb.name, fmt::join(words, " "), positional);
  }
  return "\n# Offers the options and other words of verb $1.\n_elision_options() {\n  case $1 in\n" + rows +
         "    help) ((COMP_CWORD != 2)) || _elision_verbs ;;\n  esac\n}\n";
}

std::string verbs(const CommandTexts& texts) {
  std::string names;
  for (const VerbText& verb : texts.verbs) names += verb.name + " ";
  return "\n_elision_verbs() {\n  _elision_words " + names + "help --help --version\n}\n";
}

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char character : text)
    result += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return result + "'";
}

std::string bash_completion(const CommandTexts& texts) {
  return std::string(
             "# SPDX-License-Identifier: Apache-2.0\n"
             "# Completion of elision for bash, written by elision_texts from the options of the "
             "command.\n\n") +
         kHelpers + verbs(texts) + values(texts) + options(texts) + kMain;
}

}  // namespace elision::cli
