// SPDX-License-Identifier: Apache-2.0
// Bank transfers under one elided global lock (the probe "bank"): bank THREADS transactions N [LAYOUT], which
// shares N transactions among the threads, or bank THREADS seconds S [LAYOUT].
//
// 64 accounts. 20 % of a thread's transactions read all balances, the others move money between two. A
// transaction is tried five times in hardware, subscribed to the fallback word. While the word is set, a
// thread waits outside. An abort without the retry bit ends the tries. Then a mutex is taken and the word is
// set.
//
// The program of the published figures (llvm-tm/clang-tm, benchmarks/cpp/bank and backends/tm_impl/tsx_sgl)
// determines the figures by more than that, and this probe repeats it: where its data lie (struct Memory,
// struct Globals), the calls through pointers for begin, end and each access, a sigsetjmp a transaction, the
// random generator and its distributions, and a ticket that all threads share. Transactions per second are
// measured from the creation of the first thread to the end of the last one.
//
// The size of the published binary's other data, which nobody knows, decides whether two pairs of words share
// their lines: the pointer to the bank with the ticket, and the fallback's word with its mutex. In layout A,
// which is the default, neither pair does; in layout B both do.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <random>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "probe.h"

namespace {

using elision::htm::Rtm;
using elision::htm::Status;
using Clock = std::chrono::steady_clock;

constexpr int kAccounts = 64;
constexpr int kInitialBalance = 1000;
constexpr std::size_t kMostThreads = 1024;
constexpr int kReadAllPercent = 20;
constexpr int kTries = 5;
constexpr std::uint8_t kLockBusy = 0xff, kOwnerChanged = 0x01;

struct alignas(16) Balance {
  std::uint32_t amount;
};

struct Account {
  long number;
  Balance* balance;
};
static_assert(sizeof(Account) == 16);

struct Bank {
  Account* accounts;
  int size;
};

/// 56 bytes: neighbours share lines.
struct Worker {
  std::atomic<std::uint64_t> transfers{0}, reads{0}, wrong{0};
  unsigned seed = 0;
  int accounts = kAccounts, read_all_percent = kReadAllPercent;
  unsigned reserved[5] = {};
};
static_assert(sizeof(Worker) == 56);

/// What the program allocates one after the other: each block behind 16 bytes of the allocator. Where the
/// first of them begins in its line decides that the first worker shares a line with the last two accounts.
struct alignas(64) Memory {
  alignas(64) Balance balances[kAccounts];
  alignas(64) char before_bank[48 + 16];
  Bank bank;
  char before_accounts[16];
  Account accounts[kAccounts];
  char before_workers[16];
  Worker workers[kMostThreads];
};
constexpr std::size_t line_of(std::size_t offset) { return offset / 64; }
static_assert(line_of(offsetof(Memory, workers)) ==
              line_of(offsetof(Memory, accounts) + (kAccounts - 2) * sizeof(Account)));

/// The static data. kTogether: layout B.
template <bool kTogether>
struct alignas(128) Globals {
  alignas(128) Bank* volatile bank = nullptr;
  alignas(kTogether ? 8 : 128) std::atomic<std::uint64_t> ticket{0};
  alignas(128) std::atomic<std::uint64_t> owner{0};
  alignas(kTogether ? 8 : 128) std::mutex mutex;
};

Memory memory;
template <bool kTogether>
Globals<kTogether> globals;
alignas(128) std::atomic<bool> started{false}, stopped{false};
std::uint64_t most_transactions = 0;

/// A thread's counts of transactions, apart from all other data.
struct alignas(128) Counts {
  std::uint64_t commits = 0, conflicts = 0, other_aborts = 0, fallbacks = 0;
};
thread_local Counts counts;
thread_local bool in_hardware = false;
thread_local sigjmp_buf restart;
Counts total;
std::mutex total_mutex;

template <bool kTogether>
void begin_transaction() {
  auto& words = globals<kTogether>;
  for (int i = 0; i < kTries; ++i) {
    const Status status = Rtm::begin();
    if (status.started()) {
      if (words.owner.load(std::memory_order_relaxed) != 0) (void)Rtm::abort<kLockBusy>();
      in_hardware = true;
      return;
    }
    const bool conflict =
        (status.raw & (Status::kExplicitBit | Status::kConflictBit)) == Status::kConflictBit;
    ++(conflict ? counts.conflicts : counts.other_aborts);
    if (status.has_code(kLockBusy)) {
      while (words.owner.load(std::memory_order_relaxed) != 0) asm volatile("pause");
    } else if ((status.raw & Status::kRetryBit) == 0) {
      break;
    }
  }
  words.mutex.lock();
  ++counts.fallbacks;
  words.owner.store(1, std::memory_order_release);
  asm volatile("mfence" : : : "memory");  // stores to accounts must not pass this one
  in_hardware = false;
}

template <bool kTogether>
void end_transaction() {
  auto& words = globals<kTogether>;
  if (in_hardware) {
    if (words.owner.load(std::memory_order_acquire) != 0) (void)Rtm::abort<kOwnerChanged>();
    Rtm::commit();
    ++counts.commits;
    return;
  }
  words.owner.store(0, std::memory_order_release);
  words.mutex.unlock();
}

std::uint32_t read_word(std::uint32_t* word) { return *word; }
void write_word(std::uint32_t* word, std::uint32_t value) { *word = value; }

// Volatile: every use is a call through memory.
void (*volatile begin)();
void (*volatile end)();
std::uint32_t (*volatile read)(std::uint32_t*) = read_word;
void (*volatile write)(std::uint32_t*, std::uint32_t) = write_word;

template <bool kTogether>
void transfer(int from, int to) {
  (void)sigsetjmp(restart, 0);
  begin();
  const Bank* const bank = globals<kTogether>.bank;
  std::uint32_t* const source = &bank->accounts[from].balance->amount;
  std::uint32_t* const target = &bank->accounts[to].balance->amount;
  write(source, read(source) - 1);
  write(target, read(target) + 1);
  end();
}

template <bool kTogether>
std::uint32_t sum_of_all() {
  (void)sigsetjmp(restart, 0);
  begin();
  std::uint32_t sum = 0;
  const Bank* const bank = globals<kTogether>.bank;
  for (int i = 0; i < bank->size; ++i) sum += read(&bank->accounts[i].balance->amount);
  end();
  return sum;
}

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

template <bool kTogether>
void work(Worker& worker, Gate& gate) {
  auto& ticket = globals<kTogether>.ticket;
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
      if (sum_of_all<kTogether>() != kAccounts * kInitialBalance) worker.wrong.fetch_add(1);
      worker.reads.fetch_add(1);
    } else {
      std::uniform_int_distribution<> any(0, worker.accounts - 1);
      const int from = any(generator);
      int to = any(generator);
      if (to == from) to = (from + 1) % worker.accounts;
      transfer<kTogether>(from, to);
      worker.transfers.fetch_add(1);
    }
  }
  const std::lock_guard lock(total_mutex);
  total.commits += counts.commits;
  total.conflicts += counts.conflicts;
  total.other_aborts += counts.other_aborts;
  total.fallbacks += counts.fallbacks;
}

