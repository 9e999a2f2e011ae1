// SPDX-License-Identifier: Apache-2.0
// elision.h for C++20: mutexes for std::unique_lock, std::scoped_lock and std::shared_lock, and scopes in
// place of pairs of calls. Everything is inline over the C functions; elision.h and docs/guide/api.md
// document them.
//
// Nothing throws. No object can be copied or moved.
#ifndef ELISION_ELISION_HPP
#define ELISION_ELISION_HPP

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <span>
#include <type_traits>

#include "elision/elision.h"

namespace elision {

namespace detail {

template <class Duration>
timespec to_timespec(Duration since_epoch) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch - seconds);
  return {static_cast<std::time_t>(seconds.count()), static_cast<long>(rest.count())};
}

/// Calls `attempt(clock, timespec*)` once, with the deadline `until`. For a clock that the kernel does not
/// know, the deadline may be earlier.
template <class Clock, class Duration, class Attempt>
bool try_once(const std::chrono::time_point<Clock, Duration>& until, Attempt attempt) {
  using std::chrono::steady_clock;
  if constexpr (std::is_same_v<Clock, steady_clock> || std::is_same_v<Clock, std::chrono::system_clock>) {
    const timespec at = to_timespec(until.time_since_epoch());
    return attempt(std::is_same_v<Clock, steady_clock> ? CLOCK_MONOTONIC : CLOCK_REALTIME, &at) == 0;
  } else {
    return try_once(steady_clock::now() + (until - Clock::now()), attempt);
  }
}

/// Repeats that until `until`, by any clock.
template <class Clock, class Duration, class Attempt>
bool try_until(const std::chrono::time_point<Clock, Duration>& until, Attempt attempt) {
  do {
    if (try_once(until, attempt)) return true;
  } while (Clock::now() < until);
  return false;
}

struct pinned {
  pinned() = default;
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
};

}  // namespace detail

class mutex {
 public:
  using native_handle_type = elision_mutex*;

  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() noexcept { elision_mutex_lock(&mutex_); }
  [[nodiscard]] bool try_lock() noexcept { return elision_mutex_try_lock(&mutex_) == 0; }
  void unlock() noexcept { (void)elision_mutex_unlock(&mutex_); }

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time) noexcept {
    return try_lock_until(std::chrono::steady_clock::now() + time);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& until) noexcept {
    return detail::try_until(until, [this](int clock, const timespec* at) {
      return elision_mutex_lock_until(&mutex_, clock, at);
    });
  }

  native_handle_type native_handle() noexcept { return &mutex_; }

 private:
  elision_mutex mutex_ = ELISION_MUTEX_INIT;
};

class shared_mutex {
 public:
  using native_handle_type = elision_shared_mutex*;

  constexpr shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  void lock() noexcept { elision_shared_mutex_lock(&mutex_); }
  [[nodiscard]] bool try_lock() noexcept { return elision_shared_mutex_try_lock(&mutex_) == 0; }
  void unlock() noexcept { (void)elision_shared_mutex_unlock(&mutex_); }
  void lock_shared() noexcept { elision_shared_mutex_lock_shared(&mutex_); }
  [[nodiscard]] bool try_lock_shared() noexcept { return elision_shared_mutex_try_lock_shared(&mutex_) == 0; }
  void unlock_shared() noexcept { (void)elision_shared_mutex_unlock_shared(&mutex_); }

  /// From shared to exclusive ownership, with no writer in between. False: another reader is inside, and
  /// ownership is still shared.
  [[nodiscard]] bool try_upgrade() noexcept { return elision_shared_mutex_try_upgrade(&mutex_) == 0; }

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time) noexcept {
    return try_lock_until(std::chrono::steady_clock::now() + time);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& until) noexcept {
    return detail::try_until(until, [this](int clock, const timespec* at) {
      return elision_shared_mutex_lock_until(&mutex_, clock, at);
    });
  }
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& time) noexcept {
    return try_lock_shared_until(std::chrono::steady_clock::now() + time);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& until) noexcept {
    return detail::try_until(until, [this](int clock, const timespec* at) {
      return elision_shared_mutex_lock_shared_until(&mutex_, clock, at);
    });
  }

  native_handle_type native_handle() noexcept { return &mutex_; }

 private:
  elision_shared_mutex mutex_ = ELISION_SHARED_MUTEX_INIT;
};

/// As std::condition_variable, with std::unique_lock<elision::mutex>.
class condition_variable {
 public:
  constexpr condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;
  ~condition_variable() { elision_condition_destroy(&condition_); }

  void notify_one() noexcept { elision_condition_signal(&condition_); }
  void notify_all() noexcept { elision_condition_broadcast(&condition_); }

  void wait(std::unique_lock<mutex>& lock) noexcept {
    elision_condition_wait(&condition_, lock.mutex()->native_handle());
  }
  template <class Predicate>
  void wait(std::unique_lock<mutex>& lock, Predicate is_over) {
    while (!is_over()) wait(lock);
  }

