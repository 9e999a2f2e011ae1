// SPDX-License-Identifier: Apache-2.0
// The state before and after a sequence of instructions: all registers of a thread. enter.S has the offsets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace differential {

enum Register : unsigned {
  kRax,
  kRcx,
  kRdx,
  kRbx,
  kRsp,
  kRbp,
  kRsi,
  kRdi,
  kR8,
  kR12 = 12,
  kR13,
  kR14,
  kR15,
  kGprs
};

struct alignas(64) State {
  std::uint64_t gpr[kGprs];
  std::uint64_t flags;
  std::uint64_t unused[7];
  std::uint8_t fx[512];  // as FXSAVE64 has it: x87, MXCSR, XMM
  std::uint8_t ymm[16][32];
};
static_assert(offsetof(State, flags) == 128 && offsetof(State, fx) == 192 && offsetof(State, ymm) == 704);

extern "C" {
/// Loads `before`, runs `code`, which ends by a jump to sequence_end, and stores the final state to `after`.
void run_sequence(const State* before, State* after, const void* code);
/// The end of a sequence; a signal handler may continue there too.
extern const char sequence_end[];
}

}  // namespace differential
