// SPDX-License-Identifier: Apache-2.0
// Samples call paths of this process's threads for a reader outside (abi/call_paths.h): by a timer of each
// thread's CPU time, and at the end of waits.
//
// The timers' signal is SIGURG, since what it does by default is nothing: a program that resets its
// signals gets no samples, and goes on. If the program has a handler of its own when its first thread takes a
// lock, there are no timers. A handler that it installs later gets the timers' signals. The timers run only
// while their thread does, so that few system calls are interrupted, and most of these restart. A thread that
// blocks the signal has no timer, since such threads may wait for all signals.
//
// The ring is made when the first thread takes a lock: many processes take none.
//
// The handler allocates nothing, takes no lock and needs little stack. If there is no room for a sample, the
// sample is lost, and counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/call_paths.h"
#include "abi/counters.h"

namespace elision::runtime {

class CallPaths {
 public:
  static constexpr std::uint32_t kMostFrequency = 10'000;

  /// Samples `frequency` times in a second of each thread's CPU time, into the file with `number` in
  /// `directory`, which must outlive it. Without a file, or with 0, nothing is sampled.
  void set_up(const char* directory, long number, std::uint32_t frequency);
  /// In the child of a fork: a file of its own.
  void set_up_in_child(long number);

  /// The calling thread begins, with the slot of this index of its own.
  void thread_begins(std::uint32_t slot, std::uint32_t thread_id);
  /// The calling thread has waited for a lock.
  void waited(const abi::CounterEntry& entry, std::uint64_t ticks);
  /// A signal of the calling thread's timer.
  void timer_signal(std::uint32_t expirations, const void* context);

 private:
  enum class Ring : int { kNone, kBeingMade, kThere };

  void ensure_ring();
  void make_ring();
  void start_timer(std::uint32_t slot, std::uint32_t thread_id) const;
  abi::PathSample* claim(std::uint64_t& number);
  void write(abi::PathEvent event, std::uint64_t weight, const abi::SeenActivity& seen,
             const std::uint64_t* registers);

  const char* directory_ = nullptr;
  long number_ = -1;
  std::uint32_t frequency_ = 0;
  std::atomic<Ring> ring_{Ring::kNone};
  abi::PathsHeader* header_ = nullptr;  // null: nothing is sampled
  bool has_signal_ = false;
  std::uint64_t ticks_a_wait_ = 0;  // between two samples of waits
};

extern constinit CallPaths call_paths;

}  // namespace elision::runtime
