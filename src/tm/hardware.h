// SPDX-License-Identifier: Apache-2.0
// The fast path: a transaction as one hardware transaction (ALE paper, Algorithm 1), and HLE, HLE-SCM and
// Unsafe-LR as the paper compares them.
#pragma once

#include <cstdint>

#include "htm/backend.h"
#include "tm/thread.h"

namespace elision::tm {

/// Operands of XABORT besides those of htm/backend.h.
inline constexpr std::uint8_t kCodeCancelled = 0xfa;  // __transaction_cancel: nothing is to be repeated
inline constexpr std::uint8_t kCodeFallbackRuns =
    0xfb;  // a fallback runs, and the transaction was not logged
inline constexpr std::uint8_t kCodeStripeLocked = 0xf9;  // a fallback has read what the transaction wrote

/// Begins an outermost transaction. Returns actions, or 0 if it has to run in software.
std::uint32_t begin_hardware(Thread& thread, std::uint32_t properties);

/// Commits it. If another transaction stands in the way, begin_hardware returns instead.
void commit_hardware(Thread& thread);

/// Ends the transaction: it has to run in software.
void give_up_hardware();

/// Ends the transaction for good, or lets it run in software if only a nested one is to be cancelled.
void cancel_hardware(Thread& thread, bool outermost);

/// Notes the stripes of a write; kLogged.
void note_stripes(Thread& thread, const void* address, std::size_t bytes);

}  // namespace elision::tm
