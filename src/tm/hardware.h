// SPDX-License-Identifier: Apache-2.0
// The fast path: a transaction as one hardware transaction (ALE paper, Algorithm 1), and HLE, HLE-SCM and
// Unsafe-LR as the paper compares them.
//
// A transaction that neither logs nor may be cancelled, other than of Unsafe-LR, keeps no state: a write to
// the state of the thread would cost it a line of its write set, and as much time as a short section. Only
// Thread::is_plain tells that it runs, which is written before its begin and after its end. A transaction
// that nests in it gives it state.
#pragma once

#include <cstdint>

#include "htm/backend.h"
#include "htm/rtm.h"
#include "tm/injected_aborts.h"
#include "tm/process.h"
#include "tm/software.h"
#include "tm/thread.h"

namespace elision::tm {

/// Operands of XABORT besides those of htm/backend.h.
inline constexpr std::uint8_t kCodeCancelled = 0xfa;  // __transaction_cancel: nothing is to be repeated
inline constexpr std::uint8_t kCodeFallbackRuns =
    0xfb;  // a fallback runs, and the transaction was not logged
inline constexpr std::uint8_t kCodeStripeLocked = 0xf9;  // a fallback has read what the transaction wrote

/// Actions of a transaction whose accesses need no barriers.
[[gnu::always_inline]] inline std::uint32_t run_directly(std::uint32_t properties) {
  return (properties & kHasUninstrumentedCode) != 0 ? kRunUninstrumented : kRunInstrumented;
}

static_assert(htm::kCodeLockBusy == 0xfc && kCodeFallbackRuns == 0xfb);                // begin.S
static_assert(kHasNoAbort == 0x08 && kHasUninstrumentedCode == 2 * kRunInstrumented);  // begin.S

/// Begins an outermost transaction. `status`: of the try that begin.S made, or a started one if it made none.
/// Returns actions, or 0 if the transaction has to run in software.
std::uint32_t begin_hardware(Thread& thread, std::uint32_t properties, htm::Status status);

/// Commits a hardware transaction without state.
[[gnu::always_inline]] inline void commit_without_state(Thread& thread) {
  may_abort_here();
  htm::Rtm::commit();
  thread.is_plain = 0;
  count_end(thread, thread.counters->plain_commits);
  settle(thread);
}

/// Commits one with state. If a fallback stands in the way, begin_hardware returns instead.
void commit_hardware(Thread& thread);

/// Ends the transaction: it has to run in software.
void give_up_hardware();

/// Ends the transaction for good, or lets it run in software if only a nested one is to be cancelled.
void cancel_hardware(Thread& thread, bool outermost);

/// Notes the stripes of a write; kLogged.
void note_stripes(Thread& thread, const void* address, std::size_t bytes);

}  // namespace elision::tm
