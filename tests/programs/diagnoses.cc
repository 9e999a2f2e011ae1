// SPDX-License-Identifier: Apache-2.0
// Programs whose diagnosis is known: diagnoses KIND THREADS [with|without [SECTIONS]]. Each kind has one
// thing in the way of its threads, under hot_lock among three other locks; "without" it is gone. SECTIONS of
// each thread: a real CPU needs more than the default to be looked at often enough.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
}

namespace {

constexpr unsigned kMostThreads = 64;
constexpr unsigned kSlots = 4096;
constexpr unsigned kLongLines = 4096;

struct alignas(64) Line {
  volatile std::uint64_t value;
};

Line slots[kSlots];
Line own[kMostThreads];
volatile std::uint64_t packed[8];
alignas(64) volatile std::uint64_t counter;
struct alignas(64) Counted {
  pthread_spinlock_t lock;
  volatile int count;  // right behind the lock, which has 4 bytes
};
Counted counted;
struct alignas(64) Table {
  volatile Line* volatile rows = slots;
  volatile std::uint64_t lookups;  // in the line of the pointer, which each section reads first
};
Table table;
Line long_data[kMostThreads][kLongLines];
pthread_mutex_t slot_locks[kSlots];
volatile std::uint64_t logged, looked_up, states;
struct Account {
  pthread_mutex_t lock;
  volatile std::uint64_t balance;  // 48 bytes with the lock
};
constexpr unsigned kAccounts = 64;
Account accounts[kAccounts];
struct alignas(64) LineAccount : Account {};
LineAccount line_accounts[kAccounts];
constexpr std::size_t kPageBytes = 4096;
volatile char* new_pages;
unsigned queued, wanted;
int sink;
std::string kind;
bool without;
unsigned threads;
unsigned sections = 400;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  unsigned below(unsigned limit) {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return static_cast<unsigned>(state_ % limit);
  }

 private:
  std::uint64_t state_;
};

/// Units of work behind an update of shared data, in the section: long enough that far more than a tenth of
/// the attempts conflict.
constexpr unsigned kInside = 100;

void work(unsigned units) {
  for (unsigned i = 0; i < units; ++i) __asm__ volatile("" : : "r"(i));
}

class Section {
 public:
  explicit Section(pthread_mutex_t& lock) : lock_(lock) { pthread_mutex_lock(&lock_); }
  ~Section() { pthread_mutex_unlock(&lock_); }

 private:
  pthread_mutex_t& lock_;
};

/// A short section under one of the three other locks, which no thread waits for.
void other_section(Random& random) {
  const unsigned which = random.below(3);
  const Section section(which == 0 ? log_lock : which == 1 ? table_lock : state_lock);
  volatile std::uint64_t& value = which == 0 ? logged : which == 1 ? looked_up : states;
  value = value + 1;
}

void many_slots(Random& random) {
  if (without) {
    const unsigned slot = random.below(kSlots);
    const Section section(slot_locks[slot]);
    slots[slot].value = slots[slot].value + 1;
    return work(20);
  }
  const Section section(hot_lock);
  const unsigned slot = random.below(kSlots);
  slots[slot].value = slots[slot].value + 1;
  work(20);
}

void mostly_reads(Random& random) {
  if (without) return work(30);
  const Section section(hot_lock);
  std::uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += slots[random.below(kSlots)].value;
  if (random.below(100) == 0) slots[random.below(kSlots)].value = sum;
  work(20);
}

/// Readers that only share the lock.
void read_alone(Random& random) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_rdlock(&lock);
  (void)*static_cast<volatile std::uint64_t*>(&slots[random.below(kSlots)].value);
  work(20);
  pthread_rwlock_unlock(&lock);
}

void one_counter(unsigned thread) {
  if (without) {
    own[thread].value = own[thread].value + 1;
    return work(20);
  }
  const Section section(hot_lock);
  counter = counter + 1;
  work(kInside);
}

