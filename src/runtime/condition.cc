// SPDX-License-Identifier: Apache-2.0
#include "runtime/condition.h"

#include <sched.h>

#include <cerrno>

#include "locks/waiting.h"
#include "runtime/deadline.h"
#include "runtime/design_change.h"
#include "runtime/old_versions.h"
#include "runtime/overlay.h"
#include "runtime/thread_state.h"

namespace elision::runtime {
namespace {

using locks::ConditionQueue;
using locks::ConditionState;

// Replaces the first words of glibc's object. Every version of glibc initialises them to zero, and its
// destroy does not read them.
static_assert(sizeof(ConditionState) == 8);
ConditionState& state_of(pthread_cond_t* cond) { return *reinterpret_cast<ConditionState*>(cond); }

/// What a cancelled wait must clean up.
struct Cancelled {
  ConditionState& state;
  pthread_mutex_t* mutex;
  MutexOperations operations;
  const void* site;
};

void leave_cancelled(void* argument) {
  const auto* wait = static_cast<const Cancelled*>(argument);
  // This thread may have consumed a signal: pass it on. After withdraw() the state may be gone.
  ConditionQueue::notify(wait->state, false);
  ConditionQueue::withdraw(wait->state);
  wait->operations.lock(wait->mutex, wait->site);
}

/// Sleeps at a cancellation point. Cancellation is asynchronous here, since it must end the system call, so
/// it may come anywhere until the type is restored. False: the deadline passed first.
bool sleep_cancellably(Cancelled& wait, std::uint32_t seen, const Deadline* deadline) {
  volatile bool in_time = true;
  abi::ThreadActivity& activity = *known_thread().activity;
  activity.begin(abi::Activity::kBlocked, &wait.state, wait.site);
  pthread_cleanup_push(leave_cancelled, &wait);
  int type;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
  in_time = ConditionQueue::sleep(wait.state, seen, deadline);
  pthread_setcanceltype(type, nullptr);
  pthread_cleanup_pop(0);
  activity.end();
  return in_time;
}

/// The deadline of `timeout` for `cond`. The form must not be kNone.
Deadline deadline_of(const pthread_cond_t* cond, CondTimeout timeout) {
  return {timeout.form == CondTimeout::Form::kClock ? timeout.clock : CondKind(cond).clock(), timeout.at};
}

/// The error of an invalid `timeout`; 0: it is valid.
int error_of(CondTimeout timeout) {
  if (timeout.form == CondTimeout::Form::kNone) return 0;
  if (!is_valid(timeout.at)) return EINVAL;
  return timeout.form == CondTimeout::Form::kClock && !is_clock_to_wait_by(timeout.clock) ? EINVAL : 0;
}

/// Yields, because the thread that will end the wait may need this CPU.
constexpr std::uint32_t kBusyWaitsPerYield = 16;

}  // namespace

int wait_in_glibc(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout) {
  note_wait_in_glibc();
  switch (timeout.form) {
    case CondTimeout::Form::kOwnClock:
      return glibc.cond_timedwait(cond, mutex, timeout.at);
    case CondTimeout::Form::kClock:
      return glibc_cond_clockwait(cond, mutex, timeout.clock, timeout.at);
    case CondTimeout::Form::kNone:
      break;
  }
  return glibc.cond_wait(cond, mutex);
}

int wait_aware(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, MutexOperations operations,
               const void* site) {
  if (const int error = error_of(timeout); error != 0) return error;
  const bool timed = timeout.form != CondTimeout::Form::kNone;
  const Deadline deadline = timed ? deadline_of(cond, timeout) : Deadline{};
  ConditionState& state = state_of(cond);
  const std::uint32_t seen = ConditionQueue::enrol(state, this_thread.transaction);
  if (const int error = operations.unlock(mutex, site); error != 0) {
    ConditionQueue::withdraw(state);
    return error;
  }
  Cancelled wait{state, mutex, operations, site};
  const bool in_time = sleep_cancellably(wait, seen, timed ? &deadline : nullptr);
  ConditionQueue::withdraw(state);
  // A thread that signals with the mutex held releases it next, but perhaps on this CPU. Spinning for the
  // mutex would delay it (a round trip takes six times as long).
  if (operations.is_held != nullptr && operations.is_held(mutex)) sched_yield();
  const int error = operations.lock(mutex, site);
  return error != 0 ? error : in_time ? 0 : ETIMEDOUT;
}

bool notify_aware(pthread_cond_t* cond, bool all) {
  return ConditionQueue::notify_or_defer(state_of(cond), this_thread.transaction, all);
}

int destroy_aware(pthread_cond_t* cond) {
  if (!CondKind(cond).is_shared()) ConditionQueue::wait_until_left(state_of(cond));
  return glibc.cond_destroy(cond);
}

int wait_busily(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, MutexOperations operations,
                const void* site) {
  if (const int error = error_of(timeout); error != 0) return error;
  if (const int error = operations.unlock(mutex, site); error != 0) return error;
  locks::pause_units(locks::Backoff::kFirst);
  if (++this_thread.busy_waits % kBusyWaitsPerYield == 0) sched_yield();
  const int error = operations.lock(mutex, site);
  if (error != 0) return error;
  pthread_testcancel();  // POSIX: a cancelled wait holds the mutex
  if (timeout.form == CondTimeout::Form::kNone || !deadline_of(cond, timeout).has_passed()) return 0;
  return ETIMEDOUT;
}

}  // namespace elision::runtime
