// SPDX-License-Identifier: Apache-2.0
// How sure a share is that is known from samples. Pure.
#pragma once

namespace elision::profile {

inline constexpr double kShareConfidence = 0.95;
/// So many standard deviations hold it: 2.5 % lie beyond either end.
inline constexpr double kShareDeviations = 1.959963984540054;

/// The ends of the interval in which a number lies with 95 % confidence.
struct Bounds {
  double low = 0, high = 0;
};

/// Where the share of all time lies, with the confidence above, if `share` of `samples` is what was seen:
/// Wilson's score interval (Journal of the American Statistical Association 22, 1927), which also holds for
/// shares near 0 and 1. `samples` are independent ones: independent_samples.h says how many a profile has.
Bounds interval_of_share(double share, double samples);

}  // namespace elision::profile
