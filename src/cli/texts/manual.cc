// SPDX-License-Identifier: Apache-2.0
#include "cli/texts/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace elision::cli {
namespace {

// Text that man(7) shows as it is: hyphens that can be copied, and no macro at the start of a line.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char character : text) {
    const bool starts_line = result.empty() || result.back() == '\n';
    if (starts_line && (character == '.' || character == '\'')) result += "\\&";
    if (character == '\\') {
      result += "\\e";
    } else if (character == '-') {
      result += "\\-";
    } else {
      result += character;
    }
  }
  return result;
}

enum class Kind { kLiteral, kReplaceable, kOther };

Kind kind_of(char character) {
  if (std::islower(static_cast<unsigned char>(character)) != 0 || character == '-') return Kind::kLiteral;
  return std::isupper(static_cast<unsigned char>(character)) != 0 ? Kind::kReplaceable : Kind::kOther;
}

// A synopsis or an option: what is typed as it stands is bold, what the user replaces is italic.
std::string marked(const std::string& words) {
  std::string result;
  for (auto begin = words.begin(); begin != words.end();) {
    const Kind kind = kind_of(*begin);
    const auto end =
        std::find_if(begin, words.end(), [kind](char character) { return kind_of(character) != kind; });
    const std::string part(begin, end);
    const char* const font = kind == Kind::kLiteral ? "\\fB" : "\\fI";
    result += kind == Kind::kOther ? part : font + escaped(part) + "\\fR";
    begin = end;
  }
  return result;
}

std::string head(const CommandTexts& texts, const std::string& page, const std::string& summary) {
  std::string title = page;
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(
      ".\\\" SPDX-License-Identifier: Apache-2.0\n"
      ".\\\" Written by elision_texts from the options of the command.\n"
      ".TH {} 1 {} \"elision {}\" \"User Commands\"\n.ad l\n.nh\n.SH NAME\n{} \\- {}\n",
      title, texts.date, texts.version, escaped(page), escaped(summary));
}

std::string paragraphs(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += ".PP\n" + escaped(text) + "\n";
  return result;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return ".TP\n" + tag + "\n" + escaped(text) + "\n";
}

std::string option_entry(const OptionText& option) {
  std::string tag = option.is_positional ? marked(option.value.name) : marked(option.name);
  if (!option.short_name.empty()) tag = marked(option.short_name) + ", " + tag;
  if (!option.is_positional && !option.value.name.empty()) tag += " " + marked(option.value.name);
  return tagged(tag, option.help + (option.condition.empty() ? "" : "; " + option.condition));
}

std::string exit_codes(const ManualWords& words) {
  std::string result = ".SH EXIT STATUS\n";
  for (const ExitCodeText& code : words.exit_codes)
    result += tagged("\\fB" + code.code + "\\fR", code.meaning);
  return result;
}

std::string examples(const ManualWords& words) {
  std::vector<std::string> blocks;
  for (const ExampleText& example : words.examples) {
    blocks.push_back(fmt::format("{}\n.PP\n.RS 4\n.EX\n{}\n.EE\n.RE\n", escaped(example.purpose),
                                 escaped(example.command)));
  }
  return fmt::format(".SH EXAMPLES\n{}", fmt::join(blocks, ".PP\n"));
}

// All pages but the one called `page`.
std::string see_also(const CommandTexts& texts, const std::string& page) {
  std::vector<std::string> names = {"elision"};
  for (const VerbText& verb : texts.verbs) names.push_back("elision-" + verb.name);
  names.erase(std::remove(names.begin(), names.end(), page), names.end());
  std::sort(names.begin(), names.end());
  std::vector<std::string> lines;
  for (const std::string& name : names) lines.push_back(".BR " + escaped(name) + " (1)");
  return fmt::format(".SH SEE ALSO\n{}\n", fmt::join(lines, ",\n"));
}

}  // namespace

std::string manual_of_verb(const CommandTexts& texts, const VerbText& verb) {
  const std::string page = "elision-" + verb.name;
  std::string text = head(texts, page, verb.summary);
  text += ".SH SYNOPSIS\n" + marked(verb.usage) + "\n";
  text += ".SH DESCRIPTION\n" + escaped(verb.description) + "\n" + paragraphs(verb.manual.paragraphs);
  text += ".SH OPTIONS\n";
  for (const OptionText& option : verb.options) text += option_entry(option);
  return text + exit_codes(verb.manual) + examples(verb.manual) + see_also(texts, page);
}

std::string manual_of_command(const CommandTexts& texts) {
  std::string text = head(texts, "elision", "find the best lock design for a program");
  text += ".SH SYNOPSIS\n" + marked("elision VERB [OPTION...] [-- PROGRAM ARG...]") + "\n.br\n" +
          marked("elision help VERB") + "\n.br\n" + marked("elision --version") + "\n";
  text += ".SH DESCRIPTION\n";
  text += paragraphs(texts.manual.paragraphs).substr(std::string(".PP\n").size());
  text += ".SH VERBS\n";
  for (const VerbText& verb : texts.verbs)
    text += tagged(fmt::format("\\fB{}\\fR", escaped(verb.name)), verb.summary);
  text += tagged("\\fBhelp\\fR", "explain a verb");
  text += exit_codes(texts.manual) + ".SH ENVIRONMENT\n";
  for (const VariableText& variable : texts.manual.variables)
    text += tagged(fmt::format("\\fB{}\\fR", escaped(variable.name)), variable.meaning);
  return text + examples(texts.manual) + see_also(texts, "elision");
}

}  // namespace elision::cli
