// SPDX-License-Identifier: Apache-2.0
// elision_lockset_*: sections under several mutexes as one transaction (locks/lockset.h).
#include "locks/lockset.h"

#include "api/lock.h"
#include "elision/elision.h"

namespace {

using elision::api::Self;
using elision::api::this_thread;
using elision::locks::Entry;
using Set = elision::locks::LockSet<elision_mutex>;
using Design = elision::locks::LockSetDesign<elision::api::Elided, elision_mutex>;

/// Each mutex of the set that was taken for real is left on its own: the first is noted already.
void note_others(Entry entry, elision_mutex* const* mutexes, std::size_t count) {
  for (std::size_t i = 1; entry == Entry::kHolding && i < count; ++i)
    this_thread.activity.take(mutexes[i], nullptr);
}

}  // namespace

void elision_lockset_lock(elision_mutex* const* mutexes, size_t count) {
  const Set set{mutexes, count};
  const Self self(count != 0 ? mutexes[0] : nullptr);
  const Entry entry =
      elision::api::elides() ? Design::enter(set, self, nullptr) : Design::take_really(set, self, nullptr);
  (void)elision::api::is_inside(entry);
  note_others(entry, mutexes, count);
}

int elision_lockset_try_lock(elision_mutex* const* mutexes, size_t count) {
  const Set set{mutexes, count};
  const Self self(count != 0 ? mutexes[0] : nullptr);
  const Entry entry =
      elision::api::elides() ? Design::try_enter(set, self) : Design::try_take_really(set, self);
  note_others(entry, mutexes, count);
  return entry == Entry::kBusy || entry == Entry::kOwn ? EBUSY : 0;
}

int elision_lockset_unlock(elision_mutex* const* mutexes, size_t count) {
  const bool elided = this_thread.transaction.inside();
  if (!Design::leave({mutexes, count}, this_thread.transaction)) return EPERM;
  for (std::size_t i = 0; !elided && i < count; ++i) this_thread.activity.release();
  return 0;
}
