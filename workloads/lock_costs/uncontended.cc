// SPDX-License-Identifier: Apache-2.0
// Free locks, in CPU time of the thread; and two threads that take turns by a condition variable, in wall
// time.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <thread>

#include "lock_costs/groups.h"
#include "lock_costs/ratios.h"
#include "support.h"

namespace lock_costs {
namespace {

constexpr double kRoundNs = 1e6;
constexpr int kRoundTrips = 200;
// A distant deadline: an uncontended lock does not read the clock.
constexpr timespec kDistantFuture{.tv_sec = 4102444800, .tv_nsec = 0};

/// One side's locks, each on lines of its own, at the same page offsets for both sides.
struct alignas(4096) Locks {
  Locks(const Functions& functions, bool may_be_elided) : side(functions) {
    init_mutex(side, normal, PTHREAD_MUTEX_NORMAL, may_be_elided);
    init_mutex(side, recursive, PTHREAD_MUTEX_RECURSIVE, may_be_elided);
    init_mutex(side, errorcheck, PTHREAD_MUTEX_ERRORCHECK, may_be_elided);
    init_mutex(side, adaptive, PTHREAD_MUTEX_ADAPTIVE_NP, may_be_elided);
    side.spin.init(&spin, PTHREAD_PROCESS_PRIVATE);
    side.rwlock.init(&rwlock, nullptr);
    side.condition.init(&condition, nullptr);
  }

