// SPDX-License-Identifier: Apache-2.0
// Runs a thread's sections under the one lock of all sections, in the variants of the TSX paper (section
// 5.2). A thread makes an object of one of these classes for each pass. The destructor ends an open
// transaction.
#pragma once

#include <cstdint>
#include <mutex>

#include "elision/elision.hpp"
#include "hpc/application.h"

namespace workloads::hpc {

/// No synchronisation: right for one thread only.
class Unsynchronised {
 public:
  explicit Unsynchronised(const Thread&) {}
  template <class Body>
  void section(Body body) {
    body();
  }
};

/// A transaction for each section: the paper's tsx.init.
class OneByOne {
 public:
  explicit OneByOne(const Thread& thread) : mutex_(thread.mutex) {}
  template <class Body>
  void section(Body body) {
    const std::lock_guard lock(mutex_);
    body();
  }

 private:
  elision::mutex& mutex_;
};

/// A transaction for as many sections as the granularity says: the paper's tsx.coarsen. The transaction
/// also has the code between the sections (Listing 3). If the thread takes the lock, that code runs under
/// it.
class Coarsened {
 public:
  explicit Coarsened(const Thread& thread) : mutex_(thread.mutex), granularity_(thread.granularity) {}
  Coarsened(const Coarsened&) = delete;
  Coarsened& operator=(const Coarsened&) = delete;
  ~Coarsened() {
    if (sections_ != 0) mutex_.unlock();
  }
  template <class Body>
  void section(Body body) {
    if (sections_ == 0) mutex_.lock();
    body();
    if (++sections_ < granularity_) return;
    sections_ = 0;
    mutex_.unlock();
  }

 private:
  elision::mutex& mutex_;
  const std::uint32_t granularity_;
  std::uint32_t sections_ = 0;  // sections in the open transaction
};

/// As coarsen, with an elision::coarsener that adapts: if a transaction fails for good, its sections take
/// the lock one by one.
class Adaptive {
 public:
  explicit Adaptive(const Thread& thread) : mutex_(thread.mutex) {}
  template <class Body>
  void section(Body body) {
    const elision::coarsener::lock_guard lock(coarsener_, mutex_);
    body();
  }

 private:
  elision::mutex& mutex_;
  elision::coarsener coarsener_;
};

}  // namespace workloads::hpc
