// SPDX-License-Identifier: Apache-2.0
// Which CPU runs next: events that other CPUs can notice happen in the order of virtual time.
//
// Conservative discrete-event simulation (Chandy and Misra 1979; Fujimoto 1990) on one host thread. Each CPU
// is a logical process with its own clock. Its ordered event takes place only if no other CPU is behind
// (is_first), so no event is ever undone. The lookahead is zero: a CPU can produce an ordered event at any
// cycle. Work that concerns one core alone is no event, and may run ahead up to the deadline (temporal
// decoupling).
//
// The heap holds all CPUs that have a thread, but the running one. It keeps their clocks beside them, so that
// a look at the heap touches no Cpu: 72 of these do not fit into the host's caches. So whatever changes
// `asked_ticks` or the clock of a CPU in the heap calls moved() or rebuild() before any other function here.
//
// Early requests (machine/early_requests.cc) are ordered events of no CPU. They are served while all CPUs are
// in the heap, before any CPU at their time.
//
// Ties: CPUs that wait for a line come first, in the order in which they asked for it, because all of them
// ask again when it arrives, and by number the last one would never get it. Other ties go to the lower CPU
// number.
//
// Helpers call these functions.
#pragma once

#include <cstdint>

#include "machine/description.h"
#include "vm/cpu/cpu.h"

namespace elision::vm {

class Ordering {
 public:
  explicit Ordering(Cycles run_ahead) { set_run_ahead(run_ahead); }
  /// How far a CPU may run ahead of the earliest one.
  void set_run_ahead(Cycles run_ahead) { run_ahead_ticks_ = run_ahead.value << kTickShift; }

  /// `next` is the time of the next early request (Model::next_arrival). It must outlive this object.
  void set_arrivals(const Cycles& next) { next_arrival_ = &next; }
  /// A request arrives before the earliest CPU in the heap goes on.
  bool arrival_is_due() const {
    return size_ != 0 && next_arrival_->value <= heap_[0].turn.ticks >> kTickShift;
  }

  /// True if no CPU in the heap is behind `cpu`, and no early request is due up to its clock.
  bool is_first(const Cpu& cpu) const { return is_first(cpu, cpu.clock_ticks()); }
  /// The same if the clock of `cpu` were `ticks`.
  bool is_first(const Cpu& cpu, std::uint64_t ticks) const {
    return (size_ == 0 || before(turn_of(cpu, ticks), heap_[0].turn)) &&
           ticks >> kTickShift < next_arrival_->value;
  }
  /// No CPU in the heap, and no request that arrives, comes before this time.
  Cycles first_until() const {
    const Cycles cpu = size_ == 0 ? kNever : Cycles(heap_[0].turn.ticks >> kTickShift);
    return cpu < *next_arrival_ ? cpu : *next_arrival_;
  }
  bool empty() const { return size_ == 0; }
  Cpu* first() const { return size_ == 0 ? nullptr : heap_[0].cpu; }

  void add(Cpu& cpu);
  /// Removes the earliest CPU from the heap and makes it the running one. Returns null if the heap is empty.
  Cpu* start_first();
  /// Makes `cpu`, which is not in the heap, the running one and sets its budget.
  void start(Cpu& cpu);
  /// Restores the heap after clocks of CPUs in it have changed.
  void rebuild();
  /// The same after the clock of `cpu` alone.
  void moved(Cpu& cpu);
  void remove(Cpu& cpu);
  /// Forgets all CPUs. Does not change their in_heap.
  void clear() { size_ = 0, running_ = nullptr; }
  Cpu* running() const { return running_; }
  void stop_running() { running_ = nullptr; }

  /// No CPU runs past this time without an exit to the run loop.
  void set_timer(Cycles when) { timer_ticks_ = when == kNever ? kNever.value : when.value << kTickShift; }
  /// The same for a look at the CPUs, which no idle time is spent for.
  void set_look(Cycles when) { look_ticks_ = when == kNever ? kNever.value : when.value << kTickShift; }
  std::uint64_t timer_ticks() const { return timer_ticks_ < look_ticks_ ? timer_ticks_ : look_ticks_; }

  /// Records an ordered event at the later of `cpu`'s clock and `performed`. Counts events out of order.
  void note_event(const Cpu& cpu, Cycles performed = Cycles(0)) {
    const std::uint64_t clock = cpu.clock_ticks();
    const std::uint64_t later = performed.value << kTickShift;
    const std::uint64_t ticks = clock > later ? clock : later;
    if (ticks < latest_event_ticks_) {
      ++out_of_order_;
    } else {
      latest_event_ticks_ = ticks;
    }
    ++events_;
  }
  Cycles latest_event() const { return Cycles((latest_event_ticks_ + (1u << kTickShift) - 1) >> kTickShift); }
  std::uint64_t events() const { return events_; }
  std::uint64_t out_of_order() const { return out_of_order_; }

 private:
  /// What decides when a CPU runs. `asked`: since when it waits for a line, else its clock.
  struct Turn {
    std::uint64_t ticks = 0, asked = 0;
    std::uint32_t id = 0;
  };
  struct Place {
    Turn turn;
    Cpu* cpu = nullptr;
  };
  static Turn turn_of(const Cpu& cpu, std::uint64_t ticks) {
    return {ticks, cpu.asked_ticks != 0 ? cpu.asked_ticks : ticks, cpu.id.value};
  }
  static Place place_of(Cpu& cpu) { return {turn_of(cpu, cpu.clock_ticks()), &cpu}; }
  static bool before(const Turn& a, const Turn& b) {
    if (a.ticks != b.ticks) [[likely]]
      return a.ticks < b.ticks;
    return a.asked < b.asked || (a.asked == b.asked && a.id < b.id);
  }
  void sift_up(unsigned at);
  void sift_down(unsigned at);
  void put(unsigned at, const Place& place);

  Place heap_[machine::kMaxCpus] = {};
  unsigned position_[machine::kMaxCpus] = {};
  unsigned size_ = 0;
  Cpu* running_ = nullptr;
  const Cycles* next_arrival_ = &kNever;
  std::uint64_t run_ahead_ticks_ = 0;
  std::uint64_t timer_ticks_ = ~std::uint64_t{0};
  std::uint64_t look_ticks_ = ~std::uint64_t{0};
  std::uint64_t latest_event_ticks_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t out_of_order_ = 0;
};

}  // namespace elision::vm
