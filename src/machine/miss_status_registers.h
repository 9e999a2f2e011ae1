// SPDX-License-Identifier: Apache-2.0
// Miss-status registers (MSHR; Intel: line fill buffers) of a CPU's loads, with its reorder window and load
// buffer: how far the CPU executes ahead while load misses overlap.
//
// A load miss does not stall the core. The core stalls
//  - until the oldest unfinished load is finished, once the core has done a reorder buffer's worth of work
//    (entries / issue width cycles) since it issued that load;
//  - until a fill buffer is free, if another load misses while all are busy;
//  - until the oldest load is finished, if the load buffer is full.
// A load whose address comes from an outstanding load starts when that address arrives, and takes a fill
// buffer only then. Stalls of the first kind are computed later, at the CPU's next event, which shifts its
// clock. Issue times are therefore kept as amounts of work, without stalls.
//
// A chain of dependent loads needs one buffer: each load takes the buffer of the load before it. No other
// load gets that buffer in between. Freestanding; arrays of fixed size.
#pragma once

#include <algorithm>
#include <cstdint>

#include "machine/description.h"

namespace elision::machine {

class MissStatusRegisters {
 public:
  void configure(const Description& description) {
    window_ = description.core.reorder_buffer_uops / description.core.issue_width;
    fill_buffers_ = std::min<std::uint32_t>(description.core.fill_buffers, kMostBuffers);
    load_buffer_ = std::min<std::uint32_t>(description.core.load_buffer_entries, kMost);
  }

  /// The reorder window, as cycles of work.
  std::uint64_t window() const { return window_; }

  /// The work that the CPU has done at `now`, in cycles from an arbitrary point.
  std::uint64_t work(std::uint64_t now) const { return now - not_work_; }

  /// The CPU has worked up to `now`. Returns its clock including the stalls that this implies.
  std::uint64_t advance(std::uint64_t now) {
    // Issue times ascend, so that once one load has room in the window, all later ones have.
    for (; head_ != tail_; ++head_) {
      const Miss& oldest = misses_[head_ % kMost];
      const std::uint64_t limit = oldest.issue_work + window_ + not_work_;
      if (now <= limit) break;
      const std::uint64_t stop = oldest.ready > limit ? oldest.ready - limit : 0;
      now += stop;
      not_work_ += stop;
    }
    return now;
  }

  /// The CPU does nothing for `cycles`, for another reason than its loads.
  void idle(std::uint64_t cycles) { not_work_ += cycles; }

  /// When a load that misses may be issued: `now`, or when a buffer is free. Its address is known at `start`.
  /// Requires advance(now) == now.
  std::uint64_t issue_time(std::uint64_t now, std::uint64_t start) {
    if (tail_ - head_ >= load_buffer_) {
      while (head_ != tail_ && misses_[head_ % kMost].ready <= now) ++head_;
      if (tail_ - head_ >= load_buffer_) return misses_[head_ % kMost].ready;
    }
    if (start > now || free_at_[next_] <= now) return now;
    return std::max(now, earliest_free());
  }

  /// Issues a load at `now`, whose address is known at `start` (not before `now`). Its latency begins when it
  /// has a fill buffer. Returns when its data arrives.
  std::uint64_t issue(std::uint64_t now, std::uint64_t start, std::uint64_t latency) {
    const std::uint32_t buffer = start <= now && free_at_[next_] <= now ? next_ : buffer_for(start);
    const std::uint64_t ready = std::max(start, free_at_[buffer]) + latency;
    take(buffer, ready);
    latest_ready_ = std::max(latest_ready_, ready);
    if (tail_ - head_ < kMost) misses_[tail_++ % kMost] = {now - not_work_, ready};
    return ready;
  }

  /// For prefetches, which are dropped if no buffer is free.
  bool has_free_buffer(std::uint64_t now) const { return free_at_[next_] <= now || earliest_free() <= now; }
  /// Takes a buffer that is free at `now` for `latency`; returns when the line arrives.
  std::uint64_t take_buffer(std::uint64_t now, std::uint64_t latency) {
    const std::uint32_t buffer = free_at_[next_] <= now ? next_ : buffer_for(now);
    take(buffer, now + latency);
    return now + latency;
  }

  /// When all loads are finished, but not before `now`.
  std::uint64_t all_ready(std::uint64_t now) const { return std::max(now, latest_ready_); }

  /// Forgets outstanding loads: the CPU has waited for them, or their transaction was aborted.
  void clear() {
    head_ = tail_;
    latest_ready_ = 0;
    last_free_ = 0;
    for (std::uint32_t i = 0; i < fill_buffers_; ++i) free_at_[i] = 0;
  }

 private:
  static constexpr std::uint32_t kMost = 256;
  static constexpr std::uint32_t kMostBuffers = 64;

  struct Miss {
    std::uint64_t issue_work;  // clock less not_work_ when it was issued
    std::uint64_t ready;
  };

  std::uint64_t earliest_free() const {
    std::uint64_t earliest = free_at_[0];
    for (std::uint32_t i = 1; i < fill_buffers_; ++i) earliest = std::min(earliest, free_at_[i]);
    return earliest;
  }

  void take(std::uint32_t buffer, std::uint64_t until) {
    free_at_[buffer] = until;
    next_ = buffer + 1 == fill_buffers_ ? 0 : buffer + 1;
    if (until > free_at_[last_free_]) last_free_ = buffer;
  }

  static std::int64_t rank(std::uint64_t free_at, std::uint64_t start) {
    const auto time = static_cast<std::int64_t>(free_at);
    return free_at <= start ? time : -time;
  }
  /// Of the buffers that are free at `start`, the one that became free last. If none is free, the one that
  /// will be free first.
  std::uint32_t buffer_for(std::uint64_t start) const {
    if (free_at_[last_free_] <= start) return last_free_;  // a chain of loads, mostly
    // Free ones count by their time and others by its negative, so that the best one is the greatest.
    std::uint32_t best = 0;
    std::int64_t greatest = rank(free_at_[0], start);
    for (std::uint32_t i = 1; i < fill_buffers_; ++i) {
      const std::int64_t own = rank(free_at_[i], start);
      const bool better = own > greatest || (own < 0 && own == greatest);
      best = better ? i : best;
      greatest = better ? own : greatest;
    }
    return best;
  }

  std::uint64_t window_;
  std::uint32_t fill_buffers_;
  std::uint32_t load_buffer_;
  std::uint64_t not_work_ = 0;
  std::uint64_t latest_ready_ = 0;
  std::uint32_t head_ = 0, tail_ = 0;  // misses_
  std::uint32_t next_ = 0;             // the buffer that was taken longest ago
  std::uint32_t last_free_ = 0;        // the one that is free last
  std::uint64_t free_at_[kMostBuffers] = {};
  Miss misses_[kMost];  // in program order
};

}  // namespace elision::machine
