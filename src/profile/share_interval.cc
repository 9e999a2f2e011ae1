// SPDX-License-Identifier: Apache-2.0
#include "profile/share_interval.h"

#include <algorithm>
#include <cmath>

namespace elision::profile {

Bounds interval_of_share(double share, double samples) {
  if (!(samples > 0)) return {0, 1};
  const double p = std::clamp(share, 0.0, 1.0);
  const double z2 = kShareDeviations * kShareDeviations / samples;
  const double centre = p + z2 / 2;
  const double half = std::sqrt(z2 * (p * (1 - p) + z2 / 4));
  // Rounding must not move an end past the share itself.
  return {std::clamp((centre - half) / (1 + z2), 0.0, p), std::clamp((centre + half) / (1 + z2), p, 1.0)};
}

}  // namespace elision::profile
