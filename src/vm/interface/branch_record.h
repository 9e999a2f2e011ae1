// SPDX-License-Identifier: Apache-2.0
// Taken branches as a CPU records them: the last branch records of Intel's parts (SDM volume 3B, chapter 18),
// which perf_event_open shows as branch stacks. Freestanding, because the helpers add records.
#pragma once

#include <cstdint>

namespace elision::vm {

/// What a branch is. The values are bits of a mask.
enum BranchKind : std::uint32_t {
  kDirectJump = 1u << 0,
  kConditionalJump = 1u << 1,
  kIndirectJump = 1u << 2,
  kDirectCall = 1u << 3,
  kIndirectCall = 1u << 4,
  kReturn = 1u << 5,
  kAbortOfTransaction = 1u << 6,  // from the instruction that was to be executed, to the fallback address
};

struct BranchRecord {
  std::uint64_t from = 0, to = 0;
  std::uint64_t kind = 0;            // a BranchKind
  std::uint64_t in_transaction = 0;  // 1 if the branch was executed in a transaction
};

/// The last records of one CPU. stubs.S adds to it.
struct BranchRing {
  static constexpr std::uint64_t kEntries = 32;

  std::uint64_t count = 0;  // of records since the ring was cleared
  std::uint32_t kinds = 0;  // that are recorded; 0: none
  BranchRecord entry[kEntries];

  void add(const BranchRecord& record) { entry[count++ % kEntries] = record; }
  void clear() { count = 0; }
  std::uint64_t size() const { return count < kEntries ? count : kEntries; }
  /// Returns the record before the `age` newest ones.
  const BranchRecord& newest(std::uint64_t age) const { return entry[(count - 1 - age) % kEntries]; }
};

}  // namespace elision::vm
