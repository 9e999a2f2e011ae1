// SPDX-License-Identifier: Apache-2.0
// What this library keeps for each thread: initial-exec TLS, all zero until it is used.
//
// What is noted of failed attempts is written outside of transactions, like the counters.
#pragma once

#include <cstdint>

#include "abi/counters.h"
#include "locks/entry.h"

namespace elision::api {

struct ThreadState {
  locks::TransactionContext transaction;
  abi::CounterEntry counters;
  std::uint64_t failed_attempts = 0;
  std::uint32_t last_abort = 0;  // EAX
};

extern constinit thread_local ThreadState this_thread;

}  // namespace elision::api
