// SPDX-License-Identifier: Apache-2.0
// Constants of the ABI between GCC's transactional code and its library (libitm; Intel's Transactional
// Memory Compiler and Runtime ABI 1.1), as far as GCC 12 to 14 use it.
#pragma once

#include <cstdint>

namespace elision::tm {

/// What the compiler says about a block, argument of _ITM_beginTransaction. GCC sets read-only and
/// has-no-irrevocable wrongly, so no code may rely on these two.
enum Property : std::uint32_t {
  kHasInstrumentedCode = 0x01,
  kHasUninstrumentedCode = 0x02,
  kHasNoAbort = 0x08,
  kGoesIrrevocable = 0x40,
};

/// What _ITM_beginTransaction tells the block to do.
enum Action : std::uint32_t {
  kRunInstrumented = 0x01,
  kRunUninstrumented = 0x02,
  kSaveLiveVariables = 0x04,
  kRestoreLiveVariables = 0x08,
  kAbortTransaction = 0x10,
};

enum AbortReason : std::uint32_t { kUserAbort = 1, kOuterAbort = 16 };

/// What _ITM_inTransaction returns.
enum HowExecuting : std::uint32_t { kOutside = 0, kRetryable = 1, kIrrevocable = 2 };

inline constexpr std::uint64_t kNoTransactionId = 1;
inline constexpr int kAbiVersion = 90;

/// The registers at the call of _ITM_beginTransaction, written and restored by begin.S.
struct Registers {
  std::uint64_t cfa;  // the caller's stack pointer after the return
  std::uint64_t rbx, rbp, r12, r13, r14, r15;
  std::uint64_t rip;
};
static_assert(sizeof(Registers) == 64);

}  // namespace elision::tm
