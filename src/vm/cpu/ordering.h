// SPDX-License-Identifier: Apache-2.0
// Which core runs next: what other cores can see happens in the order of virtual time.
//
// The running core is not in the heap. An ordered event may take place only if no core in the heap
// is behind the running one (is_first); what concerns a core alone may run ahead up to the deadline. Of cores
// whose turn is at the same time those come first that wait for a line, in the order in which they asked for
// it: all of them ask again when it arrives, and by number the last would never get it. Other ties go to the
// lower CPU.
//
// Light path.
#pragma once

#include <cstdint>

#include "machine/description.h"
#include "vm/cpu/core.h"

namespace elision::vm {

class Ordering {
 public:
  explicit Ordering(Cycles run_ahead) : run_ahead_ticks_(run_ahead.value << kTickShift) {}

  /// No core in the heap is behind `core`.
  bool is_first(const Core& core) const { return is_first(core, core.clock_ticks()); }
  /// The same of a core whose clock is about to be `ticks`.
  bool is_first(const Core& core, std::uint64_t ticks) const {
    return size_ == 0 || before(core, ticks, *heap_[0], heap_[0]->clock_ticks());
  }
  /// Nobody in the heap is to come before this time.
  Cycles first_until() const { return size_ == 0 ? kNever : heap_[0]->clock(); }
  bool empty() const { return size_ == 0; }
  Core* first() const { return size_ == 0 ? nullptr : heap_[0]; }

  void add(Core& core);
  /// Takes the earliest core out and makes it the running one; null if there is none.
  Core* start_first();
  /// Makes `core` (not in the heap) the running one and gives it its budget.
  void start(Core& core);
  /// `core` is in the heap and its clock has changed.
  void moved(Core& core);
  void remove(Core& core);
  /// Forgets all cores; their in_heap stays as it was.
  void clear() { size_ = 0, running_ = nullptr; }
  Core* running() const { return running_; }
  void stop_running() { running_ = nullptr; }

  /// No core runs past this time without leaving to the run loop.
  void set_timer(Cycles when) { timer_ticks_ = when == kNever ? kNever.value : when.value << kTickShift; }
  std::uint64_t timer_ticks() const { return timer_ticks_; }

  /// An ordered event happens at `core`'s clock, or later, at `performed`; counts those that come too late.
  void note_event(const Core& core, Cycles performed = Cycles(0)) {
    const std::uint64_t clock = core.clock_ticks();
    const std::uint64_t later = performed.value << kTickShift;
    const std::uint64_t ticks = clock > later ? clock : later;
    if (ticks < latest_event_ticks_) {
      ++out_of_order_;
    } else {
      latest_event_ticks_ = ticks;
    }
    ++events_;
  }
  std::uint64_t events() const { return events_; }
  std::uint64_t out_of_order() const { return out_of_order_; }

 private:
  static bool before(const Core& a, const Core& b) { return before(a, a.clock_ticks(), b, b.clock_ticks()); }
  static bool before(const Core& a, std::uint64_t x, const Core& b, std::uint64_t y) {
    if (x != y) [[likely]]
      return x < y;
    const std::uint64_t asked_a = a.asked_ticks != 0 ? a.asked_ticks : x;
    const std::uint64_t asked_b = b.asked_ticks != 0 ? b.asked_ticks : y;
    return asked_a < asked_b || (asked_a == asked_b && a.id < b.id);
  }
  void sift_up(unsigned at);
  void sift_down(unsigned at);
  void place(unsigned at, Core* core);

  Core* heap_[machine::kMaxCpus] = {};
  unsigned position_[machine::kMaxCpus] = {};
  unsigned size_ = 0;
  Core* running_ = nullptr;
  std::uint64_t run_ahead_ticks_;
  std::uint64_t timer_ticks_ = ~std::uint64_t{0};
  std::uint64_t latest_event_ticks_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t out_of_order_ = 0;
};

}  // namespace elision::vm
