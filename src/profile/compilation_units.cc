// SPDX-License-Identifier: Apache-2.0
#include "profile/compilation_units.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace elision::profile {

CodeInUnit CompilationUnits::of(Dwfl_Module* module, std::uint64_t address) {
  if (module == nullptr) return {};
  Dwarf_Addr bias = 0;
  Dwarf_Die* const listed = dwfl_module_addrdie(module, address, &bias);
  // libdwfl takes the unit whose range begins last before the address, wherever that ends.
  if (listed != nullptr && dwarf_haspc(listed, address - bias) == 1) return {listed, address - bias};
  Dwarf* const debug_information = dwfl_module_getdwarf(module, &bias);
  if (debug_information == nullptr) return {};
  const Dwarf_Addr at = address - bias;
  auto [known, is_new] = ranges_.try_emplace(debug_information);
  Ranges& ranges = known->second;
  if (is_new) ranges = ranges_of(debug_information);
  const auto next = std::upper_bound(ranges.begin(), ranges.end(), at,
                                     [](Dwarf_Addr a, const Range& range) { return a < range.begin; });
  if (next != ranges.begin() && at < std::prev(next)->end) return {&std::prev(next)->unit, at};
  return {listed, at};  // a unit without ranges of its own
}

CompilationUnits::Ranges CompilationUnits::ranges_of(Dwarf* debug_information) {
  constexpr std::size_t kMostRanges = std::size_t{1} << 24;  // files may hold anything
  Ranges ranges;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(debug_information, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (std::ptrdiff_t at = 0;
         ranges.size() < kMostRanges && (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;)
      if (begin < end) ranges.push_back({begin, end, die});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  return ranges;
}

}  // namespace elision::profile
