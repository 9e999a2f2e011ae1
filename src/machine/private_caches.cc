// SPDX-License-Identifier: Apache-2.0
// How lines enter and leave a core's own caches. L2 need not contain L1; what leaves L1 unmodified and is not
// in L2 is gone, and the directory is not told (directory.h).
#include "machine/internals.h"

namespace elision::machine {

/// An empty L1 slot for the requested line. kNoSlot if the slot to be emptied holds a line that the
/// requester's own transaction has written: nothing has changed then but the clock hand.
std::uint32_t Model::Impl::make_room_in_l1(const Request& request, Cpu& one) {
  PrivateCache& l1 = core[one.core].l1;
  const std::uint32_t slot = l1.choose_victim(l1.set_of(request.line), [&](std::uint32_t examined) {
    for_each_thread(one.core, [&](Cpu& sibling) {
      FilterEntry* entry = fast_path::find(*sibling.filter, l1, l1.line(examined), examined);
      if (entry) fast_path::collect(*entry, l1);
    });
  });
  if (l1.empty(slot)) return slot;
  if (!end_transactions_of_victim(request, one, slot)) return kNoSlot;
  if (!l1.empty(slot)) evict_from_l1(one.core, slot);
  return slot;
}

/// Ends the transactions of siblings that cannot live without the L1 copy in `slot`. False if the
/// requester's own is among them.
bool Model::Impl::end_transactions_of_victim(const Request& request, Cpu& one, std::uint32_t slot) {
  PrivateCache& l1 = core[one.core].l1;
  const std::uint16_t flags = l1.state(slot).flags;
  const LineAddr old = l1.line(slot);
  const auto needs_it = [&](const Cpu& who) {
    if (!who.transaction.active) return false;
    if (flags & who.mine(kTransactionWritten)) return true;
    return (flags & who.mine(kTransactionRead)) && aborts_on_eviction_of_read_line(who, ReadEviction::kL1);
  };
  if (needs_it(one)) return false;
  for_each_thread(one.core, [&](Cpu& sibling) {
    if (&sibling == &one || !needs_it(sibling)) return;
    abort_other(sibling, AbortCause::kCapacity, old, request.cpu, request.now);
  });
  return true;
}

void Model::Impl::evict_from_l1(unsigned home, std::uint32_t slot) {
  Core& at = core[home];
  const LineAddr line = at.l1.line(slot);
  forget_in_filters(home, line, slot);
  const WayState& old = at.l1.state(slot);
  const WayState state = old.with_flags(old.flags & (kPermissions | kDirty));
  at.l1.remove(slot);
  const std::uint32_t l2_slot = at.l2.find(line);
  if (l2_slot != kNoSlot) {
    WayState& lower = at.l2.state(l2_slot);
    lower = state.with_flags(state.flags | kUsed | (lower.flags & kDirty));
  } else if (state.flags & kDirty) {
    insert_into_l2(at, line, state);
  }
}

std::uint32_t Model::Impl::insert_into_l2(Core& at, LineAddr line, WayState state) {
  const std::uint32_t slot = at.l2.choose_victim(at.l2.set_of(line));
  at.l2.put(slot, line, state.with_flags(state.flags | kUsed));
  return slot;
}

void Model::Impl::forget_in_filters(unsigned home, LineAddr line, std::uint32_t slot) {
  for_each_thread(home, [&](Cpu& one) { fast_path::forget(*one.filter, core[home].l1, line, slot); });
}

}  // namespace elision::machine
