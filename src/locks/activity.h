// SPDX-License-Identifier: Apache-2.0
// The calling thread's activity (abi/thread_activity.h) at one lock and call site.
#pragma once

#include "abi/thread_activity.h"

namespace elision::locks {

struct ActivityAt {
  abi::ThreadActivity* thread;
  const void* lock;
  const void* site;

  /// Begins something at the lock.
  [[gnu::always_inline]] void begin(abi::Activity activity) const { thread->begin(activity, lock, site); }
  [[gnu::always_inline]] void turn_to(abi::Activity activity) const { thread->turn_to(activity); }
  /// Ends it without the lock.
  [[gnu::always_inline]] void end() const { thread->end(); }
};

}  // namespace elision::locks
