// SPDX-License-Identifier: Apache-2.0
// Transactions that end without a hardware transaction around them: ALE's fallback, and serial ones. One
// runs at a time in the process, in ALE in the order of tickets. None of them is ever restarted; only a
// cancel rolls one back, and only transactions that the compiler says may cancel are prepared for it.
//
// Callers: begin.cc, clones.cc, process.cc, exceptions.cc, barriers. Only the functions that say so may be
// called in a hardware segment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tm/ownership.h"
#include "tm/thread.h"

namespace elision::tm {

/// Waits until the thread alone may store directly: no other software transaction, no hardware transaction.
void enter_alone(Thread& thread);
/// Releases what enter_alone took, and a fallback's locks.
void leave_alone(Thread& thread);

/// Begins an outermost transaction. Returns actions.
std::uint32_t begin_software(Thread& thread, std::uint32_t properties, const Registers& registers);
/// Ends it, with everything it wrote in memory.
void commit_software(Thread& thread);

/// Goes on as the only transaction, with everything stored. From kFallback, also in a segment.
void become_serial(Thread& thread);

/// A nested transaction in a serial one. Returns actions.
std::uint32_t begin_nested_serial(Thread& thread, std::uint32_t properties, const Registers& registers);
void leave_nested_serial(Thread& thread);

/// Rolls back to the innermost checkpoint, or to the outermost one, and returns from its begin again.
[[noreturn]] void roll_back(Thread& thread, bool outermost);

/// After the end of an outermost transaction: gives hle-scm's lock back, runs the user's actions, and frees
/// memory.
void settle_rest(Thread& thread);
[[gnu::always_inline]] inline void settle(Thread& thread) {
  if (thread.holds_auxiliary || thread.has_pending) [[unlikely]]
    settle_rest(thread);
}

// ---- ALE's fallback.

void start_segment(Thread& thread);
void end_segment(Thread& thread);
/// Stores the write log in one hardware transaction or, if that fails, under the section lock.
void write_back(Thread& thread);

/// The barriers of kBuffered; in segments.
void read_buffered(Thread& thread, const void* from, void* to, std::size_t bytes);
void write_buffered(Thread& thread, void* to, const void* from, std::size_t bytes);

/// The same for an access that lies in one aligned word of eight bytes: its value in the low bytes.
std::uint64_t read_buffered_word(Thread& thread, const void* from, std::size_t bytes);
void write_buffered_word(Thread& thread, void* to, std::uint64_t value, std::size_t bytes);

}  // namespace elision::tm