  template <class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<mutex>& lock,
                            const std::chrono::time_point<Clock, Duration>& until) noexcept {
    const bool in_time = detail::try_once(until, [this, &lock](int clock, const timespec* at) {
      return elision_condition_wait_until(&condition_, lock.mutex()->native_handle(), clock, at);
    });
    // Does not wait again: a signal may have come before this thread had the mutex, and the caller checks its
    // condition.
    return in_time || Clock::now() < until ? std::cv_status::no_timeout : std::cv_status::timeout;
  }
  template <class Clock, class Duration, class Predicate>
  bool wait_until(std::unique_lock<mutex>& lock, const std::chrono::time_point<Clock, Duration>& until,
                  Predicate is_over) {
    while (!is_over()) {
      if (wait_until(lock, until) == std::cv_status::timeout) return is_over();
    }
    return true;
  }
  template <class Rep, class Period>
  std::cv_status wait_for(std::unique_lock<mutex>& lock,
                          const std::chrono::duration<Rep, Period>& time) noexcept {
    return wait_until(lock, std::chrono::steady_clock::now() + time);
  }
  template <class Rep, class Period, class Predicate>
  bool wait_for(std::unique_lock<mutex>& lock, const std::chrono::duration<Rep, Period>& time,
                Predicate is_over) {
    return wait_until(lock, std::chrono::steady_clock::now() + time, is_over);
  }

 private:
  elision_condition condition_ = ELISION_CONDITION_INIT;
};

class barrier : detail::pinned {
 public:
  explicit barrier(unsigned threads) noexcept { elision_barrier_init(&barrier_, threads); }
  ~barrier() { (void)elision_barrier_destroy(&barrier_); }

  /// True for one thread of each round.
  bool arrive_and_wait() noexcept { return elision_barrier_wait(&barrier_) != 0; }

 private:
  elision_barrier barrier_;
};

/// Several mutexes for a scope, like std::scoped_lock, in one transaction:
///     elision::lockset both(first, second);
template <std::size_t kCount>
class lockset : detail::pinned {
 public:
  template <class... Mutexes>
  explicit lockset(Mutexes&... mutexes) noexcept : mutexes_{mutexes.native_handle()...} {
    elision_lockset_lock(mutexes_.data(), kCount);
  }
  template <class... Mutexes>
  lockset(std::try_to_lock_t, Mutexes&... mutexes) noexcept
      : mutexes_{mutexes.native_handle()...}, owns_(elision_lockset_try_lock(mutexes_.data(), kCount) == 0) {}
  ~lockset() {
    if (owns_) (void)elision_lockset_unlock(mutexes_.data(), kCount);
  }

  [[nodiscard]] bool owns_lock() const noexcept { return owns_; }
  explicit operator bool() const noexcept { return owns_; }

 private:
  std::array<elision_mutex*, kCount> mutexes_;
  bool owns_ = true;
};
template <class... Mutexes>
lockset(Mutexes&...) -> lockset<sizeof...(Mutexes)>;
template <class... Mutexes>
lockset(std::try_to_lock_t, Mutexes&...) -> lockset<sizeof...(Mutexes)>;

/// The same for a number that is known at run time. The array of handles must outlive it.
class dynamic_lockset : detail::pinned {
 public:
  explicit dynamic_lockset(std::span<elision_mutex* const> mutexes) noexcept : mutexes_(mutexes) {
    elision_lockset_lock(mutexes_.data(), mutexes_.size());
  }
  ~dynamic_lockset() { (void)elision_lockset_unlock(mutexes_.data(), mutexes_.size()); }

 private:
  std::span<elision_mutex* const> mutexes_;
};

/// The sections in a scope as one transaction, or one by one (elision_region).
class region : detail::pinned {
 public:
  region() noexcept { elision_region_begin(&region_); }
  ~region() { elision_region_end(&region_); }

 private:
  elision_region region_ = ELISION_REGION_INIT;
};

/// The sections of a loop, several per transaction (elision_coarsener). Owned by one thread.
class coarsener : detail::pinned {
 public:
  /// With a granularity that adapts.
  coarsener() noexcept : coarsener(ELISION_COARSENER_ADAPTS) {}
  explicit coarsener(std::uint32_t granularity) noexcept { elision_coarsener_init(&coarsener_, granularity); }
  ~coarsener() { flush(); }

  void flush() noexcept { elision_coarsener_flush(&coarsener_); }
  [[nodiscard]] std::uint32_t granularity() const noexcept { return coarsener_.granularity; }

  /// A section with any locks inside.
  class section : detail::pinned {
   public:
    explicit section(coarsener& owner) noexcept : owner_(owner.coarsener_) {
      elision_coarsener_begin(&owner_);
    }
    ~section() { elision_coarsener_end(&owner_); }

   private:
    elision_coarsener& owner_;
  };

  /// A section under one mutex.
  class lock_guard : detail::pinned {
   public:
    lock_guard(coarsener& owner, mutex& guarded) noexcept
        : owner_(owner.coarsener_), mutex_(guarded.native_handle()) {
      elision_coarsener_lock(&owner_, mutex_);
    }
    ~lock_guard() { elision_coarsener_unlock(&owner_, mutex_); }

   private:
    elision_coarsener& owner_;
    elision_mutex* mutex_;
  };

 private:
  elision_coarsener coarsener_;
};

/// Markers of the part of a run that the virtual machine simulates with --start marker and --stop marker.
inline void simulation_start() noexcept { elision_simulation_start(); }
inline void simulation_stop() noexcept { elision_simulation_stop(); }

[[nodiscard]] inline bool in_transaction() noexcept { return elision_in_transaction() != 0; }
[[nodiscard]] inline bool speculating() noexcept { return elision_speculating() != 0; }
inline void abort_if(bool condition) noexcept { elision_abort_if(condition); }
template <int kCode>
void abort_if(bool condition) noexcept {
  static_assert(kCode >= 0 && kCode <= 127, "a code has seven bits");
  ELISION_ABORT_IF(condition, kCode);
}
[[nodiscard]] inline elision_abort_status last_abort() noexcept { return elision_last_abort(); }
[[nodiscard]] inline elision_counts thread_counts() noexcept { return elision_thread_counts(); }

}  // namespace elision

#endif
