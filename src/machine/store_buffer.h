// SPDX-License-Identifier: Apache-2.0
// The store buffer of one CPU, in time alone: values are written, and lines claimed, when a store
// executes; what is buffered is the time at which others may see it.
//
// Stores leave in program order: a store drains when its line is there and all before it have
// drained. Requests for ownership overlap, up to `outstanding_stores` of them. A store that hits the
// fast path takes no entry: it waits for nothing but the stores before it, and adds nothing to their
// drain time. Freestanding.
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

  /// When all stores so far are visible to others; may be in the past.
  std::uint64_t drained() const { return drained_; }

  /// When another store can enter: `now`, or when the oldest entry drains.
  std::uint64_t entry_time(std::uint64_t now) {
    while (head_ != tail_ && drain_[head_ % kMost] <= now) ++head_;
    return tail_ - head_ < entries_ ? now : drain_[head_ % kMost];
  }

  /// When a request for ownership that could start at `start` does.
  std::uint64_t request_time(std::uint64_t start) const {
    return requests_ < outstanding_ ? start : std::max(start, arrival_[(requests_ - outstanding_) % kMost]);
  }
  /// A request for ownership was made whose line arrives at `arrival`.
  void requested(std::uint64_t arrival) { arrival_[requests_++ % kMost] = arrival; }

  /// A store whose line is there at `arrival` enters at `now`; entry_time(now) was `now`. Returns when it
  /// drains.
  std::uint64_t push(std::uint64_t now, std::uint64_t arrival) {
    drained_ = std::max({drained_, arrival, now});
    if (drained_ > now) drain_[tail_++ % kMost] = drained_;
    return drained_;
  }
  /// A store that takes no entry, to a line that is there at `arrival`.
  void pass(std::uint64_t arrival) { drained_ = std::max(drained_, arrival); }

  /// The state to go back to if the stores from here on are undone.
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
