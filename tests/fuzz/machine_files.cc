// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a machine file. Bad files must be refused in one line. An accepted description must keep
// its fields' bounds, be the same after writing and reading it, accept each of its own values as a change,
// and have consistent variations.
#include <algorithm>
#include <cstring>

#include "fuzz.h"
#include "machine/description_fields.h"
#include "machine/description_toml.h"
#include "machine/variation.h"
#include "text_mutation.h"

namespace {

using namespace elision::machine;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void check_message(const std::string& message) {
  if (message.empty() || std::any_of(message.begin(), message.end(), is_control))
    fuzz::fail("not one line: " + message);
}

bool is_text(const Field& field) { return field.kind.index() >= 2; }

/// The value of `field` in `description`, as in a file.
std::string member_text(Description description, const Field& field) {
  if (const auto* number = std::get_if<NumberField>(&field.kind)) {
    const std::uint32_t value = number->member(description);
    if (value < number->least || value > number->most)
      fuzz::fail(std::string(field.name) + " is out of bounds");
    return number_text(*number, value);
  }
  if (const auto* flag = std::get_if<FlagField>(&field.kind))
    return flag->member(description) ? "true" : "false";
  if (const auto* text = std::get_if<TextField>(&field.kind)) return text->member(description);
  const auto& choice = std::get<ChoiceField>(field.kind);
  const std::uint8_t index = choice.member(description);
  if (index >= choice.words.size())
    fuzz::fail(std::string(field.name) + " has a value outside its list of words");
  return std::string(choice.words[index]);
}

/// Checks the description against the records.
void check_values(const Machine& machine) {
  if (inconsistency(machine.description) != nullptr) fuzz::fail("an inconsistent machine");
  const auto fields = description_fields();
  if (machine.values.size() != fields.size()) fuzz::fail("not every field has a record");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const ValueRecord& record = machine.values[i];
    if (record.field != fields[i].name) fuzz::fail("records out of order");
    if (record.best != member_text(machine.description, fields[i]))
      fuzz::fail(record.field + " differs from its record");
  }
}

std::string toml_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned char>(c));
    quoted += is_control(c) ? escaped : c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  }
  return quoted + '"';
}

std::string toml_of(const Machine& machine) {
  std::string text;
  for (std::size_t i = 0; i < machine.values.size(); ++i) {
    const Field& field = description_fields()[i];
    const ValueRecord& record = machine.values[i];
    const auto value = [&](const std::string& word) { return is_text(field) ? toml_string(word) : word; };
    const bool interval = field.kind.index() == 0;
    text += record.field + " = { " + (record.others.empty() ? "value" : "best") + " = " + value(record.best);
    if (!record.others.empty() && interval)
      text += ", low = " + record.others[0] + ", high = " + record.others[1];
    if (!record.others.empty() && !interval) {
      text += ", alternatives = [";
      for (const std::string& other : record.others) text += value(other) + ",";
      text += "]";
    }
    text += ", source = " + toml_string(record.source) + " }\n";
  }
  return text;
}

void check_same(const Machine& one, const Machine& other) {
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    const ValueRecord &a = one.values[i], &b = other.values[i];
    if (a.best != b.best || a.others != b.others || a.source != b.source)
      fuzz::fail(a.field + " is not read alike again");
  }
}

void check_changes(const Machine& machine) {
  for (const ValueRecord& record : machine.values) {
    const auto same = with_value(machine, record.field, record.best, "itself");
    if (!same) fuzz::fail("its own value is refused: " + same.error());
    check_values(*same);
  }
}

void check_variations(const Machine& machine, std::uint32_t number) {
  const auto variation = variation_of(machine, number);
  if (!variation) return check_message(variation.error());
  check_values(variation->machine);
}

void check_shown(const Machine& machine) {
  const std::string shown = render_machine(machine);
  const auto lines = static_cast<std::size_t>(std::count(shown.begin(), shown.end(), '\n'));
  if (lines != machine.values.size()) fuzz::fail("not one line a value:\n" + shown);
  if (std::any_of(shown.begin(), shown.end(), [](char c) { return c != '\n' && is_control(c); }))
    fuzz::fail("shown with control characters:\n" + shown);
}

}  // namespace

const fuzz::TextKind& fuzz::text_kind() {
  static const fuzz::TextKind kKind = [] {
    fuzz::TextKind kind{
        '\n', " \t=,[]{}\"'#", {"best", "value", "low",  "high",    "alternatives", "source",
                                "true", "false", "\"\"", "\"\\n\"", "\"\\u0000\"",  "\"\"\"",
                                "'''",  "1.5",   "nan",  "inf",     "0x10",         "1979-05-27T07:32:00Z",
                                "[]",   "{}",    "[[",   "]]",      "\\U0010FFFF"}};
    for (const Field& field : description_fields()) {
      kind.words.emplace_back(field.name);
      if (const auto* choice = std::get_if<ChoiceField>(&field.kind))
        kind.words.insert(kind.words.end(), choice->words.begin(), choice->words.end());
    }
    return kind;
  }();
  return kKind;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto machine = parse_machine(text, "input");
  if (!machine) {
    check_message(machine.error());
    if (machine.error().rfind("input: ", 0) != 0) fuzz::fail("the file is not named: " + machine.error());
    return 0;
  }
  ++fuzz::g_accepted;
  check_values(*machine);
  check_shown(*machine);
  const auto again = parse_machine(toml_of(*machine), "again");
  if (!again) fuzz::fail("refused when it is read again: " + again.error());
  check_values(*again);
  check_same(*machine, *again);
  check_changes(*machine);
  for (const std::uint32_t number : {0u, 1u, 2u}) check_variations(*machine, number);
  return 0;
}
