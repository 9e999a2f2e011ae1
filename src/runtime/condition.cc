// SPDX-License-Identifier: Apache-2.0
#include "runtime/condition.h"

#include <cstdint>

#include "runtime/old_versions.h"

namespace elision::runtime {
namespace {

constexpr std::size_t kGates = 64;

struct alignas(64) Gate {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};
constinit Gate gates[kGates];

pthread_mutex_t* gate_of(const pthread_cond_t* cond) {
  const std::uint64_t hash = reinterpret_cast<std::uint64_t>(cond) * 0x9e3779b97f4a7c15ULL;
  return &gates[hash >> 58].mutex;
}
static_assert(kGates == 1u << (64 - 58));

/// What a wait that is cancelled must still do; glibc has taken the gate again by then.
struct Relock {
  pthread_mutex_t* gate;
  pthread_mutex_t* mutex;
  MutexOperations operations;
  const void* site;
};

void leave_gate(void* argument) {
  const auto* relock = static_cast<const Relock*>(argument);
  glibc.mutex_unlock(relock->gate);
  relock->operations.lock(relock->mutex, relock->site);
}

int at_gate(pthread_cond_t* cond, int (*operation)(pthread_cond_t*)) {
  pthread_mutex_t* gate = gate_of(cond);
  glibc.mutex_lock(gate);
  const int result = operation(cond);
  glibc.mutex_unlock(gate);
  return result;
}

}  // namespace

int wait_in_glibc(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout) {
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

int wait_at_gate(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout,
                 MutexOperations operations, const void* site) {
  Relock relock{gate_of(cond), mutex, operations, site};
  glibc.mutex_lock(relock.gate);
  if (const int error = operations.unlock(mutex, site); error != 0) {
    glibc.mutex_unlock(relock.gate);
    return error;
  }
  volatile int result = 0;
  pthread_cleanup_push(leave_gate, &relock);
  result = wait_in_glibc(cond, relock.gate, timeout);
  pthread_cleanup_pop(1);
  return result;
}

int signal_at_gate(pthread_cond_t* cond) { return at_gate(cond, glibc.cond_signal); }
int broadcast_at_gate(pthread_cond_t* cond) { return at_gate(cond, glibc.cond_broadcast); }

void reset_gates() {
  for (Gate& gate : gates) gate = Gate();
}

}  // namespace elision::runtime
