// SPDX-License-Identifier: Apache-2.0
// Which arithmetic flags an instruction reads, sets, and leaves undefined.
//
// An undefined flag may have any value: makers differ, and some CPUs leave the flag unchanged, while the
// virtual machine treats it as overwritten and need not keep it. So no sequence may depend on one. The table
// has flags that Intel's SDM (volume 2, "Flags Affected") calls undefined and AMD's APM (volume 3) does not
// define either. It has no flag that the virtual machine must keep.
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
  bool result_defined = true;   // false: the destination is undefined too
};

/// The effect of `i` on flags. `cl`: the value of CL if known; otherwise a shift by CL may have any count.
FlagEffects effects_on_flags(const ZydisDecodedInstruction& i, const ZydisDecodedOperand* operands,
                             std::optional<unsigned> cl = std::nullopt);

/// Whether `i` shifts or rotates by CL.
bool shifts_by_cl(const ZydisDecodedInstruction& i, const ZydisDecodedOperand* operands);

/// The flags that are undefined after an instruction, if `before` are undefined before it.
inline std::uint32_t undefined_behind(std::uint32_t before, const FlagEffects& effects) {
  return (before & ~effects.sets) | effects.undefines;
}

}  // namespace differential
