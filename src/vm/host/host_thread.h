// SPDX-License-Identifier: Apache-2.0
// Host threads beside the engine's own: for calls that may block (host_helper.h) and for other credentials
// (credentials.h).
//
// Such a thread starts with all signals blocked and with the credentials of the thread that starts it. A
// fork's child does not have it.
#pragma once

#include <pthread.h>

namespace elision::vm {

/// False if the host gives no thread.
bool start_host_thread(pthread_t& thread, void* (*run)(void*), void* argument);

}  // namespace elision::vm