template <bool kTogether>
double seconds_of_run(std::span<Worker> workers, double duration) {
  Gate gate(static_cast<unsigned>(workers.size()) + 1);
  std::vector<std::thread> threads;
  const Clock::time_point first = Clock::now();
  for (Worker& worker : workers) threads.emplace_back([&] { work<kTogether>(worker, gate); });
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

template <bool kTogether>
int run(const char* program, std::size_t threads, double duration) {
  begin = begin_transaction<kTogether>;
  end = end_transaction<kTogether>;
  for (int i = 0; i < kAccounts; ++i) {
    memory.balances[i].amount = kInitialBalance;
    memory.accounts[i] = {i, &memory.balances[i]};
  }
  memory.bank = {memory.accounts, kAccounts};
  globals<kTogether>.bank = &memory.bank;
  const std::span<Worker> workers(memory.workers, threads);
  for (std::size_t i = 0; i < threads; ++i) workers[i].seed = static_cast<unsigned>(i) + 1234;

  const double elapsed = seconds_of_run<kTogether>(workers, duration);
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
  const bool complete = done == total.commits + total.fallbacks;
  if (wrong == 0 && complete && sum_of_all<kTogether>() == kAccounts * kInitialBalance) return 0;
  std::fprintf(stderr, "%s: %" PRIu64 " sums were wrong, or money or transactions got lost\n", program,
               wrong);
  return 1;
}

int wrong_usage(const char* program) {
  std::fprintf(stderr, "%s: usage: bank THREADS transactions N | THREADS seconds S [A | B]\n", program);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view layout = argc == 5 ? argv[4] : "A";
  if (argc < 4 || argc > 5 || (layout != "A" && layout != "B")) return wrong_usage(argv[0]);
  const std::uint64_t threads = probe::count_argument(argc, argv, 1);
  double duration = 0;
  if (std::strcmp(argv[2], "transactions") == 0) {
    most_transactions = probe::count_argument(argc, argv, 1, 3);
  } else if (std::strcmp(argv[2], "seconds") != 0 || (duration = std::strtod(argv[3], nullptr)) <= 0) {
    return wrong_usage(argv[0]);
  }
  if (threads > kMostThreads) {
    std::fprintf(stderr, "%s: at most %zu threads\n", argv[0], kMostThreads);
    return 2;
  }
  probe::require_rtm();
  probe::require_cpus(static_cast<int>(threads));
  return layout == "B" ? run<true>(argv[0], threads, duration) : run<false>(argv[0], threads, duration);
}
