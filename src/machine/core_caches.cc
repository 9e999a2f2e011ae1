// SPDX-License-Identifier: Apache-2.0
// How lines enter and leave a core's own caches. L2 need not contain L1. An unmodified line that leaves L1
// and is not in L2 is gone, and the directory is not told (directory.h).
#include "machine/core_caches.h"

#include "machine/fast_path.h"

namespace elision::machine {

/// A use that a filter noted counts.
[[gnu::always_inline]] inline std::uint32_t CoreCaches::l1_victim(Core& core, LineAddr line) {
  const std::uint32_t set = core.l1.set_of(line);
  const auto take_used = [&core](Filter& filter, std::uint32_t slot) {
    return fast_path::take_used(filter.at(core.l1.line(slot)), slot);
  };
  Filter& first = *core.threads[0]->filter;
  if (core.thread_count == 1)
    return core.l1.choose_victim(set, [&](std::uint32_t slot) { return take_used(first, slot); });
  Filter& second = *core.threads[1]->filter;
  return core.l1.choose_victim(
      set, [&](std::uint32_t slot) { return take_used(first, slot) | take_used(second, slot); });
}

/// A clean line needs no write-back, because L1 and L2 agree on permissions.
[[gnu::always_inline]] inline void CoreCaches::evict_from_l1(Core& core, std::uint32_t slot) {
  const LineAddr line = core.l1.line(slot);
  const WayState& state = core.l1.state(slot);
  forget_in_filters(core, line, slot);
  if (state.flags & kDirty) write_back_to_l2(core, line, state);
  core.l1.remove(slot);
}

void CoreCaches::write_back_to_l2(Core& core, LineAddr line, const WayState& state) {
  const std::uint32_t l2_slot = core.l2.find(line, state.flags >> kL2WayShift);
  const WayState written = state.with_flags(state.flags & (kPermissions | kDirty));
  if (l2_slot == kNoSlot) {
    insert_into_l2(core, line, written);
  } else {
    core.l2.state(l2_slot) = written;
    core.l2.mark_used(l2_slot);
  }
}

[[gnu::always_inline]] inline std::uint32_t CoreCaches::insert_into_l2(Core& core, LineAddr line,
                                                                       WayState state) {
  const std::uint32_t slot = core.l2.choose_victim(core.l2.set_of(line));
  core.l2.put(slot, line, state);
  return slot;
}

[[gnu::always_inline]] inline void CoreCaches::forget_in_filters(Core& core, LineAddr line,
                                                                 std::uint32_t slot) {
  core.for_each_thread([&](Cpu& cpu) { fast_path::forget(*cpu.filter, core.l1, line, slot); });
}

void CoreCaches::forget_code(Core& core, LineAddr line) {
  core.for_each_thread([&](Cpu& cpu) { cpu.filter->close_code(line); });
}

void CoreCaches::drop_code(Core& core, LineAddr line) {
  const std::uint32_t slot = core.l1i.find(line);
  if (slot == kNoSlot) return;
  forget_code(core, line);
  core.l1i.remove(slot);
}

}  // namespace elision::machine
