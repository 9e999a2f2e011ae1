// SPDX-License-Identifier: Apache-2.0
// The list of all fields of a machine file: name, kind, bounds and member of Description. Loader, printer and
// overrides work from it. Hosted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "machine/description.h"

namespace elision::machine {

/// A number within [least, most] with at most `decimals` digits behind the point. The member and the bounds
/// are that number times 10 to the power of `decimals`.
struct NumberField {
  std::uint32_t& (*member)(Description&);
  std::uint32_t least, most;
  unsigned decimals = 0;
};
struct FlagField {
  bool& (*member)(Description&);
};
/// A text of at most capacity - 1 bytes.
struct TextField {
  char* (*member)(Description&);
  std::size_t capacity;
};
/// One of a few words; the member is an enumeration whose values count from 0 in the order of `words`.
struct ChoiceField {
  std::uint8_t& (*member)(Description&);
  std::span<const std::string_view> words;
};

struct Field {
  std::string_view name;  // table.key, as in the file
  std::variant<NumberField, FlagField, TextField, ChoiceField> kind;
};

/// Every field, in the order in which a machine is printed.
std::span<const Field> description_fields();

/// Parses `text` as a value of `field`, in the member's unit; the nearest 64-bit number if it is far out of
/// range. Nothing: it is no number or has too many decimals. `least` and `most` are the caller's to check.
std::optional<std::int64_t> parse_number(const NumberField& field, std::string_view text);
/// The text of a value that is given in the member's unit, without trailing zeros.
std::string number_text(const NumberField& field, std::int64_t value);

/// Checks that concern several fields (such as one latency below another) or a derived number (such as sets).
/// Null, or a message that begins with the name of the field at fault.
const char* inconsistency(const Description& description);

}  // namespace elision::machine
