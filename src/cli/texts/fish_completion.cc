// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/texts/completions.h"

namespace elision::cli {
namespace {

constexpr const char* kHelpers =
    R"(# Whether the words so far are those of one of the verbs, and no program has begun.
function __elision_verb
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv; and not contains -- -- $words[3..]
end

function __elision_no_verb
    test (count (commandline -opc)) -eq 1
end

# Whether the program behind "--" is being written.
function __elision_in_program
    contains -- -- (commandline -opc)
end

# What fish offers for the command line behind "--".
function __elision_program
    set -l words (commandline -opc)
    set -l first (math (contains -i -- -- $words) + 1)
    complete -C (string join ' ' -- (string escape -- $words[$first..]) (commandline -ct))
end

# Offers the words for the end of a list with commas that does not have them.
function __elision_list
    set -l written (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    set -l before (string match -r '.*,' -- $written)
    for word in $argv
        contains -- $word (string split , -- "$before"); or echo "$before$word"
    end
end

complete -c elision -f
complete -c elision -n __elision_in_program -a '(__elision_program)'
)";

// In fish a backslash and a quote are special within single quotes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char character : text) {
    if (character == '\'' || character == '\\') result += '\\';
    result += character;
  }
  return result + "'";
}

// The words of `complete` that say what the value can be.
std::string offers(const ValueText& value) {
  const std::string words = fmt::format("{}", fmt::join(value.words, " "));
  if (value.is_list && !words.empty()) return fmt::format(" -x -a '(__elision_list {})'", words);
  std::string result = value.is_file ? " -r -F" : " -x";
  if (value.is_folder) result += " -a '(__fish_complete_directories)'";
  if (!words.empty()) result += fmt::format(" -a {}", quoted(words));
  return result;
}

std::string option_line(const VerbText& verb, const OptionText& option) {
  std::string line = fmt::format("complete -c elision -n '__elision_verb {}'", verb.name);
  if (option.is_positional)
    return line + (option.value.is_file ? " -F" : "") + " -a " +
           quoted(fmt::format("{}", fmt::join(option.value.words, " "))) + "\n";
  if (!option.short_name.empty()) line += " -s " + option.short_name.substr(1);
  line += " -l " + option.name.substr(2);
  if (!option.value.name.empty()) line += offers(option.value);
  return line + " -d " + quoted(option.help) + "\n";
}

std::string verb_lines(const VerbText& verb) {
  std::string lines = fmt::format("\ncomplete -c elision -n __elision_no_verb -a {} -d {}\n", verb.name,
                                  quoted(verb.summary));
  for (const OptionText& option : verb.options) lines += option_line(verb, option);
  if (verb.takes_program)
    lines += fmt::format(
        "complete -c elision -n '__elision_verb {}' -a -- -d 'the program and its arguments'\n", verb.name);
  return lines;
}

}  // namespace

std::string fish_completion(const CommandTexts& texts) {
  std::string text =
      std::string(
          "# SPDX-License-Identifier: Apache-2.0\n"
          "# Completion of elision for fish, written by elision_texts from the options of the command.\n\n") +
      kHelpers;
  std::string names;
  for (const VerbText& verb : texts.verbs) {
    text += verb_lines(verb);
    names += verb.name + " ";
  }
  text += "\ncomplete -c elision -n __elision_no_verb -a help -d 'explain a verb'\n";
  text += fmt::format("complete -c elision -n '__elision_verb help' -a '{}'\n",
                      names.substr(0, names.size() - 1));
  text += "complete -c elision -n __elision_no_verb -s h -l help -d 'list the verbs'\n";
  return text + "complete -c elision -n __elision_no_verb -l version -d 'tell the version'\n";
}

}  // namespace elision::cli
