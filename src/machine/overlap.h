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
    // Issue times ascend, so that once one load has room in the window, all later ones have.
    while (head_ != tail_) {
      const Miss& oldest = miss(head_);
      const std::uint64_t limit = oldest.issue_work + window_ + not_work_;
      if (now <= limit) break;
      if (oldest.ready > limit) {
        now += oldest.ready - limit;
        not_work_ += oldest.ready - limit;
      }
      ++head_;
    }
    if (head_ != tail_ && first_ready_ <= now) forget_finished(now);
    return now;
  }

  /// The CPU does nothing for `cycles`, for a reason that is not a load.
  void idle(std::uint64_t cycles) { not_work_ += cycles; }

  /// When a load that misses and whose address is there at `start` may be issued: `now`, or when a
  /// buffer is free. Requires advance(now) == now.
  std::uint64_t issue_time(std::uint64_t now, std::uint64_t start) const {
    const bool full = count() >= load_buffer_ || (start <= now && all_busy_at(now));
    return full ? earliest_ready(now) : now;
  }

  /// Issues a load at `now` whose address is there at `start` (not before `now`); it takes
  /// `latency` from when it has a fill buffer. Returns when its data arrives.
  std::uint64_t issue(std::uint64_t now, std::uint64_t start, std::uint64_t latency) {
    while (all_busy_at(start)) start = earliest_ready(start);
    const std::uint64_t ready = start + latency;
    if (count() < kMost) add({now - not_work_, start, ready});
    return ready;
  }

  /// When no load is outstanding any more, but not before `now`.
  std::uint64_t all_ready(std::uint64_t now) const {
    for (std::uint32_t i = head_; i != tail_; ++i) now = std::max(now, miss(i).ready);
    return now;
  }

  /// Forgets outstanding loads: they were waited for, or belong to an aborted transaction.
  void clear() { head_ = tail_; }

 private:
  static constexpr std::uint32_t kMost = 128;

  struct Miss {
    std::uint64_t issue_work;  // work done (clock less everything in not_work_) when it was issued
    std::uint64_t start;       // has a fill buffer from here
    std::uint64_t ready;       // to here
  };

  const Miss& miss(std::uint32_t i) const { return misses_[i % kMost]; }
  std::uint32_t count() const { return tail_ - head_; }

  void add(const Miss& last) {
    ascending_ = head_ == tail_ || (ascending_ && miss(tail_ - 1).ready <= last.ready);
    first_ready_ = head_ == tail_ ? last.ready : std::min(first_ready_, last.ready);
    misses_[tail_++ % kMost] = last;
  }

  /// Loads that are finished give back their places, in whatever order they finish.
  void forget_finished(std::uint64_t now) {
    while (head_ != tail_ && miss(head_).ready <= now) ++head_;
    if (head_ == tail_) return;
    first_ready_ = miss(head_).ready;
    if (ascending_) return;
    const std::uint32_t end = tail_;
    tail_ = head_;
    for (std::uint32_t i = head_; i != end; ++i) {
      const Miss one = miss(i);
      if (one.ready > now) add(one);
    }
  }

  /// No fill buffer is free at `time`.
  bool all_busy_at(std::uint64_t time) const {
    if (count() < fill_buffers_ || (ascending_ && miss(tail_ - 1).ready <= time)) return false;
    std::uint32_t busy = 0;
    for (std::uint32_t i = head_; i != tail_; ++i) busy += miss(i).start <= time && time < miss(i).ready;
    return busy >= fill_buffers_;
  }
  std::uint64_t earliest_ready(std::uint64_t after) const {
    std::uint64_t earliest = ~std::uint64_t{0};
    for (std::uint32_t i = head_; i != tail_; ++i) {
      if (miss(i).ready > after) earliest = std::min(earliest, miss(i).ready);
    }
    return earliest;
  }

  std::uint64_t window_;
  std::uint32_t fill_buffers_;
  std::uint32_t load_buffer_;
  std::uint64_t not_work_ = 0;
  std::uint32_t head_ = 0, tail_ = 0;  // misses head_ to tail_ - 1, modulo kMost
  // So that the common questions need no look at every miss:
  std::uint64_t first_ready_ = 0;  // no miss is ready earlier (one that was may have gone)
  bool ascending_ = true;          // they become ready in program order
  Miss misses_[kMost];             // in program order
};

}  // namespace elision::machine
