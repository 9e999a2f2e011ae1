// SPDX-License-Identifier: Apache-2.0
// The table for other programs.
#include <algorithm>

#include "base/printable.h"
#include "cli/show/table.h"

namespace elision::cli::experiment {
namespace {

std::string csv_field(std::string_view text) {
  const std::string field = valid_utf8(text);
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string csv_line(std::vector<std::string> cells, std::size_t columns) {
  cells.resize(columns);
  std::string line;
  for (std::size_t i = 0; i < columns; ++i) line += (i == 0 ? "" : ",") + csv_field(cells[i]);
  return line + "\r\n";
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

// The remark takes the first missing cell.
std::vector<std::string> markdown_cells(const TableRow& row, std::size_t columns) {
  std::vector<std::string> cells;
  for (const std::string& cell : row.cells) cells.push_back(markdown_escaped(cell));
  if (row.tone == Tone::kGood) cells[0] = "**" + cells[0] + "**";
  if (cells.size() < columns) cells.push_back(markdown_escaped(row.remark));
  cells.resize(columns);
  return cells;
}

}  // namespace

std::string markdown_escaped(std::string_view text) {
  const std::string shown = printable(text);
  std::string escaped;
  const std::size_t digits = std::min(shown.find_first_not_of("0123456789"), shown.size());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const char c = shown[i];
    const bool begins_block = (i == 0 && std::string_view("#+-=>~").find(c) != std::string_view::npos) ||
                              (i == digits && digits > 0 && (c == '.' || c == ')'));
    const bool alone = shown.size() == 1;
    if (std::string_view("\\`*_[]<>|&~$").find(c) != std::string_view::npos || (begins_block && !alone))
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string table_markdown(const Table& table) {
  std::vector<std::string> headings, rules;
  for (const TableColumn& column : table.columns) {
    headings.push_back(markdown_escaped(column.heading));
    rules.emplace_back(column.words ? "---" : "---:");
  }
  std::string text = markdown_line(headings) + markdown_line(rules);
  for (const TableRow& row : table.rows) text += markdown_line(markdown_cells(row, table.columns.size()));
  return text;
}

std::string table_csv(const Table& table) {
  const std::size_t columns = table.columns.size();
  std::vector<std::string> headings;
  for (const TableColumn& column : table.columns) headings.push_back(column.heading);
  std::string text = csv_line(headings, columns);
  for (const TableRow& row : table.rows) text += csv_line(row.cells, columns);
  return text;
}

}  // namespace elision::cli::experiment
