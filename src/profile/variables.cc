// SPDX-License-Identifier: Apache-2.0
#include "profile/variables.h"

#include <dwarf.h>

#include <cctype>
#include <vector>

namespace elision::profile {
namespace {

// Files may hold anything.
constexpr std::size_t kMostDies = std::size_t{1} << 24;
constexpr unsigned kDeepest = 32;

bool has_type(Dwarf_Die& die, Dwarf_Die& type) {
  Dwarf_Attribute attribute;
  return dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &attribute), &type) != nullptr;
}

/// The type behind names and qualifiers; false: there is none.
bool strip(Dwarf_Die& type) {
  for (unsigned i = 0; i < kDeepest; ++i) switch (dwarf_tag(&type)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_atomic_type:
      case DW_TAG_restrict_type: {
        Dwarf_Die behind;
        if (!has_type(type, behind)) return false;
        type = behind;
        break;
      }
      default:
        return true;
    }
  return false;
}

std::uint64_t size_of(Dwarf_Die& type) {
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(&type, &size) == 0 ? size : 0;
}

/// A number that an attribute of `die` has; `missing`: it has none.
std::uint64_t number_of(Dwarf_Die& die, unsigned name, std::uint64_t missing) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_formudata(dwarf_attr_integrate(&die, name, &attribute), &value) == 0 ? value : missing;
}

/// Elements in each dimension of an array, the outermost first; 0: not known.
std::vector<std::uint64_t> dimensions_of(Dwarf_Die& array) {
  std::vector<std::uint64_t> dimensions;
  Dwarf_Die range;
  for (int end = dwarf_child(&array, &range); end == 0; end = dwarf_siblingof(&range, &range)) {
    if (dwarf_tag(&range) != DW_TAG_subrange_type) continue;
    const std::uint64_t last = number_of(range, DW_AT_upper_bound, ~std::uint64_t{0});
    dimensions.push_back(number_of(range, DW_AT_count, last + 1));
  }
  return dimensions;
}

/// "[2][5]". An outermost dimension may have any size.
std::string indices_of(std::uint64_t element, const std::vector<std::uint64_t>& dimensions) {
  std::string text;
  for (std::size_t i = dimensions.size(); i-- > 1;) {
    if (dimensions[i] == 0) return "";
    text = "[" + std::to_string(element % dimensions[i]) + "]" + text;
    element /= dimensions[i];
  }
  return "[" + std::to_string(element) + "]" + text;
}

bool is_reserved(const char* name) {
  return name[0] == '_' && (name[1] == '_' || std::isupper(static_cast<unsigned char>(name[1])) != 0);
}

/// Where a member begins, in bytes, if it is one of each object.
bool place_of(Dwarf_Die& member, bool in_union, std::uint64_t& begin) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  begin = number_of(member, DW_AT_data_member_location, kNone);
  if (begin != kNone) return true;
  const std::uint64_t bit = number_of(member, DW_AT_data_bit_offset, kNone);
  begin = bit != kNone ? bit / 8 : 0;
  Dwarf_Attribute attribute;
  return bit != kNone || (in_union && dwarf_attr(&member, DW_AT_declaration, &attribute) == nullptr);
}

/// The member or base of `type` at `offset`, which becomes that in it; false: none has that place.
bool member_at(Dwarf_Die& type, std::uint64_t& offset, Dwarf_Die& found) {
  const bool in_union = dwarf_tag(&type) == DW_TAG_union_type;
  // An empty base may lie where a member is.
  for (const int wanted : {DW_TAG_member, DW_TAG_inheritance})
    for (int end = dwarf_child(&type, &found); end == 0; end = dwarf_siblingof(&found, &found)) {
      std::uint64_t begin = 0;
      Dwarf_Die own;
      if (dwarf_tag(&found) != wanted || !place_of(found, in_union, begin) || !has_type(found, own)) continue;
      if (offset < begin || offset - begin >= size_of(own)) continue;
      offset -= begin;
      return true;
    }
  return false;
}

std::string part_of(Dwarf_Die type, std::uint64_t offset) {
  std::string text;
  for (unsigned depth = 0; depth < kDeepest && strip(type); ++depth) {
    Dwarf_Die inner;
    switch (dwarf_tag(&type)) {
      case DW_TAG_array_type: {
        const std::uint64_t size = has_type(type, inner) ? size_of(inner) : 0;
        const std::string indices = size != 0 ? indices_of(offset / size, dimensions_of(type)) : "";
        if (indices.empty()) return text;
        text += indices;
        offset %= size;
        break;
      }
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type: {
        Dwarf_Die member;
        if (!member_at(type, offset, member)) return text;
        const char* const name = dwarf_tag(&member) == DW_TAG_member ? dwarf_diename(&member) : nullptr;
        if (name != nullptr && is_reserved(name)) return text;
        if (name != nullptr) text += (text.empty() ? "" : ".") + std::string(name);
        if (!has_type(member, inner)) return text;
        break;
      }
      default:
        return text;
    }
    type = inner;
  }
  return text;
}

using Types = std::unordered_map<std::uint64_t, Dwarf_Die>;

/// Finds the variables that have an address.
class Finder {
 public:
  explicit Finder(Types& types) : types_(types) {}

  void look_in(Dwarf_Die& around, unsigned depth = 0) {
    Dwarf_Die die;
    for (int end = dwarf_child(&around, &die); end == 0 && dies_ < kMostDies;
         end = dwarf_siblingof(&die, &die)) {
      ++dies_;
      const int tag = dwarf_tag(&die);
      if (tag == DW_TAG_variable) add(die);
      if ((tag == DW_TAG_namespace || tag == DW_TAG_module) && depth < kDeepest) look_in(die, depth + 1);
    }
  }

 private:
  void add(Dwarf_Die& variable) {
    Dwarf_Attribute location;
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    Dwarf_Addr at = 0;
    Dwarf_Die type;
    if (dwarf_getlocation(dwarf_attr(&variable, DW_AT_location, &location), &operations, &count) == 0 &&
        count == 1 && address_in(location, operations[0], at) && has_type(variable, type))
      types_.emplace(at, type);
  }

  /// The address that an operation pushes, itself or by its number in the unit's table.
  static bool address_in(Dwarf_Attribute& location, const Dwarf_Op& operation, Dwarf_Addr& at) {
    at = operation.number;
    if (operation.atom == DW_OP_addr) return true;
    Dwarf_Attribute in_table;
    return (operation.atom == DW_OP_addrx || operation.atom == DW_OP_GNU_addr_index) &&
           dwarf_getlocation_attr(&location, &operation, &in_table) == 0 &&
           dwarf_formaddr(&in_table, &at) == 0;
  }

  Types& types_;
  std::size_t dies_ = 0;
};

}  // namespace

std::string Variables::part(Dwfl_Module* module, std::uint64_t address, std::uint64_t offset) {
  Dwarf_Addr bias = 0;
  Dwarf* const debug_information = module != nullptr ? dwfl_module_getdwarf(module, &bias) : nullptr;
  if (debug_information == nullptr) return "";
  const auto [known, is_new] = modules_.try_emplace(debug_information);
  if (is_new) {
    Finder finder(known->second);
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf_get_units(debug_information, unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
      finder.look_in(die);
  }
  const auto found = known->second.find(address - bias);
  return found != known->second.end() ? part_of(found->second, offset) : "";
}

}  // namespace elision::profile
