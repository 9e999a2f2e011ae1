// SPDX-License-Identifier: Apache-2.0
// Which arithmetic flags an instruction reads, sets, and leaves undefined.
//
// An undefined flag may hold anything: CPUs of different makers differ, and some leave it as it was, which
// the virtual machine, having taken it for overwritten, need not have kept. So no sequence may depend on one.
// The table has what Intel's SDM (volume 2, "Flags Affected") calls undefined and AMD's APM (volume 3) does
// not define either; a flag that the virtual machine must keep is in no row.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>
#include <optional>

namespace differential {

enum : std::uint32_t {
  kCarry = 1u << 0,
  kParity = 1u << 2,
  kAdjust = 1u << 4,
  kZero = 1u << 6,
  kSign = 1u << 7,
  kOverflow = 1u << 11,
  kAllFlags = kCarry | kParity | kAdjust | kZero | kSign | kOverflow,
};

struct FlagEffects {
  std::uint32_t reads = 0;
  std::uint32_t sets = 0;       // in every case
  std::uint32_t undefines = 0;  // in some case
  bool result_defined = true;   // false: neither are the destination's bits
};

/// What `i` does to flags. `cl`: what CL holds, if that is known; else a shift by CL may be by any count.
FlagEffects effects_on_flags(const ZydisDecodedInstruction& i, const ZydisDecodedOperand* operands,
                             std::optional<unsigned> cl = std::nullopt);

/// Whether `i` shifts or rotates by CL.
bool shifts_by_cl(const ZydisDecodedInstruction& i, const ZydisDecodedOperand* operands);

/// The flags that are undefined behind an instruction, if `before` are in front of it.
inline std::uint32_t undefined_behind(std::uint32_t before, const FlagEffects& effects) {
  return (before & ~effects.sets) | effects.undefines;
}

}  // namespace differential
