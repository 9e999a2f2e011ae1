// SPDX-License-Identifier: Apache-2.0
// Intel RTM, as instructions: no compiler flag and no intrinsic header is needed, so that the library
// can hold this code and still run on CPUs that lack it.
//
// Callers must have asked cpu.h: without RTM, XBEGIN is an invalid opcode.
#pragma once

#include "htm/backend.h"

namespace elision::htm {

struct Rtm {
  /// Starts a transaction. On abort control comes back here once more, with every register and all
  /// memory as they were, and the status says why.
  [[gnu::always_inline]] static Status begin() {
    std::uint32_t eax = Status::kStarted;
    asm volatile("xbegin 1f\n1:" : "+a"(eax) : : "memory");
    return Status{eax};
  }

  /// Commits. Outside a transaction this is #GP: callers know that they are in one of their own.
  [[gnu::always_inline]] static void commit() { asm volatile("xend" : : : "memory"); }

  /// Ends the transaction; outside one it does nothing and returns.
  template <std::uint8_t kCode>
  [[gnu::always_inline]] static Status abort() {
    asm volatile("xabort %0" : : "i"(unsigned{kCode}) : "memory");
    return Status::explicit_abort(kCode);
  }

  [[gnu::always_inline]] static bool in_transaction() {
    bool inside;
    asm volatile("xtest" : "=@ccnz"(inside));
    return inside;
  }
};
static_assert(Transactional<Rtm>);

}  // namespace elision::htm
