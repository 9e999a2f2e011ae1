// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/doctor/rows.h"

namespace elision::cli::doctor {
namespace {

constexpr std::size_t kLineWidth = 100;
// A longer value pushes its own meaning to the right, not everybody's.
constexpr std::size_t kWidestValue = 14;

std::size_t widest(const std::vector<Row>& rows, std::string Row::*column) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, (row.*column).size());
  return width;
}

/// Names come from CPUID, files and the environment: a control character must not reach the terminal.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string table(const std::vector<Row>& rows) {
  const std::size_t sections = widest(rows, &Row::section), names = widest(rows, &Row::name);
  std::string text, section;
  for (const Row& row : rows) {
    const bool next = row.section != section;
    section = row.section;
    std::string line = fmt::format("  {:<{}}  {:<{}}  {:<{}}  {}", next ? section : "", sections, row.name,
                                   names, row.value, kWidestValue, row.meaning);
    line.erase(line.find_last_not_of(' ') + 1);
    text += printable(line) + "\n";
  }
  return text;
}

/// `remark` in lines of kLineWidth, as a point of a list.
std::string point(const std::string& mark, const std::string& remark) {
  std::istringstream words(remark);
  std::string text, line = "  " + mark;
  const std::string indent(line.size(), ' ');
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kLineWidth) {
      text += printable(line) + "\n";
      line = indent;
    }
    line += " " + word;
  }
  return text + printable(line) + "\n";
}

}  // namespace

std::string render(const Facts& facts, const Diagnosis& diagnosis) {
  std::string text = printable(fmt::format("Hardware transactions: {}, {}.", diagnosis.live ? "yes" : "no",
                                           diagnosis.sentence)) +
                     "\n\n";
  text += table(rows_of(facts, diagnosis));
  if (!diagnosis.notes.empty()) text += "\nNote:\n";
  for (const Remark& note : diagnosis.notes) text += point("-", note.text);
  if (diagnosis.advice.empty()) return text + "\nNothing to change.\n";
  text += diagnosis.live ? "\nWhat could be better:\n" : "\nWhat to change:\n";
  for (std::size_t i = 0; i < diagnosis.advice.size(); ++i)
    text += point(fmt::format("{}.", i + 1), diagnosis.advice[i].text);
  return text;
}

}  // namespace elision::cli::doctor
