// SPDX-License-Identifier: Apache-2.0
// The sections of a thread under the one lock of all sections, in the ways of the TSX paper (section 5.2).
// Each class is made for a pass of a thread. Its destructor ends what is open.
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

/// As many sections in a transaction as the granularity says: the paper's tsx.coarsen. The code between them
/// is in the transaction too (Listing 3), and runs under the lock where that is taken.
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
  std::uint32_t sections_ = 0;  // in the open transaction
};

/// The same by an elision::coarsener that adapts: sections whose transaction aborts for good take the lock
/// one by one.
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