/// Each section writes to a page of its own that nobody has touched; without: that main() has touched.
void first_touch(unsigned thread) {
  static thread_local unsigned done = 0;
  const Section section(hot_lock);
  new_pages[(std::size_t{thread} * sections + done++) * kPageBytes] = 1;
  work(20);
}

void counter_beside_lock() {
  pthread_spin_lock(&counted.lock);
  counted.count = counted.count + 1;
  work(kInside);
  pthread_spin_unlock(&counted.lock);
}

/// Only thread 0 uses the count.
void one_thread_counts_beside_lock(unsigned thread) {
  pthread_spin_lock(&counted.lock);
  volatile std::uint64_t& value = own[thread].value;
  value = value + 1;
  if (thread == 0 && !without) counted.count = counted.count + 1;
  work(kInside);
  pthread_spin_unlock(&counted.lock);
}

[[gnu::noinline]] void take_lock(pthread_mutex_t* lock) {
  pthread_mutex_lock(lock);
  __asm__ volatile("" : : : "memory");  // no jump in place of the call
}

/// A lock without a name, taken by a function that takes locks for others.
[[gnu::noinline]] void wrapped(unsigned thread) {
  static pthread_mutex_t* const lock = new pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER);
  take_lock(lock);  // here
  own[thread].value = own[thread].value + 1;
  work(20);
  pthread_mutex_unlock(lock);
}

void counted_lookup(unsigned thread) {
  const Section section(hot_lock);
  volatile Line& row = table.rows[thread];
  volatile std::uint64_t& lookups = without ? own[thread].value : table.lookups;
  lookups = lookups + 1;
  row.value = row.value + 1;
  work(kInside);
}

void one_line(unsigned thread) {
  const Section section(hot_lock);
  volatile std::uint64_t& value = without ? own[thread].value : packed[thread % 8];
  value = value + 1;
  work(kInside);
}

void long_section(unsigned thread) {
  const unsigned lines = without ? 4 : kLongLines;
  const Section section(hot_lock);
  for (unsigned i = 0; i < lines; ++i) long_data[thread][i].value = i;
}

void call_inside(unsigned thread) {
  if (without) (void)!write(sink, &thread, sizeof thread);
  const Section section(hot_lock);
  own[thread].value = own[thread].value + 1;
  if (!without) (void)!write(sink, &thread, sizeof thread);
  work(20);
}

/// One instruction asks for the counter's line as its owner, and comes first: transactions queue for the line
/// before they have read or written anything that could conflict.
void take_turns(unsigned thread) {
  for (int i = 0; i < 8; ++i) {
    const Section section(hot_lock);
    if (!without) __asm__ volatile("addq $1, %0" : "+m"(counter) : : "cc");
    own[thread].value = own[thread].value + 1;
  }
}

/// Accounts that share cache lines with their neighbours; without: that do not.
void pay_into(unsigned number) {
  Account& account = without ? line_accounts[number] : accounts[number];
  const Section section(account.lock);
  account.balance = account.balance + 1;
  work(kInside);
}

void own_object(Random& random) {
  const unsigned slot = random.below(kSlots);
  const Section section(slot_locks[slot]);
  slots[slot].value = slots[slot].value + 1;
}

/// Thread 0 puts, the others take and then work.
void queue(unsigned thread) {
  if (thread == 0) {
    {
      const Section section(hot_lock);
      ++queued;
    }
    pthread_cond_signal(&not_empty);
    return work(20000);
  }
  {
    const Section section(hot_lock);
    while (queued == 0 && wanted > 0) pthread_cond_wait(&not_empty, &hot_lock);
    if (queued > 0) --queued, --wanted;
    if (wanted == 0) pthread_cond_broadcast(&not_empty);
  }
  work(30000);
}

