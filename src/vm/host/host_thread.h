// SPDX-License-Identifier: Apache-2.0
// Host threads beside the engine's own, which makes everything else: for calls that may block (host_helper.h)
// and for credentials that differ (credentials.h).
//
// Such a thread begins with all signals blocked. Like any thread it has the credentials of the one that
// starts it, so who starts it matters. A fork's child does not have it.
#pragma once

#include <pthread.h>

namespace elision::vm {

/// False: the host has no thread to spare.
bool start_host_thread(pthread_t& thread, void* (*run)(void*), void* argument);

}  // namespace elision::vm
