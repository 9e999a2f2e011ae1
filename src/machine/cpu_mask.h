// SPDX-License-Identifier: Apache-2.0
// A set of CPUs. Freestanding.
#pragma once

#include <bit>
#include <cstdint>

#include "machine/description.h"

namespace elision::machine {

class CpuMask {
 public:
  constexpr CpuMask() = default;
  constexpr CpuMask(std::uint64_t low, std::uint64_t high) : word_{low, high} {}
  static constexpr CpuMask of(unsigned cpu) {
    CpuMask mask;
    mask.set(cpu);
    return mask;
  }

  constexpr void set(unsigned cpu) { word_[cpu >> 6] |= std::uint64_t{1} << (cpu & 63); }
  constexpr void clear(unsigned cpu) { word_[cpu >> 6] &= ~(std::uint64_t{1} << (cpu & 63)); }
  constexpr bool has(unsigned cpu) const { return (word_[cpu >> 6] >> (cpu & 63)) & 1; }
  constexpr bool empty() const { return (word_[0] | word_[1]) == 0; }
  constexpr std::uint64_t low() const { return word_[0]; }
  constexpr std::uint64_t high() const { return word_[1]; }
  constexpr CpuMask without(unsigned cpu) const {
    CpuMask rest = *this;
    rest.clear(cpu);
    return rest;
  }
  constexpr bool intersects(const CpuMask& other) const {
    return ((word_[0] & other.word_[0]) | (word_[1] & other.word_[1])) != 0;
  }
  friend constexpr bool operator==(const CpuMask&, const CpuMask&) = default;

  /// The lowest CPU in the set; requires !empty().
  constexpr unsigned first() const {
    return word_[0] != 0 ? static_cast<unsigned>(std::countr_zero(word_[0]))
                         : 64 + static_cast<unsigned>(std::countr_zero(word_[1]));
  }

 private:
  std::uint64_t word_[kMaxCpus / 64] = {};
};

}  // namespace elision::machine