void one_section(unsigned thread, Random& random) {
  if (kind == "no-contention") return other_section(random);
  if (kind == "hot-lock" || kind == "oversubscribed") return many_slots(random);
  if (kind == "counter") return one_counter(thread);
  if (kind == "beside-lock") return counter_beside_lock();
  if (kind == "owner-beside-lock") return one_thread_counts_beside_lock(thread);
  if (kind == "wrapped") return wrapped(thread);
  if (kind == "first-touch") return first_touch(thread);
  if (kind == "counted-lookup") return counted_lookup(thread);
  if (kind == "false-sharing") return one_line(thread);
  if (kind == "too-long") return long_section(thread);
  if (kind == "system-call") return call_inside(thread);
  if (kind == "reader-mostly") return mostly_reads(random);
  if (kind == "readers") return read_alone(random);
  if (kind == "queue") return queue(thread);
  if (kind == "lock-per-object") return own_object(random);
  if (kind == "turns") return take_turns(thread);
  if (kind == "packed-accounts") return pay_into(random.below(kAccounts));
  if (kind == "packed-own-accounts") return pay_into(thread);
  std::fprintf(stderr, "unknown kind %s\n", kind.c_str());
  std::exit(2);
}

/// Work outside of sections, so that a section is a fraction of the time of a thread. The first sections meet
/// cold caches and calls that are not bound yet: where locks must not matter, they must be few of all.
unsigned units_outside() {
  if (kind == "no-contention") return 40000;
  if (kind == "lock-per-object") return 8000;
  if (kind == "too-long") return without ? 2000 : 100;
  if (kind == "turns") return 0;
  return without && kind != "hot-lock" && kind != "oversubscribed" ? 4000 : 40;
}

/// The first touch of memory aborts a transaction, and is no part of what a program is about.
void touch(void* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kPageBytes) static_cast<volatile char*>(memory)[at] = 0;
}

void* run(void* argument) {
  const auto thread = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(argument));
  Random random(thread + 1);
  if (kind == "queue") {
    for (unsigned i = 0; thread == 0 ? i < sections : wanted > 0; ++i) queue(thread);
    return nullptr;
  }
  for (unsigned i = 0; i < sections; ++i) {
    one_section(thread, random);
    if (i % 16 == 0) other_section(random);
    work(units_outside());
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: diagnoses KIND THREADS [with|without [SECTIONS]]\n", stderr), 2;
  kind = argv[1];
  threads = static_cast<unsigned>(std::atoi(argv[2]));
  without = argc > 3 && std::strcmp(argv[3], "without") == 0;
  if (threads == 0 || threads > kMostThreads) return 2;
  if (kind == "too-long" && !without) sections = 12;
  if (kind == "no-contention") sections = 100;
  if (kind == "oversubscribed") sections = 1600;  // several time slices, in either design
  if (argc > 4) sections = static_cast<unsigned>(std::atoi(argv[4]));
  wanted = sections;
  sink = open("/dev/null", O_WRONLY);
  pthread_spin_init(&counted.lock, PTHREAD_PROCESS_PRIVATE);
  for (pthread_mutex_t& lock : slot_locks) pthread_mutex_init(&lock, nullptr);
  for (Account& account : accounts) pthread_mutex_init(&account.lock, nullptr);
  for (LineAccount& account : line_accounts) pthread_mutex_init(&account.lock, nullptr);
  touch(slots, sizeof slots);
  touch(own, sizeof own);
  touch(long_data, threads * sizeof long_data[0]);
  if (kind == "first-touch") {
    const std::size_t bytes = std::size_t{threads} * sections * kPageBytes;
    void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return 2;
    madvise(pages, bytes, MADV_NOHUGEPAGE);
    new_pages = static_cast<char*>(pages);
    if (without) touch(pages, bytes);
  }
  std::vector<pthread_t> running(threads);
  for (unsigned i = 0; i < threads; ++i)
    pthread_create(&running[i], nullptr, run, reinterpret_cast<void*>(static_cast<std::uintptr_t>(i)));
  for (const pthread_t thread : running) pthread_join(thread, nullptr);
  std::puts("done");
}
