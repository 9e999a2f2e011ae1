// SPDX-License-Identifier: Apache-2.0
// Where the guest's memory lies. Guest and engine share one address space.
//
// The layout is decided here and by the seed alone, so that it repeats whatever the host's ASLR does:
//   0x00400000 ...               a program that is not position-independent, at its own addresses
//   0x10000000 + seeded pages    a position-independent program, then its brk heap
//   0x20000000 .. 0x6fffffff     libraries and mappings below 64 MB, lowest free address first
//   0x70000000 .. 0x7effffff     the engine's code cache: no guest mapping, ever
//   0x7e8100000000 ..            larger mappings, and smaller ones when the low region is full
//   below 0x7ef000000000         the initial stack
//   0x110000000000 ..            mappings for which there is room nowhere else
// The engine's other memory lies where native programs have theirs (engine_layout.h). So every address here
// is one that the sanitizers leave to the program: AddressSanitizer's shadow begins at 0x7fff7000 and ends at
// 0x10007fff7fff, ThreadSanitizer wants programs below 0x8000000000 or above 0x7e8000000000, MemorySanitizer
// below 0x10000000000 or above 0x740000000000.
#pragma once

#include <cstdint>

namespace elision::vm {

inline constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t page_down(std::uint64_t address) { return address & ~(kPageBytes - 1); }
constexpr std::uint64_t page_up(std::uint64_t address) { return page_down(address + kPageBytes - 1); }

inline constexpr std::uint64_t kProgramBase = 0x10000000;
inline constexpr std::uint64_t kLowBegin = 0x20000000;
inline constexpr std::uint64_t kLowEnd = 0x70000000;
inline constexpr std::uint64_t kCodeCacheBegin = kLowEnd;
inline constexpr std::uint64_t kCodeCacheEnd = 0x7f000000;
inline constexpr std::uint64_t kLargeBegin = 0x7e8100000000;
inline constexpr std::uint64_t kLargeEnd = 0x7ee000000000;
inline constexpr std::uint64_t kStackTop = 0x7ef000000000;
inline constexpr std::uint64_t kVastBegin = 0x110000000000;
inline constexpr std::uint64_t kVastEnd = 0x500000000000;
inline constexpr std::uint64_t kLargeBytes = 64ull << 20;
/// End of the addresses that a program can name.
inline constexpr std::uint64_t kUserAddressEnd = 1ull << 47;
inline constexpr std::uint64_t kAddressLimit = 0x7ffffffff000;

}  // namespace elision::vm
