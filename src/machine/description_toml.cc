// SPDX-License-Identifier: Apache-2.0
#include "machine/description_toml.h"

#include <sys/stat.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/nearest.h"
#include "base/printable.h"
#include "machine/built_in.h"
#include "machine/description_fields.h"

namespace elision::machine {
namespace {

constexpr std::string_view kSourceKey = "source";

const Field* find_field(std::string_view name) {
  for (const Field& field : description_fields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const Field& field : description_fields()) names.emplace_back(field.name);
  return names;
}

/// Names and values from a file may hold anything; the message stays one line.
Error refusal(std::string_view message) { return Error{printable(message)}; }

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

/// Null if `text` is a value of `field`, and then stored in `description`; else what is wrong.
std::optional<std::string> store(Description& description, const Field& field, std::string_view text) {
  if (const auto* number = std::get_if<NumberField>(&field.kind)) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range ||
        (error == std::errc() && end == text.data() + text.size() &&
         (value < number->least || value > number->most))) {
      return "must lie between " + std::to_string(number->least) + " and " + std::to_string(number->most) +
             ", is " + std::string(text);
    }
    if (error != std::errc() || end != text.data() + text.size())
      return "must be an integer, is " + quoted(text);
    number->member(description) = static_cast<std::uint32_t>(value);
  } else if (const auto* flag = std::get_if<FlagField>(&field.kind)) {
    if (text != "true" && text != "false") return "must be true or false, is " + quoted(text);
    flag->member(description) = text == "true";
  } else if (const auto* string = std::get_if<TextField>(&field.kind)) {
    if (text.empty()) return "must not be empty";
    if (text != printable(text)) return "must not contain control characters";
    if (text.size() >= string->capacity) {
      return "must be at most " + std::to_string(string->capacity - 1) + " bytes long";
    }
    std::memset(string->member(description), 0, string->capacity);
    std::memcpy(string->member(description), text.data(), text.size());
  } else {
    const auto& choice = std::get<ChoiceField>(field.kind);
    const auto found = std::find(choice.words.begin(), choice.words.end(), text);
    if (found == choice.words.end()) {
      return "unknown value " + quoted(text) + "; did you mean " +
             quoted(nearest_name(text, {choice.words.begin(), choice.words.end()})) + "?";
    }
    choice.member(description) = static_cast<std::uint8_t>(found - choice.words.begin());
  }
  return std::nullopt;
}

/// What kind of TOML value `field` takes, for messages.
std::string_view expected_kind(const Field& field) {
  constexpr std::string_view kKinds[] = {"an integer", "true or false", "a string", "a string"};
  return kKinds[field.kind.index()];
}

std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a floating-point number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

/// Reads one file. Every member function returns what is wrong, or nothing.
class Reader {
 public:
  explicit Reader(std::string_view origin) : origin_(origin) {}

  Result<Machine> read(std::string_view text) {
    try {
      const toml::table root = toml::parse(text, origin_);
      if (auto problem = read_root(root)) return refusal(origin_ + ": " + *problem);
    } catch (const toml::parse_error& error) {
      std::ostringstream message;
      message << origin_ << ": line " << error.source().begin.line << ": " << error.description();
      return refusal(message.str());
    }
    if (const char* problem = inconsistency(machine_.description)) return refusal(origin_ + ": " + problem);
    return std::move(machine_);
  }

 private:
  using Problem = std::optional<std::string>;

  Problem read_root(const toml::table& root) {
    if (auto problem = check_names(root)) return problem;
    for (const Field& field : description_fields()) {
      if (auto problem = read_field(root, field)) return std::string(field.name) + ": " + *problem;
    }
    return std::nullopt;
  }

  /// Nothing in the file that is not a field, a table of fields or a source.
  static Problem check_names(const toml::table& root) {
    std::set<std::string, std::less<>> tables;
    for (const Field& field : description_fields()) {
      if (const auto dot = field.name.find('.'); dot != field.name.npos)
        tables.emplace(field.name.substr(0, dot));
    }
    for (const auto& [key, node] : root) {
      if (find_field(key.str())) continue;
      if (!tables.contains(key.str())) return unknown(std::string(key.str()));
      if (!node.is_table())
        return std::string(key.str()) + ": must be a table, is " + std::string(kind_of(node));
      for (const auto& [inner, value] : *node.as_table()) {
        const std::string name = std::string(key.str()) + '.' + std::string(inner.str());
        if (inner.str() == kSourceKey) {
          if (!value.is_string()) return name + ": must be a string, is " + std::string(kind_of(value));
        } else if (!find_field(name)) {
          return unknown(name);
        }
      }
    }
    return std::nullopt;
  }

