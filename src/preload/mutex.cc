// SPDX-License-Identifier: Apache-2.0
// pthread_mutex_*. The short paths: a normal mutex, a thread with short paths (ShortPaths), and a lock that
// is tatas or ticket. They wait for nobody and wake nobody. Everything else goes through the table.
#include "runtime/mutex.h"

#include <pthread.h>

#include "locks/designs.h"
#include "preload/exported.h"
#include "runtime/designs.h"
#include "runtime/entry_points.h"
#include "runtime/glibc.h"
#include "runtime/overlay.h"
#include "runtime/process.h"
#include "runtime/thread_state.h"

namespace {

using elision::abi::ThreadActivity;
using elision::runtime::entry_points;
using elision::runtime::MutexKind;
using elision::runtime::MutexOverlay;
using elision::runtime::overlay_of;
using elision::runtime::ShortMutexes;
using elision::runtime::this_thread;
using Tatas = elision::locks::Tatas<elision::locks::Park>;
using Ticket = elision::locks::Ticket<elision::locks::Park>;
using TicketMutex =
    elision::runtime::Mutex<elision::locks::TicketDesign<elision::locks::Park, elision::locks::Plainly>>;

/// Not cold in either case.
[[gnu::always_inline]] inline bool are_tickets() {
  const bool tickets = elision::runtime::short_paths_of_design.mutex == ShortMutexes::kTicket;
  return __builtin_expect_with_probability(tickets, true, 0.6);
}

// ---- A normal mutex of either design. `activity`: the thread's (ShortPaths). Each design runs straight
// through: a jump costs as much as three other instructions.

[[gnu::always_inline]] inline int lock_normal(pthread_mutex_t* raw, const void* site,
                                              ThreadActivity& activity) {
  MutexOverlay& mutex = overlay_of(raw);
  const std::uint64_t before = activity.position;
  if (are_tickets()) {
    if (!Ticket::is_adopted(mutex.ticket)) [[unlikely]]
      return entry_points.mutex_lock(raw, site);
    const std::uint32_t ticket = Ticket::draw(mutex.ticket);
    if (Ticket::distance(mutex.ticket, ticket) != 0) [[unlikely]]
      return TicketMutex::wait(raw, site, ticket);
    activity.take(raw, site, before);
    return 0;
  }
  // Does not read the word first: that costs an uncontended lock 5 % (Sapphire Rapids). If the lock is held,
  // the slow path only reads it.
  if (!Tatas::try_acquire(mutex.word)) [[unlikely]]
    return entry_points.mutex_lock(raw, site);
  activity.take(raw, site, before);
  return 0;
}

/// EBUSY: nothing was done.
[[gnu::always_inline]] inline int try_normal(pthread_mutex_t* raw, const void* site,
                                             ThreadActivity& activity) {
  MutexOverlay& mutex = overlay_of(raw);
  const std::uint64_t before = activity.position;
  if (are_tickets()) {
    if (!Ticket::is_adopted(mutex.ticket) || !Ticket::try_acquire_adopted(mutex.ticket)) [[unlikely]]
      return EBUSY;
    activity.take(raw, site, before);
    return 0;
  }
  if (!Tatas::try_acquire(mutex.word)) [[unlikely]]
    return EBUSY;
  activity.take(raw, site, before);
  return 0;
}

/// The rest of an unlock of tatas, with `previous` in the word. Out of line: what is kept across a system
/// call would cost every unlock stores to the stack.
[[gnu::noinline]] int finish_unlock(MutexOverlay& mutex, int previous, const void* site) {
  if (previous == elision::locks::kFree) {
    elision::runtime::report_misuse(elision::runtime::Misuse::kUnlockOfFree, &mutex, site);
    return 0;
  }
  // Before the wake-up: the thread may lose its CPU to the one that it wakes up, when the lock has long been
  // free. short_paths are null if a signal handler has forked since, and this is the child.
  this_thread.activity->release();
  Tatas::wake(mutex.word);
  return 0;
}

[[gnu::always_inline]] inline int unlock_normal(pthread_mutex_t* raw, const void* site,
                                                ThreadActivity& activity) {
  MutexOverlay& mutex = overlay_of(raw);
  const std::uint64_t before = activity.position;
  if (are_tickets()) {
    if (!Ticket::is_adopted(mutex.ticket) || !Ticket::release_plainly(mutex.ticket)) [[unlikely]]
      return entry_points.mutex_unlock(raw, site);
    activity.release(before);
    return 0;
  }
  mutex.owner.store(0,
                    std::memory_order_relaxed);  // glibc's mark after a wait on a condition (runtime/mutex.h)
  const int previous = Tatas::release_asleep(mutex.word);
  if (previous != elision::locks::kHeld) [[unlikely]]
    return finish_unlock(mutex, previous, site);
  activity.release(before);
  return 0;
}

/// Takes the mutex if it is free and has a short path. EBUSY: nothing was done.
[[gnu::always_inline]] inline int take_if_free(pthread_mutex_t* raw, const void* site) {
  ThreadActivity* activity = this_thread.short_paths.mutex;
  if (activity == nullptr || !MutexKind(overlay_of(raw).kind).is_normal()) [[unlikely]]
    return EBUSY;
  return try_normal(raw, site, *activity);
}

}  // namespace

ELISION_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  ThreadActivity* activity = this_thread.short_paths.mutex;
  if (activity == nullptr || !MutexKind(overlay_of(mutex).kind).is_normal()) [[unlikely]]
    return entry_points.mutex_lock(mutex, ELISION_CALL_SITE);
  return lock_normal(mutex, ELISION_CALL_SITE, *activity);
}

ELISION_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  if (take_if_free(mutex, ELISION_CALL_SITE) == 0) [[likely]]
    return 0;
  return entry_points.mutex_trylock(mutex, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* at) {
  if (take_if_free(mutex, ELISION_CALL_SITE) == 0) [[likely]]
    return 0;
  return entry_points.mutex_clocklock(mutex, CLOCK_REALTIME, at, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* at) {
  return entry_points.mutex_clocklock(mutex, clock, at, ELISION_CALL_SITE);
}

ELISION_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  ThreadActivity* activity = this_thread.short_paths.mutex;
  if (activity == nullptr || !MutexKind(overlay_of(mutex).kind).is_normal()) [[unlikely]]
    return entry_points.mutex_unlock(mutex, ELISION_CALL_SITE);
  return unlock_normal(mutex, ELISION_CALL_SITE, *activity);
}

/// An initialised mutex is zero except for its kind, for us as for glibc.
ELISION_EXPORT int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  elision::runtime::ensure_set_up();
  return elision::runtime::glibc.mutex_init(mutex, attributes);
}

ELISION_FORWARD(mutex_destroy, pthread_mutex_t)

ELISION_OLD_NAME_OF(pthread_mutex_lock, pthread_mutex_t);
ELISION_OLD_NAME_OF(pthread_mutex_trylock, pthread_mutex_t);
ELISION_OLD_NAME_OF(pthread_mutex_unlock, pthread_mutex_t);
ELISION_OLD_NAME_OF(pthread_mutex_destroy, pthread_mutex_t);

__attribute__((constructor(101))) static void set_up_library() { elision::runtime::set_up_at_load(); }
