// SPDX-License-Identifier: Apache-2.0
#include "runtime/glibc.h"

#include <gnu/libc-version.h>

#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <span>

#include "runtime/deadline.h"
#include "runtime/loaded_files.h"
#include "runtime/overlay.h"
#include "runtime/raw_output.h"

namespace elision::runtime {

constinit Glibc glibc{};

namespace {

/// One member of `glibc`, to be found.
struct Wanted {
  const char* name;
  Symbol symbol;
  void (*set)(void* function);
  bool found;

  const char* version() const {
    if (symbol == Symbol::kCondition) return "GLIBC_2.3.2";
    return symbol == Symbol::kOldCondition ? "GLIBC_2.2.5" : nullptr;
  }
  bool may_be_missing() const { return symbol == Symbol::kSince230 || symbol == Symbol::kOldCondition; }
};

bool is_libc(const LoadedFile& file) {
  return file.contains(reinterpret_cast<const void*>(&gnu_get_libc_version));
}

void find_in(const LoadedFile& file, std::span<Wanted> all) {
  for (Wanted& wanted : all) {
    if (wanted.found || (wanted.symbol == Symbol::kOldCondition && !is_libc(file))) continue;
    void* function = file.find(wanted.name, wanted.version());
    if (function == nullptr) continue;
    wanted.set(function);
    wanted.found = true;
  }
}

/// Takes functions from the first library behind ours that has them, as RTLD_NEXT does: it may be another
/// preloaded library or a race detector. libc comes last. Before 2.34 it has some of these functions too, for
/// programs without libpthread, and until libpthread is initialised they do nothing (a mutex that they
/// initialise keeps the old content of its memory).
void find_all(std::span<Wanted> all) {
  std::optional<LoadedFile> libc;
  visit_files(Files::kBehindOurs, [&](const LoadedFile& file) {
    if (is_libc(file)) {
      libc = file;
    } else {
      find_in(file, all);
    }
  });
  if (libc) find_in(*libc, all);
  // If the program loads us itself, the C library comes before us.
  visit_files(Files::kAllButOurs, [&](const LoadedFile& file) { find_in(file, all); });
}

/// Converts the time `at` of `clock` to another clock, by their current values.
timespec moved_to(clockid_t other, clockid_t clock, const timespec* at) {
  timespec here{}, there{};
  clock_gettime(clock, &here);
  clock_gettime(other, &there);
  timespec moved{at->tv_sec - here.tv_sec + there.tv_sec, at->tv_nsec - here.tv_nsec + there.tv_nsec};
  for (; moved.tv_nsec < 0; moved.tv_nsec += kNanoseconds) --moved.tv_sec;
  for (; moved.tv_nsec >= kNanoseconds; moved.tv_nsec -= kNanoseconds) ++moved.tv_sec;
  return moved;
}

/// For glibc before 2.30, whose `wait` takes only deadlines of clock `own`: waits until `at` of any clock. If
/// the realtime clock is changed during the wait, the wait may end late, but never early.
template <class Wait>
int wait_by_other_clock(clockid_t own, clockid_t clock, const timespec* at, Wait wait) {
  if (!is_clock_to_wait_by(clock)) return EINVAL;
  if (clock == own || !is_valid(at)) return wait(at);
  while (true) {
    const timespec moved = moved_to(own, clock, at);
    const int result = wait(&moved);
    if (result != ETIMEDOUT || Deadline{clock, at}.has_passed()) return result;
  }
}

/// `by_clock` if glibc has it.
template <class Object>
int wait_by_clock(Object* object, clockid_t clock, const timespec* at,
                  int (*by_clock)(Object*, clockid_t, const timespec*),
                  int (*timed)(Object*, const timespec*)) {
  if (by_clock != nullptr) return by_clock(object, clock, at);
  return wait_by_other_clock(CLOCK_REALTIME, clock, at,
                             [=](const timespec* until) { return timed(object, until); });
}

}  // namespace

void find_glibc() {
#define ELISION_WANTED(member, name, symbol, Signature) \
  {#name, Symbol::symbol,                               \
   [](void* function) { glibc.member = reinterpret_cast<decltype(glibc.member)>(function); }, false},
  Wanted all[] = {ELISION_GLIBC_FUNCTIONS(ELISION_WANTED)};
#undef ELISION_WANTED
  find_all(all);
  for (const Wanted& wanted : all) {
    if (wanted.found || wanted.may_be_missing()) continue;
    Line().text("elision: the C library has no ").text(wanted.name).write_to(STDERR_FILENO);
    std::abort();
  }
}

void find_condition_layout() {
  pthread_condattr_t monotonic;
  glibc.condattr_init(&monotonic);
  glibc.condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  unsigned words[sizeof(pthread_cond_t) / sizeof(unsigned)] = {};
  glibc.cond_init(reinterpret_cast<pthread_cond_t*>(words), &monotonic);
  for (std::size_t i = 0; i < std::size(words); ++i) {
    if (words[i] == CondKind::kMonotonic) condition_kind_at = i * sizeof(unsigned);
  }
}

bool race_detector_follows() {
  bool follows = false;
  visit_files(Files::kBehindOurs, [&](const LoadedFile& file) {
    follows = follows || file.find("__tsan_init", nullptr) != nullptr;
  });
  return follows;
}

const char* find_single_threaded() {
  // In look-up order: if the program has its own copy of the variable, that one is in use.
  const void* flag = nullptr;
  visit_files(Files::kAllButOurs, [&](const LoadedFile& file) {
    if (flag == nullptr) flag = file.find("__libc_single_threaded", nullptr);
  });
  return static_cast<const char*>(flag);
}

int glibc_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* at) {
  return wait_by_clock(mutex, clock, at, glibc.mutex_clocklock, glibc.mutex_timedlock);
}
int glibc_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return wait_by_clock(lock, clock, at, glibc.rwlock_clockrdlock, glibc.rwlock_timedrdlock);
}
int glibc_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* at) {
  return wait_by_clock(lock, clock, at, glibc.rwlock_clockwrlock, glibc.rwlock_timedwrlock);
}

int glibc_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock, const timespec* at) {
  if (glibc.cond_clockwait != nullptr) return glibc.cond_clockwait(cond, mutex, clock, at);
  return wait_by_other_clock(CondKind(cond).clock(), clock, at,
                             [=](const timespec* until) { return glibc.cond_timedwait(cond, mutex, until); });
}

}  // namespace elision::runtime
