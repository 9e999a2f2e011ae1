// SPDX-License-Identifier: Apache-2.0
// Overlap of a CPU's load misses: how far it runs on while loads are outstanding.
//
// A missing load does not stop the core. The core stops when
//  - the load is the oldest unfinished one and a reorder buffer's worth of work (entries / issue
//    width cycles) has been done since it was issued: then until it is finished; or
//  - another load misses while all fill buffers are busy: then until one is free; or
//  - the load buffer is full.
// A load whose address comes from an outstanding load starts, and takes a fill buffer, only when the address
// is there. Stops of the first kind are found afterwards, at the CPU's next event, by shifting its clock:
// work and stops are told apart by keeping issue times as amounts of work. Freestanding; arrays of fixed
// size.
#pragma once

#include <algorithm>
#include <cstdint>

#include "machine/description.h"

namespace elision::machine {

class Overlap {
 public:
  void configure(const Description& description) {
    window_ = description.core.reorder_buffer_uops / description.core.issue_width;
    fill_buffers_ = description.core.fill_buffers;
    load_buffer_ = std::min<std::uint32_t>(description.core.load_buffer_entries, kMost);
  }

  /// The CPU has come to `now` by working: its clock once the stops that this implies are counted.
  std::uint64_t advance(std::uint64_t now) {
    if (count_ == 0) return now;
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const Miss miss = misses_[i];
      const std::uint64_t limit = miss.issue_work + window_ + not_work_;
      if (now > limit && miss.ready > limit) {
        now += miss.ready - limit;
        not_work_ += miss.ready - limit;
      } else if (now <= limit && miss.ready > now) {
        misses_[kept++] = miss;
      }
    }
    count_ = kept;
    return now;
  }

  /// The CPU does nothing for `cycles`, for a reason that is not a load.
  void idle(std::uint64_t cycles) { not_work_ += cycles; }

  /// When a load that misses and whose address is there at `start` may be issued: `now`, or when a
  /// buffer is free. Requires advance(now) == now.
  std::uint64_t issue_time(std::uint64_t now, std::uint64_t start) const {
    const bool full = count_ >= load_buffer_ || (start <= now && busy_at(now) >= fill_buffers_);
    return full ? earliest_ready(now) : now;
  }

  /// Issues a load at `now` whose address is there at `start` (not before `now`); it takes
  /// `latency` from when it has a fill buffer. Returns when its data arrives.
  std::uint64_t issue(std::uint64_t now, std::uint64_t start, std::uint64_t latency) {
    while (busy_at(start) >= fill_buffers_) start = earliest_ready(start);
    if (count_ < kMost) misses_[count_++] = {now - not_work_, start, start + latency};
    return start + latency;
  }

  /// When no load is outstanding any more, but not before `now`.
  std::uint64_t all_ready(std::uint64_t now) const {
    for (std::uint32_t i = 0; i < count_; ++i) now = std::max(now, misses_[i].ready);
    return now;
  }

  /// Forgets outstanding loads: they were waited for, or belong to an aborted transaction.
  void clear() { count_ = 0; }

 private:
  static constexpr std::uint32_t kMost = 128;

  struct Miss {
    std::uint64_t issue_work;  // work done (clock less everything in not_work_) when it was issued
    std::uint64_t start;       // has a fill buffer from here
    std::uint64_t ready;       // to here
  };

  std::uint32_t busy_at(std::uint64_t time) const {
    std::uint32_t busy = 0;
    for (std::uint32_t i = 0; i < count_; ++i) busy += misses_[i].start <= time && time < misses_[i].ready;
    return busy;
  }
  std::uint64_t earliest_ready(std::uint64_t after) const {
    std::uint64_t earliest = ~std::uint64_t{0};
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (misses_[i].ready > after) earliest = std::min(earliest, misses_[i].ready);
    }
    return earliest;
  }

  std::uint64_t window_;
  std::uint32_t fill_buffers_;
  std::uint32_t load_buffer_;
  std::uint64_t not_work_ = 0;
  std::uint32_t count_ = 0;
  Miss misses_[kMost];  // in program order
};

}  // namespace elision::machine
