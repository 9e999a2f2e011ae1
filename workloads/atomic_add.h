// SPDX-License-Identifier: Apache-2.0
// An atomic addition to a double, as OpenMP's: a loop over a compare-and-exchange.
#pragma once

#include <bit>
#include <cstdint>

namespace workloads {

/// Adds with relaxed order. GCC's atomic_ref<double> would also spill.
inline void atomic_add(double& place, double amount) {
  using Bits [[gnu::may_alias]] = std::uint64_t;
  Bits* const bits = reinterpret_cast<Bits*>(&place);
  std::uint64_t seen = __atomic_load_n(bits, __ATOMIC_RELAXED), sum = 0;
  do {
    sum = std::bit_cast<std::uint64_t>(std::bit_cast<double>(seen) + amount);
  } while (!__atomic_compare_exchange_n(bits, &seen, sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

}  // namespace workloads
