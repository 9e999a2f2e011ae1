// SPDX-License-Identifier: Apache-2.0
// An OpenMP lock that std::lock_guard can hold. With libgomp it has four bytes, and waiters spin before
// they sleep.
#pragma once

#include <omp.h>

namespace workloads::hpc {

class OpenMpLock {
 public:
  OpenMpLock() { omp_init_lock(&lock_); }
  ~OpenMpLock() { omp_destroy_lock(&lock_); }
  OpenMpLock(const OpenMpLock&) = delete;
  OpenMpLock& operator=(const OpenMpLock&) = delete;

  void lock() { omp_set_lock(&lock_); }
  bool try_lock() { return omp_test_lock(&lock_) != 0; }
  void unlock() { omp_unset_lock(&lock_); }

 private:
  omp_lock_t lock_;
};

}  // namespace workloads::hpc
