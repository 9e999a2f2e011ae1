// SPDX-License-Identifier: Apache-2.0
#include "profile/variables.h"

#include <cctype>
#include <optional>
#include <vector>

#include "profile/dwarf_attributes.h"

namespace elision::profile {
namespace {

// Files may hold anything.
constexpr std::size_t kMostDies = std::size_t{1} << 24;
constexpr unsigned kDeepest = 32;

bool is_typedef_or_qualifier(int tag) {
  return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
         tag == DW_TAG_atomic_type || tag == DW_TAG_restrict_type;
}

/// Replaces typedefs and qualified types by the type that they are made of. Returns false if that is void.
bool strip(Dwarf_Die& type) {
  for (unsigned i = 0; i < kDeepest; ++i) {
    if (!is_typedef_or_qualifier(dwarf_tag(&type))) return true;
    const auto inner = type_of(type);
    if (!inner) return false;
    type = *inner;
  }
  return false;
}

std::uint64_t size_of(Dwarf_Die& type) {
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(&type, &size) == 0 ? size : 0;
}

/// Elements in each dimension of an array, the outermost first; 0: not known.
std::vector<std::uint64_t> dimensions_of(Dwarf_Die& array) {
  std::vector<std::uint64_t> dimensions;
  Dwarf_Die range;
  for (int end = dwarf_child(&array, &range); end == 0; end = dwarf_siblingof(&range, &range)) {
    if (dwarf_tag(&range) != DW_TAG_subrange_type) continue;
    const auto count = number_of(range, DW_AT_count), last = number_of(range, DW_AT_upper_bound);
    dimensions.push_back(count ? *count : last ? *last + 1 : 0);
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

bool is_class(Dwarf_Die& type) {
  const int tag = dwarf_tag(&type);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

struct Span {
  std::uint64_t begin = 0, end = 0;  // bytes in the object
};

/// Where a member or base lies, if it is one of each object.
std::optional<Span> span_of(Dwarf_Die& member, bool in_union) {
  auto type = type_of(member);
  if (!type || !strip(*type)) return std::nullopt;
  const auto bits = number_of(member, DW_AT_bit_size), first = number_of(member, DW_AT_data_bit_offset);
  if (bits) {  // older compilers say where a bit-field lies in another way
    if (!first) return std::nullopt;
    return Span{*first / 8, (*first + *bits + 7) / 8};
  }
  Dwarf_Attribute found;
  const bool is_one = in_union && dwarf_attr(&member, DW_AT_declaration, &found) == nullptr;
  const auto begin = first ? std::optional(*first / 8) : number_of(member, DW_AT_data_member_location);
  if (!begin && !is_one) return std::nullopt;
  return Span{begin.value_or(0), begin.value_or(0) + size_of(*type)};
}

/// A class without data has a byte, which others may use.
bool is_empty(Dwarf_Die& type, unsigned depth = 0) {
  Dwarf_Die member;
  if (!is_class(type) || depth == kDeepest) return false;
  const bool is_union = dwarf_tag(&type) == DW_TAG_union_type;
  for (int end = dwarf_child(&type, &member); end == 0; end = dwarf_siblingof(&member, &member)) {
    const int tag = dwarf_tag(&member);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    auto own = type_of(member);
    if (span_of(member, is_union) && own && strip(*own) && !is_empty(*own, depth + 1)) return false;
  }
  return true;
}

/// The member or base of `type` at `offset`, which becomes that in it. Nothing: none has that place, or
/// several have.
std::optional<Dwarf_Die> member_at(Dwarf_Die& type, std::uint64_t& offset) {
  const bool in_union = dwarf_tag(&type) == DW_TAG_union_type;
  std::optional<Dwarf_Die> found;
  std::uint64_t begin = 0;
  Dwarf_Die member;
  for (int end = dwarf_child(&type, &member); end == 0; end = dwarf_siblingof(&member, &member)) {
    const int tag = dwarf_tag(&member);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    const auto span = span_of(member, in_union);
    if (!span || offset < span->begin || offset >= span->end) continue;
    auto own = type_of(member);
    if (own && strip(*own) && is_empty(*own)) continue;
    if (found) return std::nullopt;
    found = member;
    begin = span->begin;
  }
  if (found) offset -= begin;
  return found;
}

std::string part_of(Dwarf_Die type, std::uint64_t offset) {
  std::string text;
  for (unsigned depth = 0; depth < kDeepest && strip(type); ++depth) {
    std::optional<Dwarf_Die> inner;
    if (dwarf_tag(&type) == DW_TAG_array_type) {
      inner = type_of(type);
      const std::uint64_t size = inner ? size_of(*inner) : 0;
      const std::string indices = size != 0 ? indices_of(offset / size, dimensions_of(type)) : "";
      if (indices.empty()) return text;
      text += indices;
      offset %= size;
    } else if (is_class(type)) {
      std::optional<Dwarf_Die> member = member_at(type, offset);
      if (!member) return text;
      const char* const name = dwarf_tag(&*member) == DW_TAG_member ? dwarf_diename(&*member) : nullptr;
      if (name != nullptr && is_reserved(name)) return text;
      if (name != nullptr) text += (text.empty() ? "" : ".") + std::string(name);
      inner = type_of(*member);
    }
    if (!inner) return text;
    type = *inner;
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
    if (dwarf_getlocation(dwarf_attr(&variable, DW_AT_location, &location), &operations, &count) != 0 ||
        count != 1 || !address_in(location, operations[0], at))
      return;
    if (const auto type = type_of(variable)) types_.emplace(at, *type);
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
    Dwarf_Die die, split;
    while (dwarf_get_units(debug_information, unit, &unit, nullptr, nullptr, &die, &split) == 0)
      finder.look_in(split.addr != nullptr ? split : die);  // what is in a file of its own
  }
  const auto found = known->second.find(address - bias);
  return found != known->second.end() ? part_of(found->second, offset) : "";
}

}  // namespace elision::profile
