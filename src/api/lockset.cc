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

}  // namespace

void elision_lockset_lock(elision_mutex* const* mutexes, size_t count) {
  const Set set{mutexes, count};
  const Self self(mutexes);
  if (elision::api::elides()) {
    (void)elision::api::is_inside(Design::enter(set, self, nullptr));
  } else {
    (void)Design::take_really(set, self, nullptr);
  }
}

int elision_lockset_try_lock(elision_mutex* const* mutexes, size_t count) {
  const Set set{mutexes, count};
  const Self self(mutexes);
  const Entry entry =
      elision::api::elides() ? Design::try_enter(set, self) : Design::try_take_really(set, self);
  return entry == Entry::kBusy || entry == Entry::kOwn ? EBUSY : 0;
}

int elision_lockset_unlock(elision_mutex* const* mutexes, size_t count) {
  const bool elided = this_thread.transaction.inside();
  const bool held = Design::leave({mutexes, count}, this_thread.transaction);
  if (!elided) this_thread.activity.release();
  return held ? 0 : EPERM;
}
