// SPDX-License-Identifier: Apache-2.0
// The registers of a guest thread that does not run. The assembly stubs (stubs.S) and the translator use the
// layout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elision::vm {

/// Register numbers of the instruction encoding.
enum Gpr : unsigned {
  kRax,
  kRcx,
  kRdx,
  kRbx,
  kRsp,
  kRbp,
  kRsi,
  kRdi,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15,
  kGprCount
};

struct alignas(64) GuestState {
  std::uint64_t gpr[kGprCount]{};
  std::uint64_t rip = 0;
  std::uint64_t rflags = 0x202;
  std::uint64_t fs_base = 0;
  std::uint32_t mxcsr = 0x1f80;
  std::uint32_t x87_used = 0;  // 1 once the thread executed an x87 or MMX instruction: `fx` is then valid
  alignas(32) std::uint8_t ymm[16][32]{};
  alignas(64) std::uint8_t fx[512]{};  // FXSAVE64 image; only its x87 part counts
};

}  // namespace elision::vm
