// SPDX-License-Identifier: Apache-2.0
#include "profile/independent_samples.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "profile/share_interval.h"

namespace elision::profile {
namespace {

constexpr auto kSection = static_cast<std::size_t>(State::kSection);
constexpr auto kCommitted = static_cast<std::size_t>(State::kAttempt);
constexpr auto kAborted = static_cast<std::size_t>(State::kAborted);

IndependentSamples::Look look(std::uint64_t in_section, std::uint64_t outside) {
  IndependentSamples::Look look;
  look.known[kSection] = in_section;
  look.known[0] = outside;
  return look;
}

IndependentSamples::Look attempts(std::uint64_t committed, std::uint64_t aborted, std::uint64_t unknown,
                                  std::uint64_t outside) {
  IndependentSamples::Look look;
  look.known[kCommitted] = committed;
  look.known[kAborted] = aborted;
  look.known[0] = outside;
  look.attempts_unknown = unknown;
  return look;
}

TEST(IndependentSamples, WithoutLooksThereAreNone) {
  EXPECT_EQ(IndependentSamples().estimate(0)[kSection], 0);
  IndependentSamples samples;
  samples.add({});
  EXPECT_EQ(samples.estimate(0)[kSection], 0);
}

TEST(IndependentSamples, FewLooksCountAsOneEach) {
  IndependentSamples samples;
  for (std::uint64_t i = 0; i < IndependentSamples::kFewestLooks - 1; ++i) samples.add(look(4, 4));
  EXPECT_EQ(samples.estimate(0)[kSection], IndependentSamples::kFewestLooks - 1.0);
  samples.add(look(4, 4));
  EXPECT_EQ(samples.estimate(0)[kSection], 8.0 * IndependentSamples::kFewestLooks);
}

TEST(IndependentSamples, SamplesOfOneThreadAreAll) {
  Random random(1);
  IndependentSamples samples;
  for (int i = 0; i < 1000; ++i) random.below(10) < 3 ? samples.add(look(1, 0)) : samples.add(look(0, 1));
  EXPECT_NEAR(samples.estimate(0)[kSection], 1000, 2);
}

/// All threads of a look are in one state: they know as much as one. Looks at one thread know as much.
TEST(IndependentSamples, ThreadsThatAgreeCountAsOne) {
  Random random(1);
  IndependentSamples samples;
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t threads = 8;
    random.below(2) != 0 ? samples.add(look(threads, 0)) : samples.add(look(0, threads));
  }
  EXPECT_NEAR(samples.estimate(0)[kSection], 4000, 20);
}

/// One thread of four holds the lock at every moment: surer than independent samples, which is not used.
TEST(IndependentSamples, NeverMoreThanThereAre) {
  IndependentSamples samples;
  for (int i = 0; i < 1000; ++i) samples.add(look(1, 3));
  EXPECT_EQ(samples.estimate(0)[kSection], 4000);
}

/// Looks at one to eight threads that often are in one state: intervals hold the share that it has in the
/// long run as often as they say. The level of the test is 1e-4.
TEST(IndependentSamples, IntervalsHoldTheShareAsOftenAsTheySay) {
  constexpr int kRuns = 2000, kLooks = 300;
  constexpr double kFewestThatHold = 0.95 - 3.72 * 0.0049;  // 1e-4 of a binomial distribution
  for (const std::uint64_t agree_of_10 : {0u, 5u, 10u})
    for (const std::uint64_t share_of_100 : {50u, 10u}) {
      int holds = 0, holds_if_independent = 0;
      for (std::uint64_t run = 0; run < kRuns; ++run) {
        Random random(run * 77 + agree_of_10);
        const auto is_in_section = [&] { return random.below(100) < share_of_100; };
        IndependentSamples samples;
        double in_section = 0, all = 0;
        for (int i = 0; i < kLooks; ++i) {
          const std::uint64_t threads = 1 + random.below(8);
          const bool agree = random.below(10) < agree_of_10, all_in_section = is_in_section();
          std::uint64_t seen = 0;
          for (std::uint64_t t = 0; t < threads; ++t) seen += agree ? all_in_section : is_in_section();
          samples.add(look(seen, threads - seen));
          in_section += static_cast<double>(seen);
          all += static_cast<double>(threads);
        }
        const double share = static_cast<double>(share_of_100) / 100;
        const auto holds_it = [&](double count) {
          const Bounds interval = interval_of_share(in_section / all, count);
          return interval.low <= share && share <= interval.high;
        };
        holds += holds_it(samples.estimate(0)[kSection]);
        holds_if_independent += holds_it(all);
      }
      EXPECT_GE(holds, kFewestThatHold * kRuns) << agree_of_10 << " " << share_of_100;
      if (agree_of_10 != 0) {
        EXPECT_LT(holds_if_independent, 0.85 * kRuns) << "the test can fail";
      }
    }
}

/// All attempts are known: they are states as all others.
TEST(IndependentSamples, KnownAttemptsAreStates) {
  Random random(1);
  IndependentSamples samples;
  double aborted = 0, committed = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool aborts = random.below(4) == 0, commits = !aborts && random.below(2) == 0;
    aborted += aborts;
    committed += commits;
    samples.add(attempts(commits, aborts, 0, !aborts && !commits));
  }
  const auto found = samples.estimate(aborted / (aborted + committed));
  EXPECT_NEAR(found[kAborted], 1000, 2);
  EXPECT_NEAR(found[kCommitted], 1000, 2);
}

