// SPDX-License-Identifier: Apache-2.0
// The store buffer of one CPU. It holds times, not values: a store writes memory and takes its line when it
// executes, and its entry says when other CPUs may see it.
//
// Stores drain in program order: a store drains when its line has arrived and all stores before it have
// drained. Up to `outstanding_stores` requests for ownership overlap. A store that hits the filter takes no
// entry, because it drains together with the store before it. Freestanding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "machine/description.h"

namespace elision::machine {

class StoreBuffer {
 public:
  void configure(const Description& description) {
    entries_ = std::min<std::uint32_t>(description.core.store_buffer_entries, kMost);
    outstanding_ = std::min<std::uint32_t>(description.core.outstanding_stores, kMost);
  }

  /// When the last store that had to wait for its line became visible to others, or will be. Stores that hit
  /// while none waits are visible at once and do not count.
  std::uint64_t drained() const { return drained_; }

  /// When another store can enter: `now`, or when the oldest entry drains.
  std::uint64_t entry_time(std::uint64_t now) {
    while (head_ != tail_ && drain_[head_ % kMost] <= now) ++head_;
    return tail_ - head_ < entries_ ? now : drain_[head_ % kMost];
  }

  /// When a request for ownership starts that is ready at `start`.
  std::uint64_t request_time(std::uint64_t start) const {
    return requests_ < outstanding_ ? start : std::max(start, arrival_[(requests_ - outstanding_) % kMost]);
  }
  /// Notes a request for ownership; its line arrives at `arrival`.
  void requested(std::uint64_t arrival) { arrival_[requests_++ % kMost] = arrival; }

  /// A store enters at `now`; its line arrives at `arrival`. Requires entry_time(now) == now. Returns when it
  /// drains.
  std::uint64_t push(std::uint64_t now, std::uint64_t arrival) {
    drained_ = std::max(drained_, arrival > now ? arrival : 0);
    if (drained_ <= now) return now;
    drain_[tail_++ % kMost] = drained_;
    return drained_;
  }
  /// The last store lost its line and drains at `when`, if that is later.
  void delay_last(std::uint64_t when) {
    if (when <= drained_) return;
    drained_ = when;
    if (head_ != tail_) drain_[(tail_ - 1) % kMost] = when;
  }
  /// A store that takes no entry, to a line that arrives at `arrival`.
  void pass(std::uint64_t arrival) { drained_ = std::max(drained_, arrival); }

  /// A point that undo_to() returns to: the stores after it are undone.
  struct Mark {
    std::uint64_t tail, drained;
  };
  Mark mark() const { return {tail_, drained_}; }
  void undo_to(const Mark& mark) {
    tail_ = std::max(head_, mark.tail);
    drained_ = mark.drained;
  }

 private:
  static constexpr std::uint32_t kMost = 128;

  std::uint32_t entries_;
  std::uint32_t outstanding_;
  std::uint64_t head_ = 0, tail_ = 0;  // entries head_ to tail_ - 1, modulo kMost
  std::uint64_t requests_ = 0;
  std::uint64_t drained_ = 0;
  std::uint64_t drain_[kMost];
  std::uint64_t arrival_[kMost];
};

}  // namespace elision::machine
