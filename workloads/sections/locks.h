// SPDX-License-Identifier: Apache-2.0
// Sections under one lock for all: a pthread mutex, which a preloaded library may elide, or an
// elision::mutex; and without a lock.
#pragma once

#include <pthread.h>

#include <mutex>

#include "elision/elision.hpp"
#include "sections/plain.h"

namespace workloads::sections {

struct PthreadMutex {
  static constexpr const char* kName = "lock";
  void lock() { pthread_mutex_lock(&mutex); }
  void unlock() { pthread_mutex_unlock(&mutex); }
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};

/// Of libelision-api.
struct ApiMutex : elision::mutex {
  static constexpr const char* kName = "api";
};

/// For one thread.
struct NoMutex {
  static constexpr const char* kName = "sequential";
  void lock() {}
  void unlock() {}
};

template <class Mutex>
class UnderOne {
 public:
  using Transaction = Plain;
  static constexpr const char* kName = Mutex::kName;
  static constexpr bool kCountsAborts = false;

  class Thread {
   public:
    explicit Thread(UnderOne& shared) : mutex_(shared.mutex_) {}
    template <class Body>
    void atomically(Body body) {
      Transaction transaction;
      {
        const std::lock_guard lock(mutex_);
        body(transaction);
      }
      ++counts.commits;
    }
    Counts counts;

   private:
    Mutex& mutex_;
  };

 private:
  alignas(128) Mutex mutex_;
};

using GlobalLock = UnderOne<PthreadMutex>;
using ApiLock = UnderOne<ApiMutex>;
using Sequential = UnderOne<NoMutex>;

}  // namespace workloads::sections
