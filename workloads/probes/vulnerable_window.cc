// SPDX-License-Identifier: Apache-2.0
// How long a conflict can abort a transaction (the probe "vulnerable-window"): vulnerable_window [ATTEMPTS].
//
// One thread runs transactions that access a line, compute for a while and commit. The other stores to that
// line at independent random times. If stores come as a Poisson process of rate r, and a transaction can lose
// its line for w ticks, it survives with probability exp(-r w). So w = -ln(1 - aborts) / r. As a check, w
// must grow with the length of the computation; w without computation is the window of begin, access and
// commit. If a written line cannot be taken during the commit, a writing transaction has a shorter window
// than a reading one.
//
// Between two attempts the first thread waits some 500 ticks, so that its line returns by a load outside of
// transactions. Each line has the window in ticks, the percentage of aborts, and the median ticks from begin
// to the end of the commit.
#include <atomic>
#include <thread>

#include "experiment.h"

namespace {

using elision::htm::Rtm;
using elision::htm::Status;

struct alignas(128) Line {
  std::uint64_t words[8] = {};
};

constexpr std::uint64_t kMeanGapTicks = 3000;

Line line;
std::atomic<bool> stop, storing;

/// A random length with the exponential distribution of that mean.
std::uint64_t exponential(elision::Random& random, std::uint64_t mean) {
  const double uniform =
      (static_cast<double>(random.below(1u << 30)) + 1) / static_cast<double>((1u << 30) + 1);
  return static_cast<std::uint64_t>(-std::log(uniform) * static_cast<double>(mean));
}

struct Stores {
  std::uint64_t count = 0, ticks = 0;
};

/// Stores at random times until told to stop. The times do not depend on the duration of stores, but a store
/// that is due during another one is late.
void store_now_and_then(Stores& stores) {
  probe::pin_to(1);
  elision::Random random(7);
  probe::store(&line, 0);
  storing = true;
  std::uint64_t start = probe::ticks(), next = start;
  while (!stop.load(std::memory_order_relaxed)) {
    next += exponential(random, kMeanGapTicks);
    std::uint64_t now = probe::ticks();
    if (now > next + 10 * kMeanGapTicks) {
      start += now - next;
      next = now;
    }
    while (now < next) now = probe::ticks();
    probe::store(&line, next);
    ++stores.count;
  }
  stores.ticks = probe::ticks() - start;
}

/// The share of attempts that abort by conflict. `spent` gets the ticks of those that commit.
double aborts(bool writes, std::uint64_t multiplications, std::uint64_t attempts,
              std::vector<std::uint64_t>& spent) {
  elision::Random random(11);
  std::uint64_t aborted = 0, counted = 0;
  for (std::uint64_t i = 0; i < attempts; ++i) {
    (void)probe::load(&line);
    probe::work(100 + random.below(100));
    (void)probe::load(&line);
    const std::uint64_t before = probe::ticks();
    const Status status = Rtm::begin();
    if (status.started()) {
      if (writes) {
        probe::store(&line, i);
      } else {
        (void)probe::load(&line);
      }
      probe::work(multiplications);
      Rtm::commit();
      spent.push_back(probe::ticks() - before);
    }
    if (!status.started() && !status.is_conflict()) continue;
    ++counted;
    aborted += !status.started();
  }
  return counted == 0 ? 0 : static_cast<double>(aborted) / static_cast<double>(counted);
}

void run(bool writes, std::uint64_t multiplications, std::uint64_t attempts) {
  Stores stores;
  stop = storing = false;
  std::thread other([&] { store_now_and_then(stores); });
  while (!storing.load()) sched_yield();
  std::vector<std::uint64_t> spent;
  spent.reserve(attempts);
  const double share = aborts(writes, multiplications, attempts, spent);
  stop = true;
  other.join();
  const double rate = static_cast<double>(stores.count) / static_cast<double>(stores.ticks);
  std::sort(spent.begin(), spent.end());
  std::printf("%s_%" PRIu64 "_window_percent_length: %.1f %.2f %" PRIu64 "\n", writes ? "write" : "read",
              3 * multiplications, -std::log(1 - share) / rate, 100 * share,
              spent.empty() ? std::uint64_t{0} : spent[spent.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t attempts = probe::count_argument(argc, argv, 100000);
  probe::require_rtm();
  probe::require_cpus(2);
  probe::pin_to(0);
  std::printf("clock_ticks: %" PRIu64 "\n", probe::clock_ticks());
  for (const bool writes : {false, true}) {
    for (const std::uint64_t multiplications : {0, 25, 50, 100, 200, 400})
      run(writes, multiplications, attempts);
  }
  return 0;
}