  static std::string unknown(const std::string& name) {
    std::vector<std::string> valid = field_names();
    for (const std::string& field : field_names()) {
      if (const auto dot = field.find('.'); dot != field.npos) valid.push_back(field.substr(0, dot));
    }
    return name + ": unknown field; did you mean " + nearest_name(name, valid) + "?";
  }

  Problem read_field(const toml::table& root, const Field& field) {
    const toml::table* table = &root;
    std::string_view key = field.name;
    std::string table_source;
    if (const auto dot = key.find('.'); dot != key.npos) {
      table = root[key.substr(0, dot)].as_table();
      key = key.substr(dot + 1);
      if (!table) return "missing";
      table_source = (*table)[kSourceKey].value_or(std::string());
    }
    const toml::node* node = table->get(key);
    if (!node) return "missing";
    ValueRecord record{std::string(field.name), "", {}, table_source};
    if (auto problem = node->is_table() ? read_detailed(*node->as_table(), field, record)
                                        : read_text(*node, field, record.best)) {
      return problem;
    }
    if (record.source.empty() && field.name != "name") return "no source, neither here nor for its table";
    if (auto problem = store(machine_.description, field, record.best)) return problem;
    machine_.values.push_back(std::move(record));
    return std::nullopt;
  }

  /// { best or value, low and high or alternatives, source }
  static Problem read_detailed(const toml::table& table, const Field& field, ValueRecord& record) {
    static const std::vector<std::string> kKeys = {"best", "value", "low", "high", "alternatives", "source"};
    for (const auto& [key, node] : table) {
      if (std::find(kKeys.begin(), kKeys.end(), key.str()) == kKeys.end()) {
        return std::string(key.str()) + ": unknown key; did you mean " +
               nearest_name(std::string(key.str()), kKeys) + "?";
      }
    }
    const toml::node* best = table.get("best");
    const toml::node* value = table.get("value");
    if (!best == !value) return "must have either best or value";
    if (auto problem = read_text(best ? *best : *value, field, record.best)) return problem;
    if (const toml::node* source = table.get(kSourceKey)) {
      if (!source->is_string()) return "source: must be a string, is " + std::string(kind_of(*source));
      record.source = source->value_or(std::string());
    }
    if (value && table.size() > 1u + (table.contains(kSourceKey) ? 1u : 0u)) {
      return "value is for what is certain; use best beside low, high or alternatives";
    }
    return std::holds_alternative<NumberField>(field.kind) ? read_interval(table, field, record)
                                                           : read_alternatives(table, field, record);
  }

  static Problem read_interval(const toml::table& table, const Field& field, ValueRecord& record) {
    if (table.contains("alternatives")) return "alternatives are for words; a number has low and high";
    const toml::node* low = table.get("low");
    const toml::node* high = table.get("high");
    if (!low && !high) return std::nullopt;
    if (!low || !high) return "an interval needs both low and high";
    record.others.resize(2);
    if (auto problem = read_text(*low, field, record.others[0])) return "low: " + *problem;
    if (auto problem = read_text(*high, field, record.others[1])) return "high: " + *problem;
    Description scratch;
    for (const std::string& bound : record.others) {
      if (auto problem = store(scratch, field, bound)) return problem;
    }
    const auto number = [](const std::string& text) { return std::stoll(text); };
    if (number(record.others[0]) > number(record.best) || number(record.best) > number(record.others[1])) {
      return "best must lie between low and high";
    }
    return std::nullopt;
  }

  static Problem read_alternatives(const toml::table& table, const Field& field, ValueRecord& record) {
    if (table.contains("low") || table.contains("high")) return "low and high are for numbers";
    const toml::node* node = table.get("alternatives");
    if (!node) return std::nullopt;
    if (!node->is_array()) return "alternatives: must be an array, is " + std::string(kind_of(*node));
    Description scratch;
    for (const toml::node& alternative : *node->as_array()) {
      std::string& text = record.others.emplace_back();
      if (auto problem = read_text(alternative, field, text)) return "alternatives: " + *problem;
      if (auto problem = store(scratch, field, text)) return "alternatives: " + *problem;
    }
    return std::nullopt;
  }

