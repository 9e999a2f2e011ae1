// SPDX-License-Identifier: Apache-2.0
// Overlap of a CPU's load misses: how far it runs on while loads are outstanding.
//
// A missing load does not stop the core. The core stops when
//  - the load is the oldest unfinished one and a reorder buffer's worth of work (entries / issue
//    width cycles) has been done since it was issued: then until it is finished; or
//  - another load misses while all fill buffers are busy: then until one is free; or
//  - the load buffer is full: then until the oldest load is finished.
// A load whose address comes from an outstanding load starts, and takes a fill buffer, only when the address
// is there. Stops of the first kind are found afterwards, at the CPU's next event, by shifting its clock:
// work and stops are told apart by keeping issue times as amounts of work.
//
// The loads are kept twice: in program order for the window, and by the time at which they are finished for the
// buffers. Both give up their finished loads late, so that the common questions need a look at one end.
// Freestanding; arrays of fixed size.
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

  /// The CPU does nothing for `cycles`, for a reason that is not a load.
  void idle(std::uint64_t cycles) { not_work_ += cycles; }

  /// When a load that misses and whose address is there at `start` may be issued: `now`, or when a
  /// buffer is free. Requires advance(now) == now.
  std::uint64_t issue_time(std::uint64_t now, std::uint64_t start) {
    if (tail_ - head_ >= load_buffer_) [[unlikely]] {
      while (head_ != tail_ && misses_[head_ % kMost].ready <= now) ++head_;
      if (tail_ - head_ >= load_buffer_) return misses_[head_ % kMost].ready;
    }
    if (last_ - first_ < fill_buffers_ || start > now) return now;
    forget_finished(now);
    return all_busy_at(now) ? earliest_finish(now) : now;
  }

  /// Issues a load at `now` whose address is there at `start` (not before `now`); it takes
  /// `latency` from when it has a fill buffer. Returns when its data arrives.
  std::uint64_t issue(std::uint64_t now, std::uint64_t start, std::uint64_t latency) {
    if (last_ - first_ >= fill_buffers_) forget_finished(now);
    while (all_busy_at(start)) start = earliest_finish(start);
    const std::uint64_t ready = start + latency;
    if (last_ - first_ == kMost || tail_ - head_ == kMost) [[unlikely]]
      return ready;
    misses_[tail_++ % kMost] = {now - not_work_, ready};
    std::uint32_t place = last_++;
    for (; place != first_ && flights_[(place - 1) % kMost].ready > ready; --place)
      flights_[place % kMost] = flights_[(place - 1) % kMost];
    flights_[place % kMost] = {start, ready};
    latest_start_ = std::max(latest_start_, start);
    return ready;
  }

  /// When no load is outstanding any more, but not before `now`.
  std::uint64_t all_ready(std::uint64_t now) const {
    return first_ == last_ ? now : std::max(now, flights_[(last_ - 1) % kMost].ready);
  }

  /// Forgets outstanding loads: they were waited for, or belong to an aborted transaction.
  void clear() {
    head_ = tail_;
    first_ = last_;
  }

 private:
  static constexpr std::uint32_t kMost = 128;

  struct Miss {
    std::uint64_t issue_work;  // work done (clock less everything in not_work_) when it was issued
    std::uint64_t ready;
  };
  /// The time for which a load has a fill buffer.
  struct Flight {
    std::uint64_t start, ready;
  };

  void forget_finished(std::uint64_t now) {
    while (first_ != last_ && flights_[first_ % kMost].ready <= now) ++first_;
  }

  /// No fill buffer is free at `time`.
  bool all_busy_at(std::uint64_t time) const {
    if (last_ - first_ < fill_buffers_ || flights_[(last_ - fill_buffers_) % kMost].ready <= time) return false;
    if (latest_start_ <= time) [[likely]]
      return true;
    std::uint32_t busy = 0;
    for (std::uint32_t i = first_; i != last_; ++i) {
      const Flight& flight = flights_[i % kMost];
      busy += flight.start <= time && time < flight.ready;
    }
    return busy >= fill_buffers_;
  }
  /// Requires that a load is outstanding at `time`.
  std::uint64_t earliest_finish(std::uint64_t time) const {
    std::uint32_t i = first_;
    while (flights_[i % kMost].ready <= time) ++i;
    return flights_[i % kMost].ready;
  }

  std::uint64_t window_;
  std::uint32_t fill_buffers_;
  std::uint32_t load_buffer_;
  std::uint64_t not_work_ = 0;
  std::uint64_t latest_start_ = 0;
  std::uint32_t head_ = 0, tail_ = 0;   // misses_
  std::uint32_t first_ = 0, last_ = 0;  // flights_
  Miss misses_[kMost];                  // in program order
  Flight flights_[kMost];               // the earliest to finish first
};

}  // namespace elision::machine
