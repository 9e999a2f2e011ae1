// SPDX-License-Identifier: Apache-2.0
// The counter region of this process (abi/counters.h). It is reserved once, in a file if a directory is
// given, else in anonymous memory. Its pages come into use as threads claim slots.
//
// Room for the header and the shared slot is reserved when the file is made, and room for each other slot
// when a thread claims it (shared_file.h). Without room, a thread uses the shared slot.
//
// If no address space is left, one static slot serves all threads.
#pragma once

#include "abi/counters.h"
#include "runtime/raw_output.h"

namespace elision::runtime {

class Region {
 public:
  /// Reserves the region. `directory` may be null. If the file cannot be made, the region is anonymous
  /// memory, and the directory gets a note (abi/counters.h).
  void open(const char* directory);
  /// In the child of a fork: a new region, with a file of its own, at the same addresses.
  void reopen_in_child(const char* directory);
  /// Fill the header, then publish(): readers ignore the file until then.
  abi::CountersHeader& header() { return *header_; }
  void publish();

  /// Claims a slot for the calling thread: the shared one if none is left (`shared` becomes true).
  abi::CounterSlot& claim_slot(std::uint32_t thread_id, bool& shared);
  abi::CounterSlot& shared_slot() { return slots_[0]; }
  std::uint32_t index_of(const abi::CounterSlot& slot) const {
    return static_cast<std::uint32_t>(&slot - slots_);
  }
  /// The file's number in the directory, or -1.
  long file_number() const { return file_.number; }
  /// Why a file could not be made; 0: there is one, or no directory was given.
  int file_error() const { return file_.error; }

  struct File {
    long number = -1;
    int error = 0;
  };

 private:
  bool has_room_for(std::uint32_t index);
  std::uint32_t slot_count() const { return __atomic_load_n(&slot_count_, __ATOMIC_RELAXED); }
  abi::CounterSlot* take_over_slot(std::uint32_t thread_id);

  abi::CountersHeader* header_ = nullptr;
  abi::CounterSlot* slots_ = nullptr;
  std::uint32_t slot_count_ = 1;
  std::uint32_t take_over_from_ = 1;
  File file_;
};

/// The path of a process's file with this number and extension in `directory`.
Line path_of_file(const char* directory, long number, const char* extension);

/// The entry of `lock` at `site` in a slot that the caller owns; entry 0 if there is no room.
abi::CounterEntry& entry_of(abi::CounterSlot& slot, const void* lock, const void* site);

}  // namespace elision::runtime
