// SPDX-License-Identifier: Apache-2.0
// What the system costs (the probe "kernel-costs"): kernel_costs [ROUNDS [MILLISECONDS]].
//
// An empty system call. The first store to a page of 4 KB that nobody has touched, which waits for no line. A
// switch between two threads on one CPU that yield to each other, less the call. The time from a FUTEX_WAKE
// to the first instruction of the woken thread on another CPU, less the waker's entry into the system. All in
// ticks, as means without outliers. Interruptions of a thread that does nothing else, for that many
// milliseconds: their median length in ticks, and how often they come, by the median distance. What was never
// seen has no figure.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "experiment.h"

namespace {

constexpr std::uint64_t kAsleepTicks = 100'000;  // after which a thread that went to sleep is asleep
constexpr double kInterruptionTicks = 1000;      // shorter ones are no entry into the system

double ticks_a_call(std::uint64_t rounds) {
  std::vector<std::uint64_t> spent(rounds);
  for (auto& each : spent) {
    const std::uint64_t before = probe::ticks();
    syscall(SYS_getppid);
    each = probe::ticks() - before;
  }
  return probe::trimmed_mean(spent) - probe::clock_mean();
}

std::optional<double> ticks_a_fault(std::uint64_t rounds) {
  constexpr std::uint64_t kPage = 4096;
  void* const memory = mmap(nullptr, rounds * kPage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return std::nullopt;
  madvise(memory, rounds * kPage, MADV_NOHUGEPAGE);
  std::vector<std::uint64_t> spent(rounds);
  auto* page = static_cast<volatile char*>(memory);
  for (auto& each : spent) {
    const std::uint64_t before = probe::ticks();
    *page = 1;
    each = probe::ticks() - before;
    page += kPage;
  }
  munmap(memory, rounds * kPage);
  return probe::trimmed_mean(spent) - probe::clock_mean();
}

/// Of calls after which the other thread had run once. Other programs on the CPU only lengthen some of them.
std::optional<double> ticks_a_yield(std::uint64_t rounds) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> others{0};
  std::thread other([&] {
    probe::pin_to(0);
    while (!stop.load(std::memory_order_relaxed)) {
      others.store(others.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      sched_yield();
    }
  });
  while (others.load() < 2) sched_yield();
  std::vector<std::uint64_t> spent;
  spent.reserve(rounds);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::uint64_t seen = others.load(std::memory_order_relaxed), before = probe::ticks();
    sched_yield();
    const std::uint64_t after = probe::ticks();
    if (others.load(std::memory_order_relaxed) == seen + 1) spent.push_back(after - before);
  }
  stop = true;
  other.join();
  if (spent.empty()) return std::nullopt;
  return (probe::trimmed_mean(spent) - probe::clock_mean()) / 2;  // there and back
}

std::atomic<std::uint32_t> futex_word;
std::atomic<std::uint64_t> woken_at, sleeper_round;

void sleep_each_round(std::uint64_t rounds) {
  probe::pin_to(1);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    sleeper_round.store(i + 1);
    std::uint64_t back = 0;
    do {
      syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, static_cast<std::uint32_t>(i), nullptr, nullptr, 0);
      back = probe::ticks();
    } while (futex_word.load() == i);
    woken_at.store(back);
  }
}

std::optional<double> ticks_to_wake(std::uint64_t rounds, double call) {
  std::thread sleeper(sleep_each_round, rounds);
  std::vector<std::uint64_t> spent;
  spent.reserve(rounds);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    while (sleeper_round.load() != i + 1) asm volatile("pause");
    for (const std::uint64_t start = probe::ticks(); probe::ticks() - start < kAsleepTicks;) {
    }
    woken_at.store(0);
    const std::uint64_t before = probe::ticks();
    futex_word.store(static_cast<std::uint32_t>(i + 1));
    syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    std::uint64_t woken;
    while ((woken = woken_at.load()) == 0) asm volatile("pause");
    if (woken > before) spent.push_back(woken - before);
  }
  sleeper.join();
  if (spent.empty()) return std::nullopt;
  return probe::trimmed_mean(spent) - call - probe::clock_mean();
}

double median(std::vector<std::uint64_t>& numbers) {
  std::nth_element(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2),
                   numbers.end());
  return static_cast<double>(numbers[numbers.size() / 2]);
}

/// Medians: an interruption while the system's clock is read is seen in part.
void run_interruptions(std::uint64_t milliseconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kWork = 50;
  constexpr std::size_t kMost = 100'000;
  // Touched before, since a page fault is as long as an interruption.
  std::vector<std::uint64_t> lengths(kMost), distances(kMost), usual(1001);
  lengths.clear();
  distances.clear();
  for (auto& each : usual) {
    const std::uint64_t before = probe::ticks();
    probe::work(kWork);
    each = probe::ticks() - before;
  }
  const double undisturbed = probe::trimmed_mean(usual);
  const auto start = Clock::now();
  const std::uint64_t first = probe::ticks();
  std::uint64_t last = first, before = 0;
  do {
    last = probe::ticks();  // the system's clock may take as long as an interruption
    for (int i = 0; i < 1000 && lengths.size() < kMost; ++i) {
      probe::work(kWork);
      const std::uint64_t now = probe::ticks();
      if (static_cast<double>(now - last) - undisturbed > kInterruptionTicks) {
        if (before != 0) distances.push_back(now - before);
        if (before != 0) lengths.push_back(now - last);
        before = now;
      }
      last = now;
    }
  } while (Clock::now() - start < std::chrono::milliseconds(milliseconds));
  const std::chrono::duration<double> seconds = Clock::now() - start;
  const double ticks_a_second = static_cast<double>(probe::ticks() - first) / seconds.count();
  if (lengths.empty()) return;
  probe::print("interruption_ticks", median(lengths) - undisturbed);
  probe::print("interruptions_a_second", ticks_a_second / median(distances));
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rounds = probe::count_argument(argc, argv, 2000);
  const std::uint64_t milliseconds = probe::count_argument(argc, argv, 200, 2);
  probe::require_cpus(2);
  probe::pin_to(0);
  const double call = ticks_a_call(rounds);
  probe::print("call_ticks", call);
  if (const auto fault = ticks_a_fault(rounds)) probe::print("fault_ticks", *fault);
  if (const auto yield = ticks_a_yield(rounds)) probe::print("switch_ticks", *yield - call);
  if (const auto wake = ticks_to_wake(rounds / 10 + 1, call)) probe::print("wake_ticks", *wake);
  run_interruptions(milliseconds);
  return 0;
}
