// SPDX-License-Identifier: Apache-2.0
// A number in two runs, A and B, and how sure its change is. Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "profile/share_interval.h"

namespace elision::profile {

/// A number in both runs.
struct Change {
  double a = 0, b = 0;
  std::optional<Bounds> bounds{};  // of difference(); nothing: both are exact

  double difference() const { return b - a; }
  /// Whether the difference is more than uncertainty.
  bool is_clear() const { return bounds ? bounds->low > 0 || bounds->high < 0 : a != b; }
};

/// Which runs have something.
enum class Presence : std::uint8_t { kBoth, kOnlyA, kOnlyB };

/// The interval of b - a, from those of both numbers: Newcombe's (Statistics in Medicine 17, 1998, method
/// 10).
inline Bounds bounds_of_difference(double a, const Bounds& of_a, double b, const Bounds& of_b) {
  return {b - a - std::hypot(b - of_b.low, of_a.high - a), b - a + std::hypot(of_b.high - b, a - of_a.low)};
}

}  // namespace elision::profile
