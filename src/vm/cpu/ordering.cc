// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/ordering.h"

namespace elision::vm {

void Ordering::place(unsigned at, Core* core) {
  heap_[at] = core;
  position_[core->id.value] = at;
}

void Ordering::sift_up(unsigned at) {
  Core* core = heap_[at];
  while (at > 0 && before(*core, *heap_[(at - 1) / 2])) {
    place(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  place(at, core);
}

void Ordering::sift_down(unsigned at) {
  Core* core = heap_[at];
  for (;;) {
    unsigned child = 2 * at + 1;
    if (child >= size_) break;
    if (child + 1 < size_ && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], *core)) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, core);
}

void Ordering::add(Core& core) {
  core.in_heap = true;
  heap_[size_] = &core;
  sift_up(size_++);
}

Core* Ordering::start_first() {
  if (size_ == 0) return nullptr;
  Core* core = heap_[0];
  heap_[0] = heap_[--size_];
  if (size_ > 0) sift_down(0);
  start(*core);
  return core;
}

void Ordering::start(Core& core) {
  running_ = &core;
  core.in_heap = false;
  core.waits_for_line = false;
  std::uint64_t deadline = core.next_interrupt.value << kTickShift;
  if (timer_ticks_ < deadline) deadline = timer_ticks_;
  if (size_ > 0 && heap_[0]->clock_ticks() + run_ahead_ticks_ < deadline)
    deadline = heap_[0]->clock_ticks() + run_ahead_ticks_;
  core.set_deadline(deadline);
}

void Ordering::moved(Core& core) {
  sift_up(position_[core.id.value]);
  sift_down(position_[core.id.value]);
}

void Ordering::remove(Core& core) {
  if (!core.in_heap) return;
  core.in_heap = false;
  const unsigned at = position_[core.id.value];
  Core* last = heap_[--size_];
  if (last == &core) return;
  place(at, last);
  moved(*last);
}

}  // namespace elision::vm
