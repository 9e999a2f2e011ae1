// SPDX-License-Identifier: Apache-2.0
// This library's state of each thread: initial-exec TLS, zero until used.
//
// Aborts are recorded outside of transactions, like the counters.
#pragma once

#include <cstdint>

#include "abi/counters.h"
#include "locks/entry.h"

namespace elision::api {

struct ThreadState {
  locks::TransactionContext transaction;
  abi::CounterEntry counters;
  abi::ThreadActivity activity;
  std::uint64_t failed_attempts = 0;
  std::uint32_t last_abort = 0;  // EAX
};

extern constinit thread_local ThreadState this_thread;

}  // namespace elision::api
