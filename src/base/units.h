// SPDX-License-Identifier: Apache-2.0
// Strong types for the quantities whose mix-up would be a silent wrong result.
//
// Freestanding: no allocation, no library calls; usable in the engine's helpers and in the
// preload library.
#pragma once

#include <compare>
#include <cstdint>

namespace elision {

/// A number with a meaning. `Tag` makes two such numbers incompatible.
template <class Tag, class Rep = std::uint64_t>
struct Quantity {
  Rep value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep raw) : value(raw) {}

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
};

/// A point in, or a span of, one virtual machine's time, in core clock cycles since it started.
using Cycles = Quantity<struct CyclesTag>;
/// A virtual address in the guest; guest addresses are host addresses.
using GuestAddr = Quantity<struct GuestAddrTag>;
/// A cache line: a guest address divided by kLineBytes.
using LineAddr = Quantity<struct LineAddrTag>;
/// A logical processor of the virtual machine, counted from 0.
using CpuId = Quantity<struct CpuIdTag, std::uint32_t>;

inline constexpr std::uint64_t kLineBytes = 64;
inline constexpr unsigned kLineShift = 6;
inline constexpr Cycles kNever{~std::uint64_t{0}};

/// The line that holds `address`.
constexpr LineAddr line_of(GuestAddr address) { return LineAddr(address.value >> kLineShift); }
/// The first byte of `line`.
constexpr GuestAddr start_of(LineAddr line) { return GuestAddr(line.value << kLineShift); }

}  // namespace elision
