// SPDX-License-Identifier: Apache-2.0
// Loads machine files. Hosted; called by the command line and at the engine's start.
//
// A value is a number, word or truth value, with the source of its table (`source = "..."`), or a table of
// its own:
//   latency_ns = { best = 24.3, low = 14.7, high = 25.7, source = "..." }   an uncertain number
//   frequency_mhz = { value = 2300, source = "..." }                       a certain one
//   aborted_lines  = { best = "l1", alternatives = ["l2", "lost"], source = "..." }
// A file must have every field, each with a source, and no others. An error is one line that names the file,
// the field and, for an unknown name, the nearest valid one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/description.h"

namespace elision::machine {

/// One value as text, as the file has it.
struct ValueRecord {
  std::string field;  // table.key
  std::string best;
  /// Low and high of an interval, or the alternatives of a word; empty if the value is certain.
  std::vector<std::string> others;
  std::string source;
};

struct Machine {
  Description description;
  std::vector<ValueRecord> values;  // in the order of description_fields()
};

/// Loads a machine by `specification`: a built-in name or a path (with a slash or the ending .toml),
/// optionally followed by changes to single fields, each as ",table.key=value".
Result<Machine> load_machine(std::string_view specification);

/// Parses the text of a machine file; `origin` names it in errors.
Result<Machine> parse_machine(std::string_view text, std::string_view origin);

struct FieldValue {
  std::string field;  // table.key
  std::string value;
};

/// Sets fields of `machine`, which are then certain, with `source` as their source. Only the result must be
/// consistent, not each step.
Result<Machine> with_values(Machine machine, std::span<const FieldValue> values, std::string_view source);

/// Sets one field of `machine` to `value` and records `source` as its source.
Result<Machine> with_value(Machine machine, std::string_view field, std::string_view value,
                           std::string_view source);

/// Names of the machines that are built in, sorted.
std::vector<std::string> built_in_machines();

/// Every value with its interval and source, one a line, for `elision machines NAME`.
std::string render_machine(const Machine& machine);

}  // namespace elision::machine
