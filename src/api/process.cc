// SPDX-License-Identifier: Apache-2.0
#include "api/process.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <atomic>
#include <cstring>

#include "abi/lock_variables.h"
#include "elision/elision.h"
#include "htm/cpu.h"
#include "htm/own_code.h"
#include "locks/alone.h"
#include "locks/fork_generation.h"

extern "C" {
/// glibc's since 2.32.
[[gnu::weak]] extern char __libc_single_threaded;
/// The preload library's, if it is loaded.
[[gnu::weak]] elision::abi::ThreadActivity* elision_thread_activity(std::uint32_t);
}

namespace elision::api {

constinit thread_local ThreadState this_thread{};
constinit Process process{};

namespace {

enum class State { kNot, kRunning, kDone };
constinit std::atomic<State> state{State::kNot};

// A statically linked program gets only the objects that it refers to, and the header's reference to this one
// is weak.
[[gnu::used]] void (*const version_check)(int) = elision_require_version;

bool transactions_are_wanted() {
  const char* given = secure_getenv(abi::row_of(abi::LockVariable::kTransactions).name);
  return given == nullptr || std::strcmp(given, "0") != 0;
}

void set_up() {
  locks::set_up_fork_generation();
  if (&__libc_single_threaded != nullptr) locks::single_threaded = &__libc_single_threaded;
  locks::pause_ticks = htm::measure_pause_ticks();
  const htm::CpuFeatures cpu = htm::detect_cpu();
  if (!cpu.has_rtm) return;
  htm::touch_own_code();
  const bool wanted = transactions_are_wanted();
  if (!wanted) locks::elision_transactions = 0;
  process.speculates =
      wanted && cpu.virtual_always_abort;  // speculation cannot be switched while the program runs
  process.elides = true;
}

/// The child has a thread id and an activity of its own.
void after_fork_in_child() {
  locks::fork_generation_in_child();
  this_thread.activity = &locks::activity_of_nobody;
  this_thread.own_activity.forget_held();
  this_thread.elides = false;
}

[[gnu::constructor]] void set_up_at_load() {
  ensure_set_up();
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
}

}  // namespace

void ensure_set_up() {
  if (state.load(std::memory_order_acquire) == State::kDone) return;
  State before = State::kNot;
  if (state.compare_exchange_strong(before, State::kRunning)) {
    set_up();
    state.store(State::kDone, std::memory_order_release);
    return;
  }
  while (state.load(std::memory_order_acquire) != State::kDone) sched_yield();
}

void introduce_thread() {
  ensure_set_up();
  abi::ThreadActivity* const of_preload_library =
      &elision_thread_activity != nullptr ? elision_thread_activity(abi::kActivityVersion) : nullptr;
  this_thread.activity = of_preload_library != nullptr ? of_preload_library : &this_thread.own_activity;
  this_thread.elides = process.elides;
}

}  // namespace elision::api
