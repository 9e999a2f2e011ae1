// SPDX-License-Identifier: Apache-2.0
// A test's library aborts hardware transactions at random accesses and before random commits. Random is the
// time-stamp counter: state in memory would be rolled back, and the same access would abort again.
#pragma once

#ifdef ELISION_TEST_INJECTED_ABORTS

#include "htm/rtm.h"
#include "locks/waiting.h"

namespace elision::tm {

inline constexpr std::uint8_t kCodeInjected = 0xf0;

/// In or outside of a hardware transaction.
inline void may_abort_here() {
  constexpr std::uint64_t kOneIn = 24;
  if ((locks::ticks() * 0x9e3779b97f4a7c15ULL >> 40) % kOneIn == 0) (void)htm::Rtm::abort<kCodeInjected>();
}

}  // namespace elision::tm

#else

namespace elision::tm {
[[gnu::always_inline]] inline void may_abort_here() {}
}  // namespace elision::tm

#endif
