// SPDX-License-Identifier: Apache-2.0
// Attributes of DWARF's dies, by libdw.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>

namespace elision::profile {

/// A number that `die` or the die that it completes has. Nothing: none is there.
inline std::optional<std::uint64_t> number_of(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr_integrate(&die, attribute, &found), &value) != 0) return std::nullopt;
  return value;
}

/// The die that an attribute of `die` itself refers to.
inline std::optional<Dwarf_Die> referred(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Die other;
  if (dwarf_formref_die(dwarf_attr(&die, attribute, &found), &other) == nullptr) return std::nullopt;
  return other;
}

/// The type of `die` or of the die that it completes.
inline std::optional<Dwarf_Die> type_of(Dwarf_Die& die) {
  Dwarf_Attribute found;
  Dwarf_Die type;
  if (dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &found), &type) == nullptr)
    return std::nullopt;
  return type;
}

}  // namespace elision::profile
