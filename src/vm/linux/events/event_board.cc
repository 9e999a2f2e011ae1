// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/events/event_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "vm/host/host_limits.h"
#include "vm/host/reserved_descriptors.h"
#include "vm/interface/guest_layout.h"
#include "vm/linux/process/process_ids.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kHeaderBytes = kPageBytes;
constexpr std::uint64_t kTableBytes = page_up(kHeaderBytes + EventBoard::kSlots * sizeof(EventSlot));

}  // namespace

EventBoard::EventBoard(int inherited) {
  if (inherited < 0) return;
  descriptor_ = reserve_descriptor(inherited);
  map();
}

bool EventBoard::make() {
  if (descriptor_ >= 0) return exists();
  const LiftedLimits lifted;
  const int file = memfd_create("elision", MFD_CLOEXEC);
  if (file < 0) return false;
  if (ftruncate(file, static_cast<off_t>(ring_offset(kSlots))) != 0) return close(file), false;
  descriptor_ = reserve_descriptor(file);
  return map();
}

bool EventBoard::map() {
  void* const memory = mmap(nullptr, kTableBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) return false;
  header_ = static_cast<Header*>(memory);
  slots_ = reinterpret_cast<EventSlot*>(static_cast<char*>(memory) + kHeaderBytes);
  return true;
}

int EventBoard::descriptor_over_exec() const {
  return descriptor_ < 0 ? -1 : fcntl(descriptor_, F_DUPFD, kFirstEngineDescriptor);
}

std::uint64_t EventBoard::ring_offset(int slot) {
  return kTableBytes + static_cast<std::uint64_t>(slot) * kRingBytes;
}

int EventBoard::take() {
  for (const bool of_the_dead : {false, true})
    for (int i = 0; i < kSlots; ++i) {
      EventSlot& slot = slots_[i];
      int state = slot.state;
      if (state == EventSlot::kTaken || (state != EventSlot::kFree && !of_the_dead)) continue;
      // Nobody can read an event whose opener is gone, but for a process that got the descriptor from it.
      if (state != EventSlot::kFree && !is_gone(slot.opener)) continue;
      if (!slot.state.compare_exchange_strong(state, EventSlot::kTaken)) continue;
      fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(ring_offset(i)),
                kRingBytes);
      // All but the state.
      std::memset(reinterpret_cast<char*>(&slot) + sizeof slot.state, 0, sizeof slot - sizeof slot.state);
      int end = header_->end;
      while (end <= i && !header_->end.compare_exchange_weak(end, i + 1)) continue;
      return i;
    }
  return kNoEvent;
}

void EventBoard::free(int slot) {
  slots_[slot].inode = 0;
  slots_[slot].state = EventSlot::kFree;
}

}  // namespace elision::vm