  /// The value of `node` as text if its type is the one that `field` takes.
  static Problem read_text(const toml::node& node, const Field& field, std::string& text) {
    if (std::holds_alternative<NumberField>(field.kind)) {
      if (const auto* integer = node.as_integer()) return text = std::to_string(integer->get()), std::nullopt;
    } else if (std::holds_alternative<FlagField>(field.kind)) {
      if (const auto* flag = node.as_boolean()) return text = flag->get() ? "true" : "false", std::nullopt;
    } else if (const auto* string = node.as_string()) {
      return text = string->get(), std::nullopt;
    }
    return "must be " + std::string(expected_kind(field)) + ", is " + std::string(kind_of(node));
  }

  std::string origin_;
  Machine machine_;
};

// A stream reads a directory as if it were an empty file.
bool is_directory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<Machine> load_unchanged(std::string_view name_or_path) {
  const bool is_path = name_or_path.find('/') != name_or_path.npos || name_or_path.ends_with(".toml");
  if (!is_path) {
    for (const BuiltInMachine& machine : built_in_machine_files()) {
      if (machine.name == name_or_path)
        return parse_machine(machine.text, "machine " + std::string(machine.name));
    }
    return refusal("unknown machine " + quoted(name_or_path) + "; did you mean " +
                   quoted(nearest_name(name_or_path, built_in_machines())) +
                   "? (a file needs a slash or .toml in its name)");
  }
  std::ifstream file{std::string(name_or_path), std::ios::binary};
  std::ostringstream text;
  const bool read = file && !is_directory(std::string(name_or_path)) && !(text << file.rdbuf()).bad();
  if (!read) return refusal("cannot read machine file " + quoted(name_or_path));
  if (text.view().empty()) return refusal("machine file " + quoted(name_or_path) + " is empty");
  return parse_machine(text.view(), name_or_path);
}

}  // namespace

Result<Machine> parse_machine(std::string_view text, std::string_view origin) {
  return Reader(origin).read(text);
}

Result<Machine> with_values(Machine machine, std::span<const FieldValue> values, std::string_view source) {
  for (const auto& [name, value] : values) {
    const Field* field = find_field(name);
    if (!field) {
      return refusal(name + ": unknown field of a machine; did you mean " +
                     nearest_name(name, field_names()) + "?");
    }
    if (auto problem = store(machine.description, *field, value)) return refusal(name + ": " + *problem);
    for (ValueRecord& record : machine.values) {
      if (record.field == name) record = {name, value, {}, std::string(source)};
    }
  }
  if (const char* problem = inconsistency(machine.description)) return Error{problem};
  return machine;
}

Result<Machine> with_value(Machine machine, std::string_view name, std::string_view value,
                           std::string_view source) {
  const FieldValue one[] = {{std::string(name), std::string(value)}};
  return with_values(std::move(machine), one, source);
}

Result<Machine> load_machine(std::string_view specification) {
  const auto comma = std::min(specification.find(','), specification.size());
  Result<Machine> machine = load_unchanged(specification.substr(0, comma));
  std::string_view changes = specification.substr(comma);
  while (machine && !changes.empty()) {
    changes.remove_prefix(1);
    const std::string_view change = changes.substr(0, changes.find(','));
    changes.remove_prefix(change.size());
    const auto equals = change.find('=');
    if (equals == change.npos)
      return refusal("machine change " + quoted(change) + ": must be table.key=value");
    machine = with_value(std::move(machine.value()), change.substr(0, equals), change.substr(equals + 1),
                         "changed on request");
  }
  return machine;
}

std::vector<std::string> built_in_machines() {
  std::vector<std::string> names;
  for (const BuiltInMachine& machine : built_in_machine_files()) names.emplace_back(machine.name);
  return names;
}

std::string render_machine(const Machine& machine) {
  std::size_t widest_field = 0, widest_value = 0;
  std::vector<std::string> shown;
  for (const ValueRecord& record : machine.values) {
    std::string text = record.best;
    const Field* field = find_field(record.field);
    if (!record.others.empty() && field && std::holds_alternative<NumberField>(field->kind)) {
      text += " (" + record.others[0] + " to " + record.others[1] + ")";
    } else {
      for (const std::string& other : record.others) text += " (or " + other + ")";
    }
    widest_field = std::max(widest_field, record.field.size());
    if (text.size() <= 32) widest_value = std::max(widest_value, text.size());
    shown.push_back(std::move(text));
  }
  std::string result;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const ValueRecord& record = machine.values[i];
    std::string line = record.field + std::string(widest_field - record.field.size() + 2, ' ') + shown[i];
    if (!record.source.empty()) {
      const std::size_t column = widest_field + 2 + widest_value + 2;
      line += std::string(line.size() < column ? column - line.size() : 2, ' ') + printable(record.source);
    }
    result += line + '\n';
  }
  return result;
}

}  // namespace elision::machine
