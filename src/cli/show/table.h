// SPDX-License-Identifier: Apache-2.0
// A table, and the formats in which it is written. Cells are text from anywhere: each format escapes what
// would break it. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/host/console.h"

namespace elision::cli::experiment {

/// Stands for a value that does not exist.
inline constexpr const char* kNoValue = "-";

struct TableColumn {
  std::string heading;
  bool words = false;  // not numbers, which are aligned at the right
};

struct TableRow {
  std::vector<std::string> cells;  // by column; the rest may be missing
  std::string remark;              // in place of missing cells
  Tone tone = Tone::kPlain;        // kGood: the row is marked by a star
};

/// The first column names the row.
struct Table {
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
};

/// In columns, as wide as they must be. In a narrow terminal, columns without any value are left out, the
/// last column is broken into lines and, if that is not enough, the columns that do not fit follow below.
std::string table_text(const Table& table, const Appearance& appearance);

/// As GitHub's flavour of Markdown has it.
std::string table_markdown(const Table& table);

/// By RFC 4180, the headings first; UTF-8. A remark is not written.
std::string table_csv(const Table& table);

/// `text`, one line, with a backslash before everything that Markdown or HTML would take as markup.
std::string markdown_escaped(std::string_view text);

}  // namespace elision::cli::experiment
