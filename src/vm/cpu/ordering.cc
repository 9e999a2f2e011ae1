// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/ordering.h"

namespace elision::vm {

void Ordering::place(unsigned at, Cpu* cpu) {
  heap_[at] = cpu;
  position_[cpu->id.value] = at;
}

void Ordering::sift_up(unsigned at) {
  Cpu* cpu = heap_[at];
  while (at > 0 && before(*cpu, *heap_[(at - 1) / 2])) {
    place(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  place(at, cpu);
}

void Ordering::sift_down(unsigned at) {
  Cpu* cpu = heap_[at];
  for (;;) {
    unsigned child = 2 * at + 1;
    if (child >= size_) break;
    if (child + 1 < size_ && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], *cpu)) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, cpu);
}

void Ordering::add(Cpu& cpu) {
  cpu.in_heap = true;
  heap_[size_] = &cpu;
  sift_up(size_++);
}

Cpu* Ordering::start_first() {
  if (size_ == 0) return nullptr;
  Cpu* cpu = heap_[0];
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
  if (size_ > 0 && heap_[0]->clock_ticks() + run_ahead_ticks_ < deadline)
    deadline = heap_[0]->clock_ticks() + run_ahead_ticks_;
  cpu.set_deadline(deadline);
}

void Ordering::rebuild() {
  for (unsigned at = size_ / 2; at-- > 0;) sift_down(at);
}

void Ordering::moved(Cpu& cpu) {
  sift_up(position_[cpu.id.value]);
  sift_down(position_[cpu.id.value]);
}

void Ordering::remove(Cpu& cpu) {
  if (!cpu.in_heap) return;
  cpu.in_heap = false;
  const unsigned at = position_[cpu.id.value];
  Cpu* last = heap_[--size_];
  if (last == &cpu) return;
  place(at, last);
  moved(*last);
}

}  // namespace elision::vm
