// SPDX-License-Identifier: Apache-2.0
#include "profile/share_interval.h"

#include <gtest/gtest.h>

namespace elision::profile {
namespace {

struct Known {
  double share, samples, low, high;
};

TEST(ShareInterval, IsWilsons) {
  // By scipy 1.10: binomtest(share * samples, samples).proportion_ci(method="wilson").
  for (const Known& known : {Known{0.5, 100, 0.403832, 0.596168}, Known{0.3, 50, 0.191036, 0.437504},
                             Known{0.1, 200, 0.065670, 0.149406}, Known{0, 10, 0, 0.277533},
                             Known{1, 10, 0.722467, 1}, Known{0.01, 100000, 0.009402, 0.010636}}) {
    const Bounds interval = interval_of_share(known.share, known.samples);
    EXPECT_NEAR(interval.low, known.low, 1e-6) << known.share << " of " << known.samples;
    EXPECT_NEAR(interval.high, known.high, 1e-6) << known.share << " of " << known.samples;
  }
}

TEST(ShareInterval, HoldsTheShare) {
  for (double samples : {1.0, 7.0, 200.0, 1e9})
    for (double share : {0.0, 1e-12, 0.25, 1 - 1e-12, 1.0}) {
      const Bounds interval = interval_of_share(share, samples);
      EXPECT_LE(interval.low, share);
      EXPECT_GE(interval.high, share);
    }
}

TEST(ShareInterval, WithoutSamplesIsAnything) {
  for (double samples : {0.0, -1.0}) {
    const Bounds interval = interval_of_share(0.5, samples);
    EXPECT_EQ(interval.low, 0);
    EXPECT_EQ(interval.high, 1);
  }
}

}  // namespace
}  // namespace elision::profile
