// SPDX-License-Identifier: Apache-2.0
// Sections under one lock for all: a pthread mutex, which a preloaded library may elide, or an
// elision::mutex; and without any.
#pragma once

#include <pthread.h>

#include "elision/elision.hpp"
#include "sections/plain.h"

namespace workloads::sections {

/// One pthread mutex.
class GlobalLock {
 public:
  using Transaction = Plain;
  static constexpr const char* kName = "lock";
  static constexpr bool kCountsAborts = false;

  class Thread {
   public:
    explicit Thread(GlobalLock& shared) : mutex_(shared.mutex_) {}
    template <class Body>
    void atomically(Body body) {
      Transaction transaction;
      pthread_mutex_lock(&mutex_);
      body(transaction);
      pthread_mutex_unlock(&mutex_);
      ++counts.commits;
    }
    Counts counts;

   private:
    pthread_mutex_t& mutex_;
  };

 private:
  alignas(128) pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/// One mutex of libelision-api.
class ApiLock {
 public:
  using Transaction = Plain;
  static constexpr const char* kName = "api";
  static constexpr bool kCountsAborts = false;

  class Thread {
   public:
    explicit Thread(ApiLock& shared) : mutex_(shared.mutex_) {}
    template <class Body>
    void atomically(Body body) {
      Transaction transaction;
      mutex_.lock();
      body(transaction);
      mutex_.unlock();
      ++counts.commits;
    }
    Counts counts;

   private:
    elision::mutex& mutex_;
  };

 private:
  alignas(128) elision::mutex mutex_;
};

/// For one thread.
class Sequential {
 public:
  using Transaction = Plain;
  static constexpr const char* kName = "sequential";
  static constexpr bool kCountsAborts = false;

  class Thread {
   public:
    explicit Thread(Sequential&) {}
    template <class Body>
    void atomically(Body body) {
      Transaction transaction;
      body(transaction);
      ++counts.commits;
    }
    Counts counts;
  };
};

}  // namespace workloads::sections
