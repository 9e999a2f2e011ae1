// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/doctor/rows.h"
#include "cli/host/text_layout.h"

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

std::string table(const std::vector<Row>& rows, std::optional<std::size_t> width) {
  const std::size_t sections = widest(rows, &Row::section), names = widest(rows, &Row::name);
  std::string text, section;
  for (const Row& row : rows) {
    const bool next = row.section != section;
    section = row.section;
    const std::string first =
        fmt::format("  {:<{}}  {:<{}}  ", next ? section : "", sections, row.name, names);
    const std::string value = printable(row.value);
    text += row.meaning.empty() ? paragraph(first, value, width)
                                : paragraph(first + fmt::format("{:<{}}  ", value, kWidestValue),
                                            printable(row.meaning), width);
  }
  return text;
}

/// `remark` as a point of a list.
std::string point(const std::string& mark, const std::string& remark, std::optional<std::size_t> width) {
  const std::size_t columns = std::min(width.value_or(kLineWidth), kLineWidth);
  return paragraph("  " + mark + " ", printable(remark), columns);
}

}  // namespace

std::string verdict(const Diagnosis& diagnosis) {
  return fmt::format("Hardware transactions: {}, {}.", diagnosis.live ? "yes" : "no", diagnosis.sentence);
}

const char* heading_of_advice(const Diagnosis& diagnosis) {
  return diagnosis.live ? "What could be better:" : "What to change:";
}

std::string render(const Facts& facts, const Diagnosis& diagnosis, std::optional<std::size_t> width) {
  std::string text = paragraph("", printable(verdict(diagnosis)), width) + "\n";
  text += table(rows_of(facts, diagnosis), width);
  if (!diagnosis.notes.empty()) text += "\nNote:\n";
  for (const Remark& note : diagnosis.notes) text += point("-", note.text, width);
  if (diagnosis.advice.empty()) return text + "\nNothing to change.\n";
  text += fmt::format("\n{}\n", heading_of_advice(diagnosis));
  for (std::size_t i = 0; i < diagnosis.advice.size(); ++i)
    text += point(fmt::format("{}.", i + 1), diagnosis.advice[i].text, width);
  return text;
}

}  // namespace elision::cli::doctor
