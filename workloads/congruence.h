// SPDX-License-Identifier: Apache-2.0
// Work without memory, whose result can be checked: steps of PCG's linear congruence. PCG's output
// function, which does not change the state, is left out. A step is a multiplication and an addition.
#pragma once

#include <cstdint>

namespace workloads {

/// state -> factor * state + term, modulo 2^64.
struct Congruence {
  std::uint64_t factor = 6364136223846793005u;  // PCG's and Knuth's MMIX
  std::uint64_t term = 1442695040888963407u;

  std::uint64_t operator()(std::uint64_t state) const { return factor * state + term; }
  /// Returns the congruence that applies this one and then `next`.
  Congruence then(Congruence next) const { return {next.factor * factor, next.factor * term + next.term}; }
};

inline constexpr Congruence kStep;

inline std::uint64_t advance(std::uint64_t state, std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps; ++i) state = kStep(state);
  return state;
}

/// Returns the state after that many steps, by repeated squaring.
inline std::uint64_t jump(std::uint64_t state, std::uint64_t steps) {
  for (Congruence power = kStep; steps != 0; steps >>= 1, power = power.then(power))
    if (steps & 1) state = power(state);
  return state;
}

}  // namespace workloads
