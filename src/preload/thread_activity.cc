// SPDX-License-Identifier: Apache-2.0
// elision_thread_activity(), for libelision-api: a process with both libraries has one account, in which the
// locks of both are nested as the thread nests them.
#include "preload/exported.h"
#include "runtime/process.h"
#include "runtime/thread_state.h"

/// The calling thread's. Null while this library is being set up. In the child of a fork it must be asked for
/// again.
ELISION_EXPORT elision::abi::ThreadActivity* elision_thread_activity(void) {
  using elision::runtime::SetUp;
  return elision::runtime::ensure_set_up() == SetUp::kRunning ? nullptr
                                                              : elision::runtime::activity_for_other_locks();
}
