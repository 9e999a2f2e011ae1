// SPDX-License-Identifier: Apache-2.0
// elision_thread_activity(), for libelision-api: a process with both libraries has one account, in which the
// locks of both are nested as the thread nests them.
#include "abi/thread_activity.h"

#include "preload/exported.h"
#include "runtime/process.h"
#include "runtime/thread_state.h"

ELISION_EXPORT elision::abi::ThreadActivity* elision_thread_activity(std::uint32_t version) {
  using elision::runtime::SetUp;
  if (version != elision::abi::kActivityVersion) return nullptr;
  return elision::runtime::ensure_set_up() == SetUp::kRunning ? nullptr
                                                              : elision::runtime::activity_for_other_locks();
}
