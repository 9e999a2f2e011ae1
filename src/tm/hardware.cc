// SPDX-License-Identifier: Apache-2.0
#include "tm/hardware.h"

#include "tm/injected_aborts.h"
#include "tm/ownership.h"

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

/// Inside the hardware transaction, beside a fallback that may run. Returns actions.
std::uint32_t enter_logged(Thread& thread, std::uint32_t properties) {
  if (Section::is_held(shared.section)) (void)Rtm::abort<kCodeLockBusy>();
  thread.depth = 1;
  thread.may_cancel = (properties & kHasNoAbort) == 0;
  thread.path = Path::kLogged;
  thread.barriers = Barriers::kLogged;
  thread.unlogged = (properties & kHasInstrumentedCode) == 0;
  thread.logs->stripes.clear();
  return thread.unlogged ? kRunUninstrumented : kRunInstrumented;
}

/// The same beside no fallback.
[[gnu::always_inline]] inline std::uint32_t enter_plain(Thread& thread, std::uint32_t properties) {
  if (subscribes() && Section::is_held(shared.section)) (void)Rtm::abort<kCodeLockBusy>();
  if (process.mode == TmMode::kAle && shared.fallback.load(std::memory_order_relaxed) != 0)
    (void)Rtm::abort<kCodeFallbackRuns>();
  if (thread.is_plain == 0) {
    thread.depth = 1;
    thread.may_cancel = (properties & kHasNoAbort) == 0;
    thread.path = Path::kHardware;
  }
  return run_directly(properties);
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

/// Patiently, so that the first try does not meet the holder of the section lock.
[[gnu::always_inline]] inline void wait_for_section() {
  if (process.patient && subscribes() && Section::is_held(shared.section)) [[unlikely]]
    Section::wait_until_free(shared.section, nullptr);
}

/// One try. is_plain is stored in front of the transaction, so it is not in its write set.
[[gnu::always_inline]] inline Status begin_try(Thread& thread, std::uint32_t properties, bool logged) {
  thread.is_plain = !logged && (properties & kHasNoAbort) != 0 && subscribes();
  const Status status = Rtm::begin();
  if (!status.started()) thread.is_plain = 0;
  return status;
}

/// The other tries of a transaction whose first one aborted. Returns as begin_hardware.
std::uint32_t retry(Thread& thread, std::uint32_t properties, Status status, bool logged) {
  for (unsigned tries = 1;; ++tries) {
    count(thread, status);
    if (status.has_code(kCodeCancelled)) {
      count_end(thread, thread.counters->cancels);
      settle(thread);
      return kAbortTransaction;
    }
    if (!may_retry(thread, status, logged) || tries == kTries) return 0;
    if (process.patient && status.is_conflict() && tries > kTriesAtOnce)
      (void)locks::pause_units(kBackoffUnits << (tries - 1 - kTriesAtOnce));
    if (process.mode == TmMode::kUnsafeLr) Section::wait_until_free(shared.section, nullptr);
    wait_for_section();
    logged = wants_log();
    status = begin_try(thread, properties, logged);
    if (status.started()) return logged ? enter_logged(thread, properties) : enter_plain(thread, properties);
  }
}

}  // namespace

std::uint32_t begin_hardware(Thread& thread, std::uint32_t properties, Status status) {
  if (!status.started()) {
    thread.is_plain = 0;
    return retry(thread, properties, status, false);
  }
  wait_for_section();
  const bool logged = wants_log();
  status = begin_try(thread, properties, logged);
  if (status.started()) return logged ? enter_logged(thread, properties) : enter_plain(thread, properties);
  return retry(thread, properties, status, logged);
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
  thread.is_plain = 0;
  abi::TmCounters& counters = *thread.counters;
  count_end(thread, wrote    ? counters.logged_commits
                    : logged ? counters.read_only_commits
                             : counters.plain_commits);
  settle(thread);
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
