// SPDX-License-Identifier: Apache-2.0
// How lines enter and leave a core's own caches. L2 need not contain L1; what leaves L1 unmodified and is not
// in L2 is gone, and the directory is not told (directory.h).
#include "machine/internals.h"

namespace elision::machine {

/// Where `line` goes in L1; the slot may still hold another line. What filters noted counts as use.
[[gnu::always_inline]] inline std::uint32_t Model::Impl::l1_victim(Core& home, LineAddr line) {
  const std::uint32_t set = home.l1.set_of(line);
  const auto take_used = [&home](Filter& filter, std::uint32_t slot) {
    return fast_path::take_used(filter.at(home.l1.line(slot)), slot);
  };
  Filter& first = *home.thread[0]->filter;
  if (home.threads == 1)
    return home.l1.choose_victim(set, [&](std::uint32_t slot) { return take_used(first, slot); });
  Filter& second = *home.thread[1]->filter;
  return home.l1.choose_victim(
      set, [&](std::uint32_t slot) { return take_used(first, slot) | take_used(second, slot); });
}

/// An empty L1 slot for the requested line. kNoSlot if the slot to be emptied holds a line that the
/// requester's own transaction has written: nothing has changed then but the clock hand.
[[gnu::always_inline]] inline std::uint32_t Model::Impl::make_room_in_l1(const Request& request, Cpu& one) {
  Core& home = *one.home;
  const std::uint32_t slot = l1_victim(home, request.line);
  if (home.l1.empty(slot)) return slot;
  if (home.l1.state(slot).flags & kTransactional) {
    if (!end_transactions_of_victim(request, one, slot)) return kNoSlot;
    if (home.l1.empty(slot)) return slot;
  }
  evict_from_l1(home, slot);
  return slot;
}

/// Ends the transactions of siblings that cannot live without the L1 copy in `slot`. False if the
/// requester's own is among them.
bool Model::Impl::end_transactions_of_victim(const Request& request, Cpu& one, std::uint32_t slot) {
  PrivateCache& l1 = one.home->l1;
  const std::uint16_t flags = l1.state(slot).flags;
  const LineAddr old = l1.line(slot);
  const auto needs_it = [&](const Cpu& who) {
    if (!who.transaction.active) return false;
    if (flags & who.mine(kTransactionWritten)) return true;
    return (flags & who.mine(kTransactionRead)) && aborts_on_eviction_of_read_line(who, ReadEviction::kL1);
  };
  if (needs_it(one)) return false;
  for_each_thread(*one.home, [&](Cpu& sibling) {
    if (&sibling == &one || !needs_it(sibling)) return;
    abort_other(sibling, HardwareAbort::kCapacity, old, request.cpu, request.now);
  });
  return true;
}

/// A line that was not written while it was here has nothing to tell L2: permissions are the same in both.
[[gnu::always_inline]] inline void Model::Impl::evict_from_l1(Core& home, std::uint32_t slot) {
  const LineAddr line = home.l1.line(slot);
  const WayState& state = home.l1.state(slot);
  forget_in_filters(home, line, slot);
  if (state.flags & kTransactional) note_read_lines(home, line, state.flags);
  if (state.flags & kDirty) write_back_to_l2(home, line, state);
  home.l1.remove(slot);
}

/// Transactions that have read the line, and go on without its L1 copy, keep it in their filters.
void Model::Impl::note_read_lines(Core& home, LineAddr line, std::uint16_t flags) {
  for_each_thread(home, [&](Cpu& one) {
    if (!one.transaction.active || !(flags & one.mine(kTransactionRead))) return;
    one.transaction.read_filter.add(line);
    if (!one.transaction.read_filter.empty()) read_filters_in_use.set(one.id);
  });
}

void Model::Impl::write_back_to_l2(Core& home, LineAddr line, const WayState& state) {
  const std::uint32_t l2_slot = home.l2.find(line);
  const WayState written = state.with_flags(state.flags & (kPermissions | kDirty));
  if (l2_slot == kNoSlot) {
    insert_into_l2(home, line, written);
  } else {
    home.l2.state(l2_slot) = written;
    home.l2.mark_used(l2_slot);
  }
}

[[gnu::always_inline]] inline std::uint32_t Model::Impl::insert_into_l2(Core& at, LineAddr line,
                                                                        WayState state) {
  const std::uint32_t slot = at.l2.choose_victim(at.l2.set_of(line));
  at.l2.put(slot, line, state);
  return slot;
}

[[gnu::always_inline]] inline void Model::Impl::forget_in_filters(Core& home, LineAddr line,
                                                                  std::uint32_t slot) {
  for_each_thread(home, [&](Cpu& one) { fast_path::forget(*one.filter, home.l1, line, slot); });
}

}  // namespace elision::machine
