// SPDX-License-Identifier: Apache-2.0
// This library's state of each thread: initial-exec TLS, zero until used.
//
// Aborts are recorded outside of transactions, like the counters.
#pragma once

#include <cstdint>

#include "abi/counters.h"
#include "locks/activity.h"
#include "locks/entry.h"

namespace elision::api {

struct ThreadState {
  locks::TransactionContext transaction;
  abi::CounterEntry counters;
  // The preload library's if it is loaded, else `own_activity`; of nobody before the thread's first lock.
  abi::ThreadActivity* activity = &locks::activity_of_nobody;
  abi::ThreadActivity own_activity;
  bool elides = false;  // it has an activity, and the process elides
  std::uint64_t failed_attempts = 0;
  std::uint32_t last_abort = 0;  // EAX
};

extern constinit thread_local ThreadState this_thread;

/// Completes this_thread. Not inside a transaction, since its system calls would abort it.
void introduce_thread();

inline ThreadState& known_thread() {
  if (this_thread.activity == &locks::activity_of_nobody) [[unlikely]]
    introduce_thread();
  return this_thread;
}

}  // namespace elision::api
