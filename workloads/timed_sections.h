// SPDX-License-Identifier: Apache-2.0
// The run that arraybench, onelock and preemption share: threads do critical sections for a given time, or a
// given number of sections together.
//
// Threads warm up, begin together and end together: at the deadline, or when the sections are used up. Only
// the first thread reads the clock, and only now and then: where that is a system call, it would abort a
// speculation that runs on past unlock.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "command_line.h"
#include "support.h"

namespace workloads {

struct RunLength {
  double seconds = 1.0;
  std::uint64_t sections = 0;  // of all threads together; 0: run by time
};

/// Its options: --seconds or --sections.
inline void add_length(CommandLine& line, RunLength& length) {
  const Option seconds =
      line.add("--seconds", length.seconds, "length of the counted window").within_real(0, 1e6);
  line.add("--sections", length.sections, "run this many sections in total instead").excludes(seconds);
}

/// The result of a thread. `Extra` has the program's other counts.
template <class Extra>
struct alignas(128) ThreadResult : Extra {
  std::uint64_t sections = 0;
  std::uint64_t end_ns = 0;
};

class TimedSections {
 public:
  TimedSections(unsigned threads, RunLength length) : length_(length) {
    pthread_barrier_init(&barrier_, nullptr, threads + 1);
  }

  /// Called by a thread after its warm-up. Waits for the others, then calls `section` until the run ends.
  template <class Result, class Section>
  void repeat(unsigned thread, Result& result, Section section) {
    pthread_barrier_wait(&barrier_);  // all are warm: the clock is set
    pthread_barrier_wait(&barrier_);  // all begin
    if (length_.sections != 0) {
      for (; take_section(); ++result.sections) section();
    } else {
      for (; !time_is_up(thread, result.sections); ++result.sections) section();
    }
    result.end_ns = now_ns();
  }

  /// Starts a thread for each result, which calls `work(thread, result)`; `work` must call repeat(). Returns
  /// the length of the run in nanoseconds.
  template <class Result, class Work>
  std::uint64_t run(std::vector<Result>& results, Work work) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < results.size(); ++i) threads.emplace_back([&, i] { work(i, results[i]); });
    pthread_barrier_wait(&barrier_);
    sections_left_ = static_cast<std::int64_t>(length_.sections);
    const std::uint64_t start = now_ns();
    deadline_ns_ = start + static_cast<std::uint64_t>(length_.seconds * 1e9);
    pthread_barrier_wait(&barrier_);
    for (std::thread& thread : threads) thread.join();
    std::uint64_t end = start;
    for (const Result& result : results) end = std::max(end, result.end_ns);
    return end - start;
  }

 private:
  static constexpr std::uint64_t kSectionsPerLook = 8;

  bool take_section() { return sections_left_.fetch_sub(1, std::memory_order_relaxed) > 0; }
  bool time_is_up(unsigned thread, std::uint64_t sections) {
    if (thread == 0 && sections % kSectionsPerLook == 0 &&
        now_ns() >= deadline_ns_.load(std::memory_order_relaxed)) {
      time_is_up_.store(true, std::memory_order_relaxed);
    }
    return time_is_up_.load(std::memory_order_relaxed);
  }

  const RunLength length_;
  // Each of these on a line of its own.
  alignas(128) pthread_barrier_t barrier_;
  alignas(128) std::atomic<std::uint64_t> deadline_ns_{0};
  alignas(128) std::atomic<bool> time_is_up_{false};
  alignas(128) std::atomic<std::int64_t> sections_left_{0};
};

/// Prints the sections of all threads, the seconds and the throughput.
template <class Result>
void print_throughput(const std::vector<Result>& results, std::uint64_t run_ns) {
  std::uint64_t sections = 0;
  for (const Result& result : results) sections += result.sections;
  print_throughput("sections", sections, run_ns);
}

}  // namespace workloads
