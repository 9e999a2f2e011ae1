// SPDX-License-Identifier: Apache-2.0
// The table on a terminal.
#include <algorithm>
#include <numeric>

#include "base/printable.h"
#include "cli/host/text_layout.h"
#include "cli/show/table.h"

namespace elision::cli::experiment {
namespace {

using Columns = std::vector<std::size_t>;  // numbers of columns, in order

constexpr std::size_t kMarkWidth = 2;
constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowestWords = 24;  // a last column that is broken into lines

class TextTable {
 public:
  TextTable(const Table& table, const Appearance& appearance)
      : table_(table), appearance_(appearance), heading_(headings(table)) {
    for (std::size_t column = 0; column < table.columns.size(); ++column)
      widths_.push_back(natural_width(column));
    if (!appearance.width) return;
    constexpr std::size_t kNamesShare = 3;
    widths_[0] = std::min(widths_[0], std::max(kNarrowestWords, *appearance.width / kNamesShare));
  }

  std::string text() {
    Columns all(table_.columns.size());
    std::iota(all.begin(), all.end(), 0);
    if (fits(all)) return part(all, true);
    std::erase_if(all, [this](std::size_t column) { return is_empty(column); });
    if (narrow_last(all)) return part(all, true);
    std::string text;
    std::size_t next = 1;
    do {
      Columns some = {0};
      while (next < all.size() && (some.size() == 1 || fits(with(some, all[next]))))
        some.push_back(all[next++]);
      if (next + 1 == all.size() && narrow_last(with(some, all[next]))) some.push_back(all[next++]);
      if (next == all.size()) narrow_last(some);
      text += part(some, text.empty());
    } while (next < all.size());
    return text;
  }

 private:
  static TableRow headings(const Table& table) {
    TableRow row;
    for (const TableColumn& column : table.columns) row.cells.push_back(column.heading);
    return row;
  }

  static Columns with(Columns columns, std::size_t next) {
    columns.push_back(next);
    return columns;
  }

  std::size_t natural_width(std::size_t column) const {
    std::size_t width = display_width(heading_.cells[column]);
    for (const TableRow& row : table_.rows) {
      if (column < row.cells.size()) width = std::max(width, display_width(printable(row.cells[column])));
    }
    return width;
  }

  bool is_empty(std::size_t column) const {
    return column != 0 && std::all_of(table_.rows.begin(), table_.rows.end(), [column](const TableRow& row) {
             return column >= row.cells.size() || row.cells[column] == kNoValue;
           });
  }

  std::size_t width_of(const Columns& columns) const {
    std::size_t width = kMarkWidth + kGap * (columns.size() - 1);
    for (const std::size_t column : columns) width += widths_[column];
    return width;
  }

  bool fits(const Columns& columns) const {
    return !appearance_.width || width_of(columns) <= *appearance_.width;
  }

  // Takes from a last column of words what is too much. False if it does not have enough.
  bool narrow_last(const Columns& columns) {
    if (fits(columns)) return true;
    const std::size_t last = columns.back(), surplus = width_of(columns) - *appearance_.width;
    if (!table_.columns[last].words || widths_[last] < surplus + kNarrowestWords) return false;
    widths_[last] -= surplus;
    return true;
  }

  std::string cell(const TableRow& row, std::size_t column) const {
    const std::string text = printable(row.cells[column]);
    return column == 0 ? shortened(text, widths_[0]) : text;
  }

  // The marked name, then the other cells but the last one, aligned; then the last one in as many lines as it
  // needs.
  std::string line(const TableRow& row, const Columns& columns) const {
    std::string text = row.tone == Tone::kGood ? "* " : "  ";
    for (std::size_t i = 0; i + 1 < columns.size(); ++i) text += aligned(row, columns[i]) + "  ";
    const std::size_t last = columns.back();
    const bool broken = table_.columns[last].words && last != 0;
    if (!broken) return toned_name(text + aligned(row, last), row) + "\n";
    return toned_name(paragraph(text, cell(row, last), appearance_.width), row);
  }

  std::string aligned(const TableRow& row, std::size_t column) const {
    return table_.columns[column].words ? padded_right(cell(row, column), widths_[column])
                                        : padded_left(cell(row, column), widths_[column]);
  }

  // Colours do not count as width, so they come last.
  std::string toned_name(std::string text, const TableRow& row) const {
    text.erase(text.find_last_not_of(' ') + 1);
    const std::size_t end = text.find(cell(row, 0)) + cell(row, 0).size();
    return row.tone == Tone::kPlain ? text
                                    : toned(text.substr(0, end), row.tone, appearance_) + text.substr(end);
  }

  std::string remark(const TableRow& row) const {
    const std::string first = "  " + padded_right(cell(row, 0), widths_[0]) + "  ";
    std::string text = paragraph(first, printable(row.remark), appearance_.width);
    const std::string words = text.substr(first.size(), text.size() - first.size() - 1);
    return first + toned(words, row.tone, appearance_) + "\n";
  }

  std::string part(const Columns& columns, bool with_remarks) const {
    std::string text = line(heading_, columns);
    for (const TableRow& row : table_.rows) {
      if (row.cells.size() == table_.columns.size()) {
        text += line(row, columns);
      } else if (with_remarks) {
        text += remark(row);
      }
    }
    return text;
  }

  const Table& table_;
  const Appearance& appearance_;
  const TableRow heading_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::string table_text(const Table& table, const Appearance& appearance) {
  return TextTable(table, appearance).text();
}

}  // namespace elision::cli::experiment
