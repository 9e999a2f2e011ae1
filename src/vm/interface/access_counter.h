// SPDX-License-Identifier: Apache-2.0
// Loads and stores as a CPU counts and records them: the precise events of Intel's parts (SDM volume 3B,
// chapter 20.3.8), whose samples have the address of an access. Freestanding, because translated code counts
// and the helpers record.
#pragma once

#include <cstdint>

namespace elision::vm {

/// What is counted: an instruction counts once, however many loads it makes. The values are bits of a mask.
enum CountedAccess : std::uint32_t { kCountedLoad = 1u << 0, kCountedStore = 1u << 1 };
inline constexpr unsigned kCountedAccesses = 2;

/// An access, at which a limit was reached.
struct AccessRecord {
  std::uint64_t pc = 0;       // its instruction
  std::uint64_t address = 0;  // of its first byte; 0: not known (gathers, bit strings)
};

/// The loads, or the stores, of one CPU while its code counts them.
struct AccessCounter {
  static constexpr std::int64_t kFar = std::int64_t{1} << 62;

  std::int64_t left = kFar;  // until an access is recorded. Code subtracts 1 for each
  std::uint64_t end = kFar;  // the count at which `left` is 0
  bool is_new = false;       // `record` has been written, and no one has read it
  AccessRecord record;

  std::uint64_t count() const { return end - static_cast<std::uint64_t>(left); }
  /// The access at which the count becomes `limit`, or one far away if that has passed, will be recorded.
  void record_at(std::uint64_t limit) {
    const std::uint64_t now = count();
    const std::uint64_t most = now + static_cast<std::uint64_t>(kFar);
    end = limit > now && limit < most ? limit : most;
    left = static_cast<std::int64_t>(end - now);
  }
};

}  // namespace elision::vm
