// SPDX-License-Identifier: Apache-2.0
// elision_lockset_*: sections under several mutexes as one transaction (locks/lockset.h).
#include "locks/lockset.h"

#include "api/lock.h"
#include "elision/elision.h"

namespace {

using elision::api::MutexLock;
using elision::api::Self;
using elision::api::self_at;
using elision::locks::Entry;
using Set = elision::locks::LockSet<elision_mutex>;
using Design = elision::locks::LockSetDesign<elision::api::Elided, elision_mutex>;

/// The calling thread at a set: in progress at the mutex named first, and then at each of them.
class SelfAtSet : public Self {
 public:
  SelfAtSet(const Set& set, const void* site)
      : Self(self_at(set.count != 0 ? set.members[0] : nullptr, site)), set_(&set) {}
  void took() const {
    set_->for_each_backwards([this](elision_mutex* mutex) { take(mutex); });
  }

 private:
  const Set* set_;
};

}  // namespace

void elision_lockset_lock(elision_mutex* const* mutexes, size_t count) {
  const Set set{mutexes, count};
  const SelfAtSet self(set, ELISION_CALL_SITE);
  (void)elision::api::is_inside(elision::api::elides() ? Design::enter(set, self, nullptr)
                                                       : Design::take_really(set, self, nullptr));
}

int elision_lockset_try_lock(elision_mutex* const* mutexes, size_t count) {
  const Set set{mutexes, count};
  const SelfAtSet self(set, ELISION_CALL_SITE);
  const Entry entry =
      elision::api::elides() ? Design::try_enter(set, self) : Design::try_take_really(set, self);
  return entry == Entry::kBusy || entry == Entry::kOwn ? EBUSY : 0;
}

int elision_lockset_unlock(elision_mutex* const* mutexes, size_t count) {
  int result = 0;
  Set{mutexes, count}.for_each_backwards([&](elision_mutex* mutex) {
    if (MutexLock::leave({elision::api::word_at(&mutex->word)}) != 0) result = EPERM;
  });
  return result;
}
