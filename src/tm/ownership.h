// SPDX-License-Identifier: Apache-2.0
// The words that the fast path and the fallback share (ALE paper, section 2.2). Each lies on a line of its
// own: a transaction monitors the lines that it reads.
//
//   section      held by a transaction that stores to memory directly, outside of a hardware transaction.
//                Every fast path reads it first.
//   fallback     0, or the turn of the running fallback
//   stripe_locks the ownership array: a stripe is locked if its word is the turn of the running fallback.
//                So one store to `fallback` releases all of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "locks/tatas.h"
#include "tm/turns.h"

namespace elision::tm {

using Section = locks::Tatas<locks::Park>;

inline constexpr std::size_t kStripeLocks = std::size_t{1} << 19;
inline constexpr unsigned kStripeBits = 8;  // bytes that one word locks: 2^8

struct Shared {
  alignas(64) Section::Word section{0};
  alignas(64) std::atomic<std::uint64_t> fallback{0};
  alignas(64) Section::Word auxiliary{0};  // hle-scm: serialises transactions that conflicted
  Turns turns;
};

static_assert(sizeof(Section::Word) == 4 && offsetof(Shared, section) == 0 &&
              offsetof(Shared, fallback) == 64);  // begin.S

extern constinit Shared shared asm("elision_tm_shared");
extern constinit std::atomic<std::uint64_t> stripe_locks[kStripeLocks];

[[gnu::always_inline]] inline std::uint32_t stripe_of(const void* address) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(address) >> kStripeBits &
                                    (kStripeLocks - 1));
}

}  // namespace elision::tm
