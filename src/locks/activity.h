// SPDX-License-Identifier: Apache-2.0
// The calling thread's activity (abi/thread_activity.h) at one lock and call site. For the two libraries.
#pragma once

#include "abi/thread_activity.h"

/// The program's address from which an exported function was called.
#define ELISION_CALL_SITE __builtin_extract_return_addr(__builtin_return_address(0))

namespace elision::locks {

/// Of threads that a library does not know: they release a lock and have never taken one. They share it
/// without synchronisation, since no reader evaluates it.
inline constinit abi::ThreadActivity activity_of_nobody;

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
