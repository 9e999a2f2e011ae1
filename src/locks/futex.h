// SPDX-License-Identifier: Apache-2.0
// Sleeping on a word, waking sleepers, and the deadline of a timed wait (futex(2)).
//
// System calls are made directly, so the program's errno stays untouched. Each of them aborts a
// transaction. Signal-safe; allocates nothing.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

namespace elision::locks {

/// An absolute time on `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC) after which to stop waiting.
struct Deadline {
  clockid_t clock;
  const timespec* at;

  bool has_passed() const {
    if (at->tv_sec < 0) return true;  // invalid for the kernel; for POSIX it has passed
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec > at->tv_sec || (now.tv_sec == at->tv_sec && now.tv_nsec >= at->tv_nsec);
  }
};

inline long raw_futex(const void* word, int operation, std::uint32_t value, const timespec* timeout,
                      std::uint32_t bits) {
  long result;
  register const timespec* r10 asm("r10") = timeout;
  register void* r8 asm("r8") = nullptr;
  register std::uint64_t r9 asm("r9") = bits;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(SYS_futex), "D"(word), "S"(operation), "d"(value), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

inline constexpr std::uint32_t kAnyBit = FUTEX_BITSET_MATCH_ANY;

/// Sleeps while the 32 bits at `word` are `expected`, until a wake with one of `bits` or the deadline
/// (null: none). Returns false only if the deadline passed; true may also be a spurious wake-up.
inline bool futex_wait(const void* word, std::uint32_t expected, std::uint32_t bits,
                       const Deadline* deadline) {
  int operation = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
  if (deadline != nullptr) {
    if (deadline->at->tv_sec < 0) return false;
    if (deadline->clock == CLOCK_REALTIME) operation |= FUTEX_CLOCK_REALTIME;
  }
  return raw_futex(word, operation, expected, deadline != nullptr ? deadline->at : nullptr, bits) !=
         -ETIMEDOUT;
}

inline constexpr std::uint32_t kAllSleepers = ~0u >> 1;

/// Wakes up to `count` sleepers that share a bit with `bits`; returns how many. The word may already be
/// freed.
inline long futex_wake(const void* word, std::uint32_t count, std::uint32_t bits) {
  return raw_futex(word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, count, nullptr, bits);
}

}  // namespace elision::locks
