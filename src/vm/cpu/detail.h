// SPDX-License-Identifier: Apache-2.0
// How much of a run translated code shows to the engine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elision::vm {

enum class Detail : std::uint8_t {
  kTimed,    // every access goes through the timing model
  kCounted,  // fast mode: time is a number of instructions, and the model sees nothing
  kLogged,   // fast mode inside a transaction: stores are logged, so that an abort can undo them
};
inline constexpr std::size_t kDetails = 3;

}  // namespace elision::vm