TEST(IndependentSamples, OnlyKnownAttemptsTellThatNoneAborts) {
  IndependentSamples samples;
  for (int i = 0; i < 100; ++i) samples.add(attempts(i % 10 == 0, 0, i % 10 != 0, 0));
  EXPECT_NEAR(samples.estimate(0)[kAborted], 10, 1e-6);
  EXPECT_NEAR(samples.estimate(0)[kCommitted], 10, 1e-6);
}

/// The outcomes of `unknown_of_10` of ten attempts are not known. Threads of a look agree whether they
/// attempt or are outside of locks, and often whether they abort.
TEST(IndependentSamples, IntervalsHoldWhereAttemptsAreUnknown) {
  constexpr int kRuns = 2000, kLooks = 300;
  constexpr double kFewestThatHold = 0.95 - 3.72 * 0.0049, kAbort = 0.3, kAttempt = 0.5;
  for (const std::uint64_t unknown_of_10 : {0u, 5u, 8u})
    for (const std::uint64_t agree_of_10 : {0u, 7u}) {
      int holds = 0, holds_if_known = 0;
      for (std::uint64_t run = 0; run < kRuns; ++run) {
        Random random(run * 77 + unknown_of_10);
        IndependentSamples samples, as_if_known;
        double committed = 0, aborted = 0, unknown = 0, all = 0;
        for (int i = 0; i < kLooks; ++i) {
          const bool agree = random.below(10) < agree_of_10, attempt = random.below(10) < 10 * kAttempt,
                     abort = random.below(10) < 10 * kAbort;
          IndependentSamples::Look seen, known;
          for (std::uint64_t t = 0; t < 4; ++t) {
            const bool attempts = agree ? attempt : random.below(10) < 10 * kAttempt;
            const bool aborts = agree ? abort : random.below(10) < 10 * kAbort;
            const bool is_known = random.below(10) >= unknown_of_10;
            const std::size_t state = !attempts ? 0 : aborts ? kAborted : kCommitted;
            // As it was counted once: an attempt that is not known is a committed one.
            ++known.known[attempts && !is_known ? kCommitted : state];
            attempts && !is_known ? ++seen.attempts_unknown : ++seen.known[state];
            aborted += attempts && is_known && aborts;
            committed += attempts && is_known && !aborts;
            unknown += attempts && !is_known;
            ++all;
          }
          samples.add(seen);
          as_if_known.add(known);
        }
        const double part = aborted / (aborted + committed);
        const double share = part * (aborted + committed + unknown) / all;
        const auto holds_it = [&](double count) {
          const Bounds interval = interval_of_share(share, count);
          return interval.low <= kAttempt * kAbort && kAttempt * kAbort <= interval.high;
        };
        holds += holds_it(samples.estimate(part)[kAborted]);
        holds_if_known += holds_it(as_if_known.estimate(part)[kAborted]);
      }
      EXPECT_GE(holds, kFewestThatHold * kRuns) << unknown_of_10 << " " << agree_of_10;
      if (unknown_of_10 == 8) {
        EXPECT_LT(holds_if_known, 0.9 * kRuns) << "the test can fail";
      }
    }
}

}  // namespace
}  // namespace elision::profile
