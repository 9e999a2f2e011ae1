// SPDX-License-Identifier: Apache-2.0
// Threads that share a list of work.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace elision::cli::experiment {

/// Calls `step()` on `workers` threads again and again until it returns false there. After an exception no
/// thread begins another step; when all have ended, the first exception goes on to the caller.
template <class Step>
void share_work(unsigned workers, Step step) {
  std::exception_ptr error;
  std::mutex mutex;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    try {
      while (!failed && step()) {
      }
    } catch (...) {
      const std::lock_guard guard(mutex);
      if (!error) error = std::current_exception();
      failed = true;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < workers; ++i) threads.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace elision::cli::experiment
