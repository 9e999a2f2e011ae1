// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/ordering.h"

namespace elision::vm {

void Ordering::put(unsigned at, const Place& place) {
  heap_[at] = place;
  position_[place.turn.id] = at;
}

void Ordering::sift_up(unsigned at) {
  const Place place = heap_[at];
  while (at > 0 && before(place.turn, heap_[(at - 1) / 2].turn)) {
    put(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  put(at, place);
}

void Ordering::sift_down(unsigned at) {
  const Place place = heap_[at];
  for (;;) {
    unsigned child = 2 * at + 1;
    if (child >= size_) break;
    if (child + 1 < size_ && before(heap_[child + 1].turn, heap_[child].turn)) ++child;
    if (!before(heap_[child].turn, place.turn)) break;
    put(at, heap_[child]);
    at = child;
  }
  put(at, place);
}

void Ordering::add(Cpu& cpu) {
  cpu.in_heap = true;
  heap_[size_] = place_of(cpu);
  sift_up(size_++);
}

Cpu* Ordering::start_first() {
  if (size_ == 0) return nullptr;
  Cpu* const cpu = heap_[0].cpu;
  if (heap_[0].turn.ticks != cpu->clock_ticks()) __builtin_trap();  // it changed without moved()
  heap_[0] = heap_[--size_];
  if (size_ > 0) sift_down(0);
  start(*cpu);
  return cpu;
}

void Ordering::start(Cpu& cpu) {
  running_ = &cpu;
  cpu.in_heap = false;
  cpu.waits_for_line = false;
  std::uint64_t deadline = cpu.next_interrupt.value << kTickShift;
  if (timer_ticks() < deadline) deadline = timer_ticks();
  if (size_ > 0 && heap_[0].turn.ticks + run_ahead_ticks_ < deadline)
    deadline = heap_[0].turn.ticks + run_ahead_ticks_;
  cpu.set_deadline(deadline);
}

void Ordering::rebuild() {
  for (unsigned at = 0; at < size_; ++at) heap_[at] = place_of(*heap_[at].cpu);
  for (unsigned at = size_ / 2; at-- > 0;) sift_down(at);
}

void Ordering::moved(Cpu& cpu) {
  heap_[position_[cpu.id.value]] = place_of(cpu);
  sift_up(position_[cpu.id.value]);
  sift_down(position_[cpu.id.value]);
}

void Ordering::remove(Cpu& cpu) {
  if (!cpu.in_heap) return;
  cpu.in_heap = false;
  const unsigned at = position_[cpu.id.value];
  const Place last = heap_[--size_];
  if (last.cpu == &cpu) return;
  put(at, last);
  sift_up(at);
  sift_down(position_[last.turn.id]);
}

}  // namespace elision::vm
