// SPDX-License-Identifier: Apache-2.0
// Transactions that abort each other again and again (the probe "mutual_aborts"): mutual_aborts [SECTIONS].
//
// Two pinned threads repeat a section until it commits. The section increments eight words in each of 1, 2
// or 4 lines, the same lines for both threads. A few multiplications ("close") or some thousand cycles of
// them ("apart") precede each section. A section "work_N" also has N cycles of multiplications behind the
// increments. Both threads stop when one has done its sections. The probe prints for each kind of section:
//
//   first_try_percent   sections that commit at the first try
//   abort_percent       tries that abort by a conflict
//   again_percent       such aborts whose next try also aborts by a conflict
//
// again_percent tells how long two transactions go on aborting each other. An aborted transaction's
// requests still take their lines. If each of two transactions holds a line that the other one needs, both
// abort, exchange the lines, and meet again in the same way. After 32 tries in a row a thread waits for a
// random time, because otherwise this may never end.
#include <atomic>
#include <thread>

#include "experiment.h"

namespace {

using elision::htm::Rtm;
using elision::htm::Status;

constexpr unsigned kMostLines = 4, kTriesInARow = 32;
constexpr std::uint64_t kClose = 8, kApart = 400;  // multiplications

struct alignas(probe::kLineBytes) Line {
  volatile std::uint64_t words[probe::kLineBytes / sizeof(std::uint64_t)] = {};
};

struct alignas(128) Result {
  std::uint64_t sections = 0, first_tries = 0, tries = 0, conflicts = 0, again = 0;

  void add(const Result& other) {
    sections += other.sections, first_tries += other.first_tries, tries += other.tries;
    conflicts += other.conflicts, again += other.again;
  }
};

alignas(4096) Line shared_lines[kMostLines];
std::atomic<bool> stop;
pthread_barrier_t barrier;

/// A kind of section.
struct Kind {
  unsigned lines;
  std::uint64_t gap;     // multiplications in front of it, on average
  std::uint64_t inside;  // multiplications inside
};

Status attempt(const Kind& kind) {
  const Status status = Rtm::begin();
  if (!status.started()) return status;
  for (unsigned i = 0; i < kind.lines; ++i)
    for (volatile std::uint64_t& word : shared_lines[i].words) word = word + 1;
  probe::work(kind.inside);
  Rtm::commit();
  return status;
}

/// Repeats the section until it commits.
void section(const Kind& kind, elision::Random& random, Result& result) {
  bool conflict = false;
  for (unsigned tries = 0;; ++tries) {
    const Status status = attempt(kind);
    ++result.tries;
    if (status.started()) {
      ++result.sections;
      if (tries == 0) ++result.first_tries;
      return;
    }
    if (status.is_conflict()) {
      ++result.conflicts;
      if (conflict) ++result.again;
    }
    conflict = status.is_conflict();
    if (tries % kTriesInARow == kTriesInARow - 1) {
      probe::work(random.below(20000));
      conflict = false;
    }
  }
}

void run_thread(unsigned thread, const Kind& kind, std::uint64_t sections, Result& result) {
  probe::pin_to(thread);
  elision::Random random(thread + 1);
  pthread_barrier_wait(&barrier);
  for (std::uint64_t i = 0; i < sections && !stop.load(std::memory_order_relaxed); ++i) {
    probe::work(kind.gap / 2 + random.below(kind.gap));
    section(kind, random, result);
  }
  stop.store(true);
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

Result run(const Kind& kind, std::uint64_t sections) {
  Result results[2];
  stop = false;
  pthread_barrier_init(&barrier, nullptr, 2);
  std::thread one([&] { run_thread(0, kind, sections, results[0]); });
  std::thread two([&] { run_thread(1, kind, sections, results[1]); });
  one.join();
  two.join();
  pthread_barrier_destroy(&barrier);
  results[0].add(results[1]);
  return results[0];
}

void print(const Kind& kind, const char* name, std::uint64_t sections) {
  const Result result = run(kind, sections);
  const auto line = [&](const char* what, double value) {
    std::printf("lines_%u_%s_%s_percent: %.2f\n", kind.lines, name, what, value);
  };
  line("first_try", percent(result.first_tries, result.sections));
  line("abort", percent(result.conflicts, result.tries));
  line("again", percent(result.again, result.conflicts));
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t sections = probe::count_argument(argc, argv, 50000);
  probe::require_rtm();
  probe::require_cpus(2);
  run({1, kApart, 0}, sections / 10 + 1);  // pages, predictors, clocks
  for (unsigned lines = 1; lines <= kMostLines; lines *= 2) {
    print({lines, kClose, 0}, "close", sections);
    print({lines, kApart, 0}, "apart", sections);
  }
  print({1, kApart, 80}, "work_240", sections);
  print({1, kApart, 160}, "work_480", sections);
  return 0;
}
