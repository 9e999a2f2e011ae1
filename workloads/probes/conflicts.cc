// SPDX-License-Identifier: Apache-2.0
// Conflicts of two threads while both run (the probe "conflicts"): conflicts [ATTEMPTS].
//
// As in conflict_matrix, two pinned threads run transactions with one access to the same line. Here both stop
// when one has finished its attempts, so that neither runs alone. Prints the time of an attempt beside the
// share of aborts, and the first thread's aborts by tenths of its attempts, since a share may be the average
// of two phases. With "shared" both count in atomic variables on one line, for which they contend after each
// transaction; with "private" each has its own lines.
#include <atomic>
#include <thread>

#include "experiment.h"

namespace {

using elision::htm::Rtm;
using elision::htm::Status;

constexpr int kTenths = 10;

struct alignas(128) Line {
  volatile std::uint64_t word = 0;
};

/// One thread's counters: on one line for both threads, or on separate lines.
struct Counters {
  std::atomic<std::uint64_t> commits, aborts;
};

struct alignas(128) SharedCounters {
  Counters of[2];
};

struct alignas(128) PrivateCounters {
  Counters of;
};

struct Result {
  std::uint64_t attempts = 0, aborts = 0, conflicts = 0, ticks = 0;
  std::uint64_t tenth_attempts[kTenths] = {}, tenth_aborts[kTenths] = {};
};

Line line;
SharedCounters shared_counters;
PrivateCounters private_counters[2];
std::atomic<bool> stop;
pthread_barrier_t barrier;

template <bool kWrites>
Status attempt(std::uint64_t value) {
  const Status status = Rtm::begin();
  if (!status.started()) return status;
  if constexpr (kWrites) {
    line.word = value;
  } else {
    (void)line.word;
  }
  Rtm::commit();
  return status;
}

template <bool kWrites>
void run_thread(unsigned thread, Counters& counters, std::uint64_t attempts, Result& result) {
  probe::pin_to(thread);
  pthread_barrier_wait(&barrier);
  const std::uint64_t start = probe::ticks();
  std::uint64_t made = 0;
  for (; made < attempts && !stop.load(std::memory_order_relaxed); ++made) {
    const Status status = attempt<kWrites>(made);
    const std::uint64_t tenth = made * kTenths / attempts;
    ++result.tenth_attempts[tenth];
    if (status.started()) {
      counters.commits.fetch_add(1);
      continue;
    }
    counters.aborts.fetch_add(1);
    ++result.aborts;
    ++result.tenth_aborts[tenth];
    if (status.is_conflict()) ++result.conflicts;
  }
  stop.store(true);
  result.ticks = probe::ticks() - start;
  result.attempts = made;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void print(const char* name, const char* counting, const Result* results) {
  std::printf("%s_%s_abort_percent: %.2f %.2f\n", name, counting,
              percent(results[0].aborts, results[0].attempts),
              percent(results[1].aborts, results[1].attempts));
  std::printf("%s_%s_conflict_percent: %.2f %.2f\n", name, counting,
              percent(results[0].conflicts, results[0].attempts),
              percent(results[1].conflicts, results[1].attempts));
  std::printf("%s_%s_ticks_an_attempt: %.1f %.1f\n", name, counting,
              ratio(results[0].ticks, results[0].attempts), ratio(results[1].ticks, results[1].attempts));
  std::printf("%s_%s_tenths_abort_percent:", name, counting);
  for (int tenth = 0; tenth < kTenths; ++tenth) {
    if (results[0].tenth_attempts[tenth] == 0) break;
    std::printf(" %.1f", percent(results[0].tenth_aborts[tenth], results[0].tenth_attempts[tenth]));
  }
  std::puts("");
}

template <bool kFirstWrites, bool kSecondWrites>
void run(const char* name, bool shared, std::uint64_t attempts) {
  Result results[2];
  stop = false;
  pthread_barrier_init(&barrier, nullptr, 2);
  Counters& first = shared ? shared_counters.of[0] : private_counters[0].of;
  Counters& second = shared ? shared_counters.of[1] : private_counters[1].of;
  std::thread one([&] { run_thread<kFirstWrites>(0, first, attempts, results[0]); });
  std::thread two([&] { run_thread<kSecondWrites>(1, second, attempts, results[1]); });
  one.join();
  two.join();
  pthread_barrier_destroy(&barrier);
  if (name != nullptr) print(name, shared ? "shared" : "private", results);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t attempts = probe::count_argument(argc, argv, 200000);
  probe::require_rtm();
  probe::require_cpus(2);
  run<false, false>(nullptr, true, attempts / 10 + 1);  // pages, predictors, clocks
  for (const bool shared : {true, false}) {
    run<false, false>("read_read", shared, attempts);
    run<false, true>("read_write", shared, attempts);
    run<true, false>("write_read", shared, attempts);
    run<true, true>("write_write", shared, attempts);
  }
  return 0;
}
