// SPDX-License-Identifier: Apache-2.0
// The open events of all processes of one run, in shared memory that children inherit and that survives
// execve: an event that one process has opened counts in others. Behind the slots the file has a place for
// the ring buffer of each event, which programs map.
//
// Processes run at the same time. Counts are atomic; the rest of a slot is written before it is open, or by
// the process that opened it. Who writes into a ring holds its lock.
#pragma once

#include <linux/perf_event.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "vm/linux/events/event_kinds.h"

namespace elision::vm {

inline constexpr int kNoEvent = -1;

struct EventSlot {
  enum State : int { kFree, kTaken, kOpen, kClosed };

  std::atomic<int> state;
  std::atomic<std::uint64_t> id;     // PERF_EVENT_IOC_ID
  std::atomic<std::uint64_t> inode;  // of its descriptor
  int opener;                        // host number of the process
  int write_end;                     // the other end of the descriptor's pipe, there
  int process;                       // that it counts: host number
  int thread;                        // its number in the guest
  int cpu;                           // -1: any
  int leader;                        // of its group: a slot, perhaps this one
  std::uint64_t leader_id;
  EventKind kind;
  perf_event_attr attr;

  std::atomic<bool> adopted;       // by the process that it counts
  std::atomic<bool> target_ended;  // the thread has ended
  std::atomic<bool> enabled;
  std::atomic<std::uint64_t> count, time_enabled, time_running, lost;
  std::atomic<std::uint64_t> period;         // a frequency changes it
  std::atomic<std::int64_t> overflows_left;  // PERF_EVENT_IOC_REFRESH; 0: any number

  // Signals of its descriptor (fcntl), to the process that it counts.
  std::atomic<bool> signals;
  std::atomic<int> signal;        // 0: SIGIO without details
  std::atomic<int> signal_owner;  // a thread's number, or, negative, a process's
  std::atomic<int> descriptor;    // which the signal names
  std::atomic<bool> ready;        // the pipe holds a byte

  std::atomic<std::uint64_t> output_id;
  std::atomic<int> output;                // the slot into whose ring it writes
  std::atomic<std::uint64_t> ring_pages;  // of data; 0 with `ring_mapped`: only the first page
  std::atomic<bool> ring_mapped;
  std::atomic<bool> ring_overwrites;  // mapped read-only: the reader sets no tail
  std::atomic<int> ring_lock;
  std::uint64_t wakeup_at;       // by bytes: the head of the last wake-up
  std::uint32_t events_to_wake;  // since it, by number
  std::uint64_t lost_before;     // records that have not been reported as lost
};

class EventBoard {
 public:
  static constexpr int kSlots = 4096;
  static constexpr std::uint64_t kRingBytes = 1ull << 26;  // more than any program maps

  /// Opens the board of the image before this one. `inherited` < 0: there is none yet.
  explicit EventBoard(int inherited);

  /// Creates the board, before the first child or the first event. False if the host lacks memory.
  bool make();
  bool exists() const { return header_ != nullptr; }
  int descriptor() const { return descriptor_; }
  /// The descriptor to pass over execve; negative if there is no board.
  int descriptor_over_exec() const;

  /// Takes a free slot, and its ring is empty. kNoEvent: all are in use.
  int take();
  void free(int slot);
  EventSlot& operator[](int slot) const { return slots_[slot]; }
  bool is_open(int slot) const { return slots_[slot].state.load() == EventSlot::kOpen; }
  /// Slots in use are below it.
  int end() const { return header_ == nullptr ? 0 : header_->end.load(); }
  std::uint64_t next_id() { return ++header_->ids; }
  /// Whether `slot` still is the event with that number.
  bool is(int slot, std::uint64_t id) const { return slots_[slot].id == id && is_open(slot); }
  /// Where the ring of `slot` lies in the file.
  static std::uint64_t ring_offset(int slot);

  /// Tells all processes to look at the slots.
  void changed() { ++header_->changes; }
  std::uint64_t changes() const { return header_ == nullptr ? 0 : header_->changes.load(); }

 private:
  struct Header {
    std::atomic<int> end;
    std::atomic<std::uint64_t> ids, changes;
  };
  bool map();

  int descriptor_ = -1;
  Header* header_ = nullptr;
  EventSlot* slots_ = nullptr;
};

}  // namespace elision::vm
