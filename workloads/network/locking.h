// SPDX-License-Identifier: Apache-2.0
// The locks and condition variables of the packet stack, all in one module as in the original: pthread's,
// which a preloaded library may replace.
#pragma once

#include <pthread.h>

namespace workloads::network {

/// A pthread mutex that std::lock_guard can hold.
class alignas(128) Mutex {
 public:
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class Condition;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class alignas(128) Condition {
 public:
  /// Waits as in the paper's Listing 4.
  template <class Holds>
  void wait_until(Mutex& mutex, Holds holds) {
    while (!holds()) pthread_cond_wait(&condition_, &mutex.mutex_);
  }
  void signal() { pthread_cond_signal(&condition_); }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace workloads::network
