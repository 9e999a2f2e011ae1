// SPDX-License-Identifier: Apache-2.0
#include "tm/hardware.h"

#include "htm/rtm.h"
#include "tm/injected_aborts.h"
#include "tm/ownership.h"
#include "tm/process.h"
#include "tm/software.h"

namespace elision::tm {
namespace {

using abi::TmMode;
using htm::kCodeGiveUp;
using htm::kCodeLockBusy;
using htm::Rtm;
using htm::Status;

constexpr unsigned kTries = 10;  // ALE paper, 2.2
// The first tries follow at once; then conflicts are backed off from, or a few fallbacks make all others fall
// back too: each aborts the hardware transactions that it finds.
constexpr unsigned kTriesAtOnce = 3;
constexpr std::uint32_t kBackoffUnits = 32;

bool subscribes() { return process.mode != TmMode::kUnsafeLr; }

/// Whether to log writes. Reading the fallback lock in the transaction would let the end of a fallback
/// abort it.
bool wants_log() {
  return process.mode == TmMode::kAle &&
         (!process.two_speed || shared.fallback.load(std::memory_order_relaxed) != 0);
}

/// Inside the hardware transaction. Returns actions.
[[gnu::always_inline]] inline std::uint32_t enter(Thread& thread, std::uint32_t properties, bool logs) {
  if (subscribes() && Section::is_held(shared.section)) (void)Rtm::abort<kCodeLockBusy>();
  thread.depth = 1;
  thread.may_cancel = (properties & kHasNoAbort) == 0;
  if (logs) {
    thread.path = Path::kLogged;
    thread.barriers = Barriers::kLogged;
    thread.unlogged = (properties & kHasInstrumentedCode) == 0;
    thread.logs->stripes.clear();
    return thread.unlogged ? kRunUninstrumented : kRunInstrumented;
  }
  if (process.mode == TmMode::kAle && shared.fallback.load(std::memory_order_relaxed) != 0)
    (void)Rtm::abort<kCodeFallbackRuns>();
  thread.path = Path::kHardware;
  return (properties & kHasUninstrumentedCode) != 0 ? kRunUninstrumented : kRunInstrumented;
}

void count(Thread& thread, Status status) {
  abi::TmCounters& counters = *thread.counters;
  ++counters.aborts[static_cast<std::size_t>(status.cause())];
  if ((status.raw & Status::kExplicitBit) == 0) return;
  if (status.has_code(kCodeStripeLocked)) ++counters.validation_aborts;
  if (status.raw >> 24 < kCodeStripeLocked) ++counters.foreign_aborts;
}

/// HLE-SCM: a transaction that aborted by conflict goes on alone among those.
void take_auxiliary(Thread& thread) {
  if (process.mode != TmMode::kHleScm || thread.holds_auxiliary) return;
  if (!Section::try_acquire(shared.auxiliary)) Section::acquire(shared.auxiliary, nullptr);
  thread.holds_auxiliary = true;
}

/// Waits a while for the end of the running fallback, which has read what the transaction wrote.
void wait_for_fallback() {
  const std::uint64_t turn = shared.fallback.load(std::memory_order_relaxed);
  if (turn == 0) return;
  for (std::uint32_t spun = 0; !locks::Park::spun_enough(spun); spun += locks::pause_units(1)) {
    if (shared.fallback.load(std::memory_order_relaxed) != turn) return;
  }
}

/// The paper's policy: retry if the hardware says so. A held section lock says nothing about the
/// transaction, so that is waited for. So is the end of the fallback, unless the next try will log.
///
/// Without patience (Process::patient), a transaction that meets a held lock takes the lock itself, as the
/// paper says. Two cases differ from the paper: a fallback that begins before a transaction without a log,
/// which the paper does not have; and Unsafe-LR, of which the paper shows many explicit aborts and few
/// fallbacks.
bool may_retry(Thread& thread, Status status, bool logged) {
  if (status.is_conflict()) take_auxiliary(thread);
  if (!process.patient && status.has_code(kCodeFallbackRuns) && !logged) return true;
  if (!process.patient && (status.raw & Status::kExplicitBit) != 0)
    return process.mode == TmMode::kUnsafeLr && status.has_code(kCodeLockBusy);
  if (status.has_code(kCodeStripeLocked) || (logged && status.has_code(kCodeFallbackRuns))) {
    wait_for_fallback();
    return true;
  }
  if (status.has_code(kCodeLockBusy) || status.has_code(kCodeFallbackRuns)) return true;
  return (status.raw & (Status::kRetryBit | Status::kExplicitBit)) == Status::kRetryBit;
}

/// Whether the fallback has locked a stripe that the transaction wrote (Algorithm 1, lines 22 to 27).
[[maybe_unused]] bool is_stripe_locked(const StripeLog& log) {
  const std::uint64_t turn = shared.fallback.load(std::memory_order_relaxed);
  if (turn == 0) return false;
  for (const std::uint32_t stripe : log) {
    if (stripe_locks[stripe].load(std::memory_order_relaxed) == turn) return true;
  }
  return false;
}

void validate(const Thread& thread) {
  if (thread.unlogged) {
    if (shared.fallback.load(std::memory_order_relaxed) != 0) (void)Rtm::abort<kCodeFallbackRuns>();
    return;
  }
#ifndef ELISION_TEST_NO_VALIDATION
  if (is_stripe_locked(thread.logs->stripes)) (void)Rtm::abort<kCodeStripeLocked>();
#endif
}

void end_outermost(Thread& thread) {
  if (thread.holds_auxiliary) [[unlikely]] {
    thread.holds_auxiliary = false;
    Section::release(shared.auxiliary);
  }
  if (thread.has_pending) [[unlikely]]
    finish(thread);
}

}  // namespace

std::uint32_t begin_hardware(Thread& thread, std::uint32_t properties) {
  for (unsigned tries = 0; tries < kTries; ++tries) {
    if (process.patient && subscribes() && Section::is_held(shared.section)) [[unlikely]]
      Section::wait_until_free(shared.section, nullptr);
    const bool logs = wants_log();
    const Status status = Rtm::begin();
    if (status.started()) return enter(thread, properties, logs);
    count(thread, status);
    if (status.has_code(kCodeCancelled)) {
      ++thread.counters->cancels;
      end_outermost(thread);
      return kAbortTransaction;
    }
    if (!may_retry(thread, status, logs)) return 0;
    if (process.patient && status.is_conflict() && tries >= kTriesAtOnce)
      (void)locks::pause_units(kBackoffUnits << (tries - kTriesAtOnce));
    if (process.mode == TmMode::kUnsafeLr) Section::wait_until_free(shared.section, nullptr);
  }
  return 0;
}

void commit_hardware(Thread& thread) {
  const bool logged = thread.path == Path::kLogged;
  const bool wrote = logged && (thread.unlogged || !thread.logs->stripes.is_empty());
  if (wrote) validate(thread);
  if (!subscribes() && Section::is_held(shared.section)) (void)Rtm::abort<kCodeLockBusy>();
  thread.depth = 0;
  thread.caught = 0;
  thread.path = Path::kNone;
  thread.barriers = Barriers::kDirect;
  may_abort_here();
  Rtm::commit();
  abi::TmCounters& counters = *thread.counters;
  ++(wrote ? counters.logged_commits : logged ? counters.read_only_commits : counters.plain_commits);
  end_outermost(thread);
}

void give_up_hardware() { (void)Rtm::abort<kCodeGiveUp>(); }

void cancel_hardware(Thread& thread, bool outermost) {
  if (outermost || thread.depth == 1) (void)Rtm::abort<kCodeCancelled>();
  give_up_hardware();
}

void note_stripes(Thread& thread, const void* address, std::size_t bytes) {
  StripeLog& log = thread.logs->stripes;
  const auto first = reinterpret_cast<std::uint64_t>(address) >> kStripeBits;
  const auto last = (reinterpret_cast<std::uint64_t>(address) + bytes - 1) >> kStripeBits;
  for (std::uint64_t at = first; at <= last && !thread.unlogged; ++at)
    thread.unlogged = !log.note(static_cast<std::uint32_t>(at & (kStripeLocks - 1)));
}

}  // namespace elision::tm
