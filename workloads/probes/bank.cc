// SPDX-License-Identifier: Apache-2.0
// Bank transfers under one elided global lock (the probe "bank"): bank THREADS transactions N, which shares
// N transactions among the threads, or bank THREADS seconds S.
//
// 64 accounts on 8 lines. 20 % of a thread's transactions read all accounts, the others move money between
// two. A transaction is tried five times in hardware, subscribed to the fallback word. While the word is set,
// a thread waits outside. An abort without the retry bit ends the tries. Then a mutex is taken and the word
// is set.
//
// As in the program of the published figures, transactions per second are measured from the creation of the
// first thread to the end of the last one. Its other costs are repeated too: the same random generator and
// distributions, calls through pointers for begin, end and each access, a ticket shared by all threads, and
// adjacent counters of threads. There the linker decides whether mutex and word share a line; here they do
// only if the last argument is "one-line".
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "probe.h"

namespace {

using elision::htm::Rtm;
using elision::htm::Status;
using Clock = std::chrono::steady_clock;

constexpr int kAccounts = 64;
constexpr int kInitialBalance = 1000;
constexpr int kReadAllPercent = 20;
constexpr int kTries = 5;
constexpr std::uint8_t kLockBusy = 0xff, kOwnerChanged = 0x01;

struct Account {
  int number;
  std::uint32_t balance;
};
static_assert(kAccounts * sizeof(Account) == 8 * 64);

/// The fallback lock and the word that transactions read.
struct alignas(128) Fallback {
  std::atomic<std::uint64_t> owner{0};
  alignas(32) std::mutex nearby;
  alignas(128) std::mutex apart;
};

alignas(64) Account accounts[kAccounts];
Fallback fallback;
std::mutex* fallback_mutex = &fallback.apart;
alignas(128) std::atomic<bool> started{false}, stopped{false};
alignas(128) std::atomic<std::uint64_t> ticket{0};
std::uint64_t most_transactions = 0;

/// A thread's counts of transactions, apart from all other data.
struct alignas(128) Counts {
  std::uint64_t commits = 0, conflicts = 0, other_aborts = 0, fallbacks = 0;
};
thread_local Counts counts;
thread_local bool in_hardware = false;
Counts total;
std::mutex total_mutex;

void begin_transaction() {
  for (int i = 0; i < kTries; ++i) {
    const Status status = Rtm::begin();
    if (status.started()) {
      if (fallback.owner.load(std::memory_order_relaxed) != 0) (void)Rtm::abort<kLockBusy>();
      in_hardware = true;
      return;
    }
    const bool conflict =
        (status.raw & (Status::kExplicitBit | Status::kConflictBit)) == Status::kConflictBit;
    ++(conflict ? counts.conflicts : counts.other_aborts);
    if (status.has_code(kLockBusy)) {
      while (fallback.owner.load(std::memory_order_relaxed) != 0) asm volatile("pause");
    } else if ((status.raw & Status::kRetryBit) == 0) {
      break;
    }
  }
  fallback_mutex->lock();
  ++counts.fallbacks;
  fallback.owner.store(1, std::memory_order_release);
  asm volatile("mfence" : : : "memory");  // stores to accounts must not pass this one
  in_hardware = false;
}

void end_transaction() {
  if (in_hardware) {
    if (fallback.owner.load(std::memory_order_acquire) != 0) (void)Rtm::abort<kOwnerChanged>();
    Rtm::commit();
    ++counts.commits;
    return;
  }
  fallback.owner.store(0, std::memory_order_release);
  fallback_mutex->unlock();
}

std::uint32_t read_word(std::uint32_t* word) { return *word; }
void write_word(std::uint32_t* word, std::uint32_t value) { *word = value; }

// Volatile: every use is a call through memory.
void (*volatile begin)() = begin_transaction;
void (*volatile end)() = end_transaction;
std::uint32_t (*volatile read)(std::uint32_t*) = read_word;
void (*volatile write)(std::uint32_t*, std::uint32_t) = write_word;

void transfer(int from, int to) {
  begin();
  write(&accounts[from].balance, read(&accounts[from].balance) - 1);
  write(&accounts[to].balance, read(&accounts[to].balance) + 1);
  end();
}

std::uint32_t sum_of_all() {
  std::uint32_t sum = 0;
  begin();
  for (Account& account : accounts) sum += read(&account.balance);
  end();
  return sum;
}

/// 56 bytes: neighbours share lines.
struct Worker {
  std::atomic<std::uint64_t> transfers{0}, reads{0}, wrong{0};
  unsigned seed = 0;
  int accounts = kAccounts, read_all_percent = kReadAllPercent;
  unsigned reserved[5] = {};
};
static_assert(sizeof(Worker) == 56);

/// All threads and main wait here for the last one.
class Gate {
 public:
  explicit Gate(unsigned count) : missing_(count) {}
  void wait() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) return all_here_.notify_all();
    all_here_.wait(lock, [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  unsigned missing_;
};

void work(Worker& worker, Gate& gate) {
  std::mt19937 generator(worker.seed);
  gate.wait();
  while (!started.load(std::memory_order_acquire)) std::this_thread::yield();
  while (!stopped.load()) {
    if (most_transactions != 0 && ticket.fetch_add(1, std::memory_order_relaxed) >= most_transactions) {
      stopped.store(true);
      break;
    }
    const double roll = std::uniform_real_distribution<double>(0, 100.0)(generator);
    if (roll < worker.read_all_percent) {
      if (sum_of_all() != kAccounts * kInitialBalance) worker.wrong.fetch_add(1);
      worker.reads.fetch_add(1);
    } else {
      std::uniform_int_distribution<> any(0, worker.accounts - 1);
      const int from = any(generator);
      int to = any(generator);
      if (to == from) to = (from + 1) % worker.accounts;
      transfer(from, to);
      worker.transfers.fetch_add(1);
    }
  }
  const std::lock_guard lock(total_mutex);
  total.commits += counts.commits;
  total.conflicts += counts.conflicts;
  total.other_aborts += counts.other_aborts;
  total.fallbacks += counts.fallbacks;
}

double seconds_of_run(std::vector<Worker>& workers, double duration) {
  Gate gate(static_cast<unsigned>(workers.size()) + 1);
  std::vector<std::thread> threads;
  const Clock::time_point first = Clock::now();
  for (Worker& worker : workers) threads.emplace_back([&] { work(worker, gate); });
  gate.wait();
  started.store(true, std::memory_order_release);
  if (most_transactions != 0) {
    while (!stopped.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double>(duration));
    stopped.store(true);
  }
  for (std::thread& thread : threads) thread.join();
  return std::chrono::duration<double>(Clock::now() - first).count();
}

void print_percent(const char* name, std::uint64_t part, std::uint64_t whole) {
  probe::print(name, whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

int wrong_usage(const char* program) {
  std::fprintf(stderr, "%s: usage: bank THREADS transactions N | THREADS seconds S [one-line]\n", program);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && !(argc == 5 && std::strcmp(argv[4], "one-line") == 0)) return wrong_usage(argv[0]);
  const std::uint64_t threads = probe::count_argument(argc, argv, 1);
  double duration = 0;
  if (std::strcmp(argv[2], "transactions") == 0) {
    most_transactions = probe::count_argument(argc, argv, 1, 3);
  } else if (std::strcmp(argv[2], "seconds") != 0 || (duration = std::strtod(argv[3], nullptr)) <= 0) {
    return wrong_usage(argv[0]);
  }
  if (argc == 5) fallback_mutex = &fallback.nearby;
  probe::require_rtm();
  probe::require_cpus(static_cast<int>(threads));
  for (int i = 0; i < kAccounts; ++i) accounts[i] = {i, kInitialBalance};
  std::vector<Worker> workers(threads);
  for (std::size_t i = 0; i < threads; ++i) workers[i].seed = static_cast<unsigned>(i) + 1234;

  const double elapsed = seconds_of_run(workers, duration);
  std::uint64_t done = 0, wrong = 0;
  for (const Worker& worker : workers) {
    done += worker.transfers + worker.reads;
    wrong += worker.wrong;
  }
  const std::uint64_t attempts = total.commits + total.conflicts + total.other_aborts;
  probe::print("million_per_second", static_cast<double>(done) / elapsed / 1e6);
  print_percent("commits_per_xbegin_percent", total.commits, attempts);
  print_percent("conflicts_per_xbegin_percent", total.conflicts, attempts);
  print_percent("fallback_percent", total.fallbacks, done);
  probe::print("xbegin", static_cast<double>(attempts));
  probe::print("transactions", static_cast<double>(done));
  if (wrong == 0 && done == total.commits + total.fallbacks && sum_of_all() == kAccounts * kInitialBalance)
    return 0;
  std::fprintf(stderr, "%s: %" PRIu64 " sums were wrong, or money or transactions got lost\n", argv[0],
               wrong);
  return 1;
}
