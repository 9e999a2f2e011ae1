// SPDX-License-Identifier: Apache-2.0
// The counter region of this process (abi/counters.h): reserved once, in a file if a directory was
// given, else in anonymous memory; pages appear as threads claim slots.
//
// If not even the address space can be had, one static slot serves all threads.
#pragma once

#include "abi/counters.h"

namespace elision::runtime {

class Region {
 public:
  /// Reserves the region. `directory` may be null; a file that cannot be made means anonymous memory.
  void open(const char* directory);
  /// In the child of a fork: a new region, with a file of its own, at the same addresses.
  void reopen_in_child(const char* directory);
  /// The header may be filled, then published: readers ignore a file until then.
  abi::CountersHeader& header() { return *header_; }
  void publish();

  /// Claims a slot for the calling thread. If none is left, the shared one (`shared` becomes true).
  abi::CounterSlot& claim_slot(std::uint32_t thread_id, bool& shared);
  abi::CounterSlot& shared_slot() { return slots_[0]; }
  /// The file's number in the directory, or -1.
  long file_number() const { return file_number_; }

 private:
  abi::CounterSlot* take_over_slot(std::uint32_t thread_id);

  abi::CountersHeader* header_ = nullptr;
  abi::CounterSlot* slots_ = nullptr;
  std::uint32_t slot_count_ = 1;
  std::uint32_t take_over_from_ = 1;
  long file_number_ = -1;
};

/// The entry of `lock` at `site` in a slot that the caller owns; entry 0 if there is no room.
abi::CounterEntry& entry_of(abi::CounterSlot& slot, const void* lock, const void* site);

}  // namespace elision::runtime
