// SPDX-License-Identifier: Apache-2.0
#include "tm/process.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "htm/cpu.h"
#include "htm/own_code.h"
#include "locks/alone.h"
#include "locks/waiting.h"
#include "runtime/raw_output.h"
#include "tm/counters_region.h"
#include "tm/ownership.h"
#include "tm/pages.h"
#include "tm/software.h"
#include "tm/thread.h"

extern "C" {
/// glibc's since 2.32.
[[gnu::weak]] extern char __libc_single_threaded;
}

namespace elision::tm {

constinit Process process{};
constinit Shared shared{};
constinit std::atomic<std::uint64_t> stripe_locks[kStripeLocks]{};

namespace {

using abi::TmMode;
using abi::TmVariable;

enum class State { kNot, kRunning, kDone };
constinit std::atomic<State> state{State::kNot};
constinit bool is_configured = false;

const char* given(TmVariable variable) {
  const char* const value = secure_getenv(abi::row_of(variable).name);
  return value != nullptr && *value != '\0' ? value : abi::row_of(variable).default_value;
}

bool is_given(TmVariable variable, const char* value) { return std::strcmp(given(variable), value) == 0; }

[[noreturn]] void refuse(TmVariable variable, const char* why) {
  runtime::Line()
      .text("elision-tm: ")
      .text(abi::row_of(variable).name)
      .text("=")
      .text(given(variable))
      .text(why)
      .write_to(STDERR_FILENO);
  _exit(2);
}

TmMode wanted_mode(bool has_rtm) {
  const char* const name = given(TmVariable::kMode);
  if (std::strcmp(name, "default") == 0) return has_rtm ? TmMode::kAle : TmMode::kSerial;
  for (unsigned i = 0; i < static_cast<unsigned>(TmMode::kCount); ++i) {
    if (std::strcmp(name, abi::kTmModeNames[i]) == 0) return static_cast<TmMode>(i);
  }
  refuse(TmVariable::kMode, " is not a mode: default, ale, hle, hle-scm, unsafe-lr or serial");
}

bool wants_two_speed() {
  if (is_given(TmVariable::kFastPath, "two-speed")) return true;
  if (is_given(TmVariable::kFastPath, "logged")) return false;
  refuse(TmVariable::kFastPath, " is not a fast path: two-speed or logged");
}

bool wants_patience() {
  if (is_given(TmVariable::kRetry, "patient")) return true;
  if (is_given(TmVariable::kRetry, "hint")) return false;
  refuse(TmVariable::kRetry, " is not a retry rule: patient or hint");
}

void choose_mode() {
  process.has_rtm = htm::detect_cpu().has_rtm;
  process.mode = wanted_mode(process.has_rtm);
  if (process.mode == TmMode::kUnsafeLr && !is_given(TmVariable::kAcceptUnsafe, "1"))
    refuse(TmVariable::kMode,
           " may corrupt the program; set ELISION_TM_ACCEPT_UNSAFE=1 to run it all the same");
  if (!process.has_rtm) process.mode = TmMode::kSerial;
  process.two_speed = wants_two_speed();
  process.patient = wants_patience();
  process.is_quick = process.mode != TmMode::kSerial && process.mode != TmMode::kUnsafeLr &&
                     (process.mode != TmMode::kAle || process.two_speed) && process.patient;
}

/// Gives every page of the ownership array memory. Other threads may use it.
void touch_stripe_locks() {
  constexpr std::size_t kInPage = kPageBytes / sizeof stripe_locks[0];
  for (std::size_t i = 0; i < kStripeLocks; i += kInPage)
    stripe_locks[i].fetch_or(0, std::memory_order_relaxed);
  stripe_locks[kStripeLocks - 1].fetch_or(0, std::memory_order_relaxed);
}

void describe() {
  if (!is_given(TmVariable::kVerbose, "1")) return;
  runtime::Line()
      .text("elision-tm: mode ")
      .text(abi::kTmModeNames[static_cast<unsigned>(process.mode)])
      .text(process.has_rtm ? ", RTM" : ", no RTM")
      .text(process.mode != TmMode::kAle ? ""
            : process.two_speed          ? ", two-speed"
                                         : ", logged")
      .text(process.patient ? "" : ", retry hint")
      .write_to(STDERR_FILENO);
}

/// The part that every process needs: it may refuse the mode.
void configure() {
  if (is_configured) return;
  if (&__libc_single_threaded != nullptr) locks::single_threaded = &__libc_single_threaded;
  locks::pause_ticks = htm::measure_pause_ticks();
  choose_mode();
  const char* const directory = given(TmVariable::kCountersDir);
  process.counters_directory = *directory != '\0' ? directory : nullptr;
  is_configured = true;
}

/// Waits until no other thread is in a software transaction, so that the child finds consistent memory.
void before_fork() {
  if (!is_inside(this_thread)) enter_alone(this_thread);
}

void after_fork_in_parent() {
  if (!is_inside(this_thread)) leave_alone(this_thread);
}

/// Only the calling thread is left. It holds what before_fork took, or is in a transaction of its own.
void after_fork_in_child() {
  if (this_thread.holds_turn) shared.turns.forget_waiters();
  if (!this_thread.holds_auxiliary) shared.auxiliary.store(locks::kFree, std::memory_order_relaxed);
  if (state.load(std::memory_order_relaxed) == State::kDone) {
    open_counters();
    if (process.mode != TmMode::kSerial) htm::touch_own_code();  // a fork does not copy page table entries
  }
  // Another thread was at it.
  if (state.load(std::memory_order_relaxed) == State::kRunning)
    state.store(State::kNot, std::memory_order_relaxed);
  forget_thread(this_thread);
  after_fork_in_parent();
}

/// Processes without transactions get no file and no memory, so the rest follows with the first thread.
[[gnu::constructor]] void set_up_at_load() {
  configure();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

void ensure_set_up() {
  if (state.load(std::memory_order_acquire) == State::kDone) return;
  State before = State::kNot;
  if (state.compare_exchange_strong(before, State::kRunning)) {
    configure();
    make_thread_key();
    open_counters();
    if (process.mode != TmMode::kSerial) htm::touch_own_code();
    if (process.mode == TmMode::kAle) touch_stripe_locks();
    describe();
    state.store(State::kDone, std::memory_order_release);
    return;
  }
  while (state.load(std::memory_order_acquire) != State::kDone) sched_yield();
}

}  // namespace elision::tm
