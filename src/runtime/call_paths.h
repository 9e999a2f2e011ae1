// SPDX-License-Identifier: Apache-2.0
// Samples call paths of this process's threads for a reader outside (abi/call_paths.h): by a timer of each
// thread's CPU time, and at the end of waits.
//
// The timers' signal is SIGURG, since what it does by default is nothing: a program that resets its
// signals gets no samples, and goes on. A program that handles SIGURG itself keeps its handler. The timers
// run only while their thread does, so that few system calls are interrupted, and most of these restart.
//
// The handler allocates nothing, takes no lock and needs little stack. If there is no room for a sample, the
// sample is lost, and counted.
#pragma once

#include <cstdint>

#include "abi/call_paths.h"
#include "abi/counters.h"

namespace elision::runtime {

class CallPaths {
 public:
  static constexpr std::uint32_t kMostFrequency = 10'000;

  /// Starts to sample `frequency` times in a second of each thread's CPU time, into the file with `number` in
  /// `directory`. Without a file, or with 0, nothing is sampled.
  void open(const char* directory, long number, std::uint32_t frequency);
  /// In the child of a fork: a file of its own.
  void reopen_in_child(const char* directory, long number);

  /// The calling thread begins, with the slot of this index of its own.
  void thread_begins(std::uint32_t slot, std::uint32_t thread_id);
  /// The calling thread has waited for a lock.
  void waited(const abi::CounterEntry& entry, std::uint64_t ticks);
  /// A signal of the calling thread's timer.
  void timer_signal(std::uint32_t expirations, const void* context);

 private:
  bool map(const char* directory, long number, void* place);
  void fill_header(bool signal_in_use);
  abi::PathSample* claim(std::uint64_t& number);
  void write(abi::PathEvent event, std::uint64_t weight, const abi::SeenActivity& seen,
             const std::uint64_t* registers);

  abi::PathsHeader* header_ = nullptr;  // null: nothing is sampled
  std::uint32_t frequency_ = 0;
  bool has_signal_ = false;
  std::uint64_t ticks_a_wait_ = 0;  // between two samples of waits
};

extern constinit CallPaths call_paths;

}  // namespace elision::runtime
