// SPDX-License-Identifier: Apache-2.0
// The list of all fields of a machine file: name, kind, bounds and member of Description. Loader, printer and
// overrides work from it. Hosted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "machine/description.h"

namespace elision::machine {

/// An integer within [least, most].
struct NumberField {
  std::uint32_t& (*member)(Description&);
  std::uint32_t least, most;
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

/// Checks that concern several fields (such as one latency below another) or a derived number (such as sets).
/// Null, or a message that begins with the name of the field at fault.
const char* inconsistency(const Description& description);

}  // namespace elision::machine
