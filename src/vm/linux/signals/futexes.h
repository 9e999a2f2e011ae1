// SPDX-License-Identifier: Apache-2.0
// Wake-ups of futex waiters, and the release of locks when a thread or process ends. The system calls are in
// futex_calls.h.
#pragma once

#include <linux/futex.h>

#include "vm/linux/process/process.h"

namespace elision::vm {

inline constexpr std::uint32_t kAllBits = FUTEX_BITSET_MATCH_ANY;

/// True if another process may wait for the futex at `address`.
bool between_processes(const Process& process, std::uint64_t address);

/// Wakes up to `count` waiters of `address` whose bits meet `bits`; returns how many.
unsigned wake_futex(Process& process, const Thread* waker, std::uint64_t address, unsigned count,
                    std::uint32_t bits);

/// Releases a thread's futexes at its end: marks robust locks that it held, clears its child-tid word.
void release_futexes_of(Process& process, KernelThread& thread);

/// The same for all threads of an ending process, as far as other processes may wait.
void release_shared_futexes(Process& process);

/// Hands the PI lock at `address` to its oldest waiter, or frees it; `extra_bits` are set in the word.
void pass_pi_lock(Process& process, const Thread* waker, std::uint64_t address, std::uint32_t extra_bits);

}  // namespace elision::vm