  const Functions side;
  alignas(128) pthread_mutex_t normal;
  alignas(128) pthread_mutex_t recursive;
  alignas(128) pthread_mutex_t errorcheck;
  alignas(128) pthread_mutex_t adaptive;
  alignas(128) pthread_spinlock_t spin;
  alignas(128) pthread_rwlock_t rwlock;
  alignas(128) pthread_cond_t condition;
  alignas(128) int turn = 0;  // of the two threads
};

// The functions are copied so that the loops call through registers.
template <pthread_mutex_t Locks::*kMutex>
void lock_mutex(Locks& locks, int count) {
  const auto functions = locks.side.mutex;
  for (int i = 0; i < count; ++i) {
    functions.lock(&(locks.*kMutex));
    functions.unlock(&(locks.*kMutex));
  }
}

void try_mutex(Locks& locks, int count) {
  const auto functions = locks.side.mutex;
  for (int i = 0; i < count; ++i) {
    functions.trylock(&locks.normal);
    functions.unlock(&locks.normal);
  }
}

void lock_mutex_timed(Locks& locks, int count) {
  const auto functions = locks.side.mutex;
  for (int i = 0; i < count; ++i) {
    functions.timedlock(&locks.normal, &kDistantFuture);
    functions.unlock(&locks.normal);
  }
}

void lock_spin(Locks& locks, int count) {
  const auto functions = locks.side.spin;
  for (int i = 0; i < count; ++i) {
    functions.lock(&locks.spin);
    functions.unlock(&locks.spin);
  }
}

void lock_to_read(Locks& locks, int count) {
  const auto functions = locks.side.rwlock;
  for (int i = 0; i < count; ++i) {
    functions.rdlock(&locks.rwlock);
    functions.unlock(&locks.rwlock);
  }
}

void lock_to_write(Locks& locks, int count) {
  const auto functions = locks.side.rwlock;
  for (int i = 0; i < count; ++i) {
    functions.wrlock(&locks.rwlock);
    functions.unlock(&locks.rwlock);
  }
}

bool replaces_mutex(const Sides& sides) { return sides.preloaded.mutex != sides.glibc.mutex; }
bool replaces_timedlock(const Sides& sides) {
  return sides.preloaded.mutex.timedlock != sides.glibc.mutex.timedlock;
}
bool replaces_spin(const Sides& sides) { return sides.preloaded.spin != sides.glibc.spin; }
bool replaces_rwlock(const Sides& sides) { return sides.preloaded.rwlock != sides.glibc.rwlock; }
bool replaces_condition(const Sides& sides) { return sides.preloaded.condition != sides.glibc.condition; }

struct Operation {
  const char* name;
  void (*loop)(Locks&, int count);
  bool (*is_replaced)(const Sides&);
};

constexpr Operation kOperations[] = {
    {"normal", lock_mutex<&Locks::normal>, replaces_mutex},
    {"recursive", lock_mutex<&Locks::recursive>, replaces_mutex},
    {"errorcheck", lock_mutex<&Locks::errorcheck>, replaces_mutex},
    {"adaptive", lock_mutex<&Locks::adaptive>, replaces_mutex},
    {"trylock", try_mutex, replaces_mutex},
    {"timedlock", lock_mutex_timed, replaces_timedlock},
    {"spin", lock_spin, replaces_spin},
    {"read", lock_to_read, replaces_rwlock},
    {"write", lock_to_write, replaces_rwlock},
};

double time_loop(const Operation& operation, Locks& locks, int count) {
  const std::uint64_t start = workloads::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  operation.loop(locks, count);
  return static_cast<double>(workloads::clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

/// The number of operations in about one round.
int count_of_round(const Operation& operation, Locks& locks) {
  constexpr int kFirst = 20000;
  time_loop(operation, locks, kFirst);
  return 1 + static_cast<int>(kRoundNs * kFirst / (1 + time_loop(operation, locks, kFirst)));
}

void print(const char* threads, const char* name, const Ratio& ratio) {
  std::printf("%s %s: %.6g %.6g %.6g\n", threads, name, ratio.median, ratio.lower_quartile,
              ratio.upper_quartile);
  std::fflush(stdout);
}

class Uncontended {
 public:
  Uncontended(const Sides& sides, const Settings& settings) : sides_(sides), settings_(settings) {}

  void measure_operations(const char* threads) {
    for (const Operation& operation : kOperations) {
      if (!operation.is_replaced(sides_) && !sides_.nothing_preloaded()) continue;
      const int count = count_of_round(operation, glibc_);
      time_loop(operation, preloaded_, count);
      print(threads, operation.name,
            ratio_in_turns(
                settings_.pairs, [&] { return time_loop(operation, preloaded_, count); },
                [&] { return time_loop(operation, glibc_, count); }));
    }
  }

  /// Two threads take turns; the waiting one sleeps.
  void measure_round_trips(const char* threads) {
    if (!replaces_condition(sides_) && !sides_.nothing_preloaded()) return;
    Ratio ratio{};
    std::thread partner([this] { round_trips_in_turns(1); });
    ratio = round_trips_in_turns(0);
    partner.join();
    print(threads, "condition", ratio);
  }

 private:
  Ratio round_trips_in_turns(int me) {
    return ratio_in_turns(
        settings_.pairs, [&] { return time_round_trips(preloaded_, me); },
        [&] { return time_round_trips(glibc_, me); });
  }

  static double time_round_trips(Locks& locks, int me) {
    const std::uint64_t start = workloads::now_ns();
    for (int i = 0; i < kRoundTrips; ++i) {
      locks.side.mutex.lock(&locks.normal);
      while (locks.turn != me) locks.side.condition.wait(&locks.condition, &locks.normal);
      locks.turn = 1 - me;
      locks.side.condition.signal(&locks.condition);
      locks.side.mutex.unlock(&locks.normal);
    }
    return static_cast<double>(workloads::now_ns() - start);
  }

  const Sides& sides_;
  const Settings& settings_;
  Locks preloaded_{sides_.preloaded, true};
  Locks glibc_{sides_.glibc, false};
};

/// While this lives, a second thread sleeps in the process.
class Sleeper {
 public:
  Sleeper() {
    pthread_barrier_init(&barrier_, nullptr, 2);
    thread_ = std::thread([this] { pthread_barrier_wait(&barrier_); });
  }
  ~Sleeper() {
    pthread_barrier_wait(&barrier_);
    thread_.join();
  }

 private:
  pthread_barrier_t barrier_;
  std::thread thread_;
};

}  // namespace

void measure_uncontended(const Sides& sides, const Settings& settings) {
  Uncontended uncontended(sides, settings);
  uncontended.measure_operations("one");
  {
    const Sleeper sleeper;
    uncontended.measure_operations("two");
  }
  uncontended.measure_round_trips("two");
}

}  // namespace lock_costs
