// SPDX-License-Identifier: Apache-2.0
// pthread spin locks over a design's variant for their one word. Any of them may be process-shared, so the
// word has glibc's protocol (locks/spin_word.h).
#pragma once

#include <cerrno>

#include "locks/designs.h"
#include "runtime/caller.h"
#include "runtime/overlay.h"

namespace elision::runtime {

template <class MutexDesign>
class Spinlock {
  using Design = typename MutexDesign::OnSpinWord;

 public:
  static int lock(pthread_spinlock_t* raw, const void* site) {
    if (Design::speculating()) [[unlikely]]
      return 0;
    const CallerAt caller(const_cast<int*>(raw), site);
    // Taking it twice is a deadlock, which then happens outside of the transaction.
    if (Design::enter(words_of(raw), caller, nullptr) == locks::Entry::kOwn)
      Design::require_real_locks(caller.transaction());
    return 0;
  }

  static int trylock(pthread_spinlock_t* raw, const void* site) {
    if (Design::speculating()) [[unlikely]]
      return Design::is_held(words_of(raw)) ? EBUSY : 0;
    const CallerAt caller(const_cast<int*>(raw), site);
    const locks::Entry entry = Design::try_enter(words_of(raw), caller);
    return entry == locks::Entry::kBusy || entry == locks::Entry::kOwn ? EBUSY : 0;
  }

  static int unlock(pthread_spinlock_t* raw, const void* site) {
    if (Design::speculating()) [[unlikely]] {
      end_speculation_at_unlock<Design>();
      return 0;
    }
    locks::TransactionContext& me = this_thread.transaction;
    const bool elided = Design::elided_entry(words_of(raw), me) != nullptr;
    if (!Design::leave(words_of(raw), me)) [[unlikely]]
      return report_misuse(Misuse::kUnlockOfFree, const_cast<int*>(raw), site), 0;
    if (!elided) note_released(this_thread);
    return 0;
  }

  static int destroy(pthread_spinlock_t* raw, const void* site) {
    if (Design::is_held(words_of(raw))) report_misuse(Misuse::kDestroyOfHeld, const_cast<int*>(raw), site);
    return 0;  // as glibc, which never refuses
  }
};

}  // namespace elision::runtime
