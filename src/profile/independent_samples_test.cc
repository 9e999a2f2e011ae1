// SPDX-License-Identifier: Apache-2.0
#include "profile/independent_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "profile/share_interval.h"

namespace elision::profile {
namespace {

constexpr auto kSection = static_cast<std::size_t>(State::kSection);
constexpr auto kCommitted = static_cast<std::size_t>(State::kAttempt);
constexpr auto kAborted = static_cast<std::size_t>(State::kAborted);

using Attempts = IndependentSamples::Attempts;

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
  EXPECT_EQ(IndependentSamples().estimate({})[kSection], 0);
  IndependentSamples samples;
  samples.add({});
  EXPECT_EQ(samples.estimate({})[kSection], 0);
}

TEST(IndependentSamples, FewLooksCountAsOneEach) {
  IndependentSamples samples;
  for (std::uint64_t i = 0; i < IndependentSamples::kFewestLooks - 1; ++i) samples.add(look(4, 4));
  EXPECT_EQ(samples.estimate({})[kSection], IndependentSamples::kFewestLooks - 1.0);
  samples.add(look(4, 4));
  EXPECT_EQ(samples.estimate({})[kSection], 8.0 * IndependentSamples::kFewestLooks);
}

TEST(IndependentSamples, SamplesOfOneThreadAreAll) {
  Random random(1);
  IndependentSamples samples;
  for (int i = 0; i < 1000; ++i) random.below(10) < 3 ? samples.add(look(1, 0)) : samples.add(look(0, 1));
  EXPECT_NEAR(samples.estimate({})[kSection], 1000, 2);
}

/// All threads of a look are in one state: they know as much as one. Looks at one thread know as much.
TEST(IndependentSamples, ThreadsThatAgreeCountAsOne) {
  Random random(1);
  IndependentSamples samples;
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t threads = 8;
    random.below(2) != 0 ? samples.add(look(threads, 0)) : samples.add(look(0, threads));
  }
  EXPECT_NEAR(samples.estimate({})[kSection], 4000, 20);
}

/// One thread of four holds the lock at every moment: surer than independent samples, which is not used.
TEST(IndependentSamples, NeverMoreThanThereAre) {
  IndependentSamples samples;
  for (int i = 0; i < 1000; ++i) samples.add(look(1, 3));
  EXPECT_EQ(samples.estimate({})[kSection], 4000);
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
        holds += holds_it(samples.estimate({})[kSection]);
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
  Attempts sum;
  for (int i = 0; i < 1000; ++i) {
    const bool aborts = random.below(4) == 0, commits = !aborts && random.below(2) == 0;
    sum.aborted += aborts;
    sum.committed += commits;
    samples.add(attempts(commits, aborts, 0, !aborts && !commits));
  }
  const auto found = samples.estimate({sum});
  EXPECT_NEAR(found[kAborted], 1000, 2);
  EXPECT_NEAR(found[kCommitted], 1000, 2);
}

/// The interval that holds the share of a lock's attempts in a state.
Bounds interval_of(std::size_t state, const IndependentSamples& samples, double share,
                   const std::vector<Attempts>& by_lock) {
  return interval_of_share(share, samples.estimate(by_lock)[state]);
}

TEST(IndependentSamples, UnknownAttemptsMayAllAbort) {
  IndependentSamples samples;
  for (int i = 0; i < 1000; ++i) samples.add(attempts(0, 0, 1, 1));
  const std::vector<Attempts> none_known{{0, 0, 1000}};
  EXPECT_GT(interval_of(kAborted, samples, 0, none_known).high, 0.3);
  EXPECT_LT(interval_of(kCommitted, samples, 0.5, none_known).low, 0.2);
}

TEST(IndependentSamples, OnlyKnownAttemptsTellThatNoneAborts) {
  IndependentSamples samples;
  for (int i = 0; i < 1000; ++i) samples.add(attempts(i % 100 == 0, 0, i % 100 != 0, 1));
  const std::vector<Attempts> ten_known{{10, 0, 990}};
  const Bounds aborted = interval_of(kAborted, samples, 0, ten_known);
  EXPECT_NEAR(aborted.high, 0.5 * 0.28, 0.03) << "half of what ten of ten tell";
  const Bounds committed = interval_of(kCommitted, samples, 0.5, ten_known);
  EXPECT_LT(committed.low, 0.5 - 0.7 * aborted.high) << "what does not abort commits";
}

/// Of two locks with as many attempts, nearly all are known of one and few of the other, where more abort.
TEST(IndependentSamples, KnownAttemptsOfOneLockDoNotTellAboutAnother) {
  constexpr int kRuns = 500, kLooks = 2000;
  constexpr double kFewestThatHold = 0.95 - 3.72 * 0.0097;  // 1e-4 of a binomial distribution
  int holds = 0, holds_if_one = 0;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    Random random(run);
    IndependentSamples samples;
    std::vector<Attempts> locks(2);
    for (int i = 0; i < kLooks; ++i) {
      const std::size_t lock = random.below(2);
      const bool is_known = random.below(100) < (lock == 0 ? 98 : 2),
                 aborts = random.below(10) < (lock == 0 ? 1 : 5);
      samples.add(attempts(is_known && !aborts, is_known && aborts, !is_known, 0));
      (is_known ? aborts ? locks[lock].aborted : locks[lock].committed : locks[lock].unknown) += 1;
    }
    double share = 0;
    Attempts one;
    for (const Attempts& lock : locks) {
      const double known = std::max(1.0, lock.aborted + lock.committed);
      share += lock.aborted / known * (lock.aborted + lock.committed + lock.unknown) / kLooks;
      one = {one.committed + lock.committed, one.aborted + lock.aborted, one.unknown + lock.unknown};
    }
    const auto holds_it = [](const Bounds& interval) { return interval.low <= 0.3 && 0.3 <= interval.high; };
    holds += holds_it(interval_of(kAborted, samples, share, locks));
    holds_if_one += holds_it(interval_of(kAborted, samples, share, {one}));
  }
  EXPECT_GE(holds, kFewestThatHold * kRuns);
  EXPECT_LT(holds_if_one, 0.6 * kRuns) << "the test can fail";
}

/// The outcomes of `unknown_of_100` of a hundred attempts are not known. Threads of a look agree whether they
/// attempt or are outside of locks, and often whether they abort.
TEST(IndependentSamples, IntervalsHoldWhereAttemptsAreUnknown) {
  constexpr int kRuns = 1000, kLooks = 300;
  constexpr double kFewestThatHold = 0.95 - 3.72 * 0.0069, kAttempt = 0.5;  // 1e-4 of a binomial distribution
  // Of a state that is seen in few looks, these differ too little from each other by chance.
  constexpr double kRare = 0.05, kFewestThatHoldIfRare = 0.9;
  const auto fewest = [](double share) { return share < kRare ? kFewestThatHoldIfRare : kFewestThatHold; };
  for (const std::uint64_t unknown_of_100 : {0u, 50u, 80u, 97u})
    for (const std::uint64_t agree_of_10 : {0u, 7u})
      for (const std::uint64_t abort_of_100 : {5u, 30u, 95u}) {
        const double truth = kAttempt * static_cast<double>(abort_of_100) / 100;
        int holds = 0, commit_holds = 0, holds_if_known = 0;
        for (std::uint64_t run = 0; run < kRuns; ++run) {
          Random random(run * 77 + unknown_of_100);
          IndependentSamples samples, as_if_known;
          Attempts sum;
          double all = 0;
          for (int i = 0; i < kLooks; ++i) {
            const auto aborts_now = [&] { return random.below(100) < abort_of_100; };
            const bool agree = random.below(10) < agree_of_10, attempt = random.below(10) < 10 * kAttempt,
                       abort = aborts_now();
            IndependentSamples::Look seen, known;
            for (std::uint64_t t = 0; t < 4; ++t) {
              const bool attempts = agree ? attempt : random.below(10) < 10 * kAttempt;
              const bool aborts = agree ? abort : aborts_now();
              const bool is_known = random.below(100) >= unknown_of_100;
              const std::size_t state = !attempts ? 0 : aborts ? kAborted : kCommitted;
              // As if an attempt that is not known were a committed one.
              ++known.known[attempts && !is_known ? kCommitted : state];
              attempts && !is_known ? ++seen.attempts_unknown : ++seen.known[state];
              if (attempts) (is_known ? aborts ? sum.aborted : sum.committed : sum.unknown) += 1;
              ++all;
            }
            samples.add(seen);
            as_if_known.add(known);
          }
          const double known = std::max(1.0, sum.aborted + sum.committed);
          const double in_attempts = (sum.aborted + sum.committed + sum.unknown) / all;
          const auto holds_it = [](double right, const Bounds& interval) {
            return interval.low <= right && right <= interval.high;
          };
          const double share = sum.aborted / known * in_attempts;
          holds += holds_it(truth, interval_of(kAborted, samples, share, {sum}));
          commit_holds +=
              holds_it(kAttempt - truth, interval_of(kCommitted, samples, in_attempts - share, {sum}));
          const Attempts as_known{sum.committed + sum.unknown, sum.aborted, 0};
          holds_if_known += holds_it(truth, interval_of(kAborted, as_if_known, share, {as_known}));
        }
        const auto where = [&] {
          return std::to_string(unknown_of_100) + " " + std::to_string(agree_of_10) + " " +
                 std::to_string(abort_of_100);
        };
        EXPECT_GE(holds, fewest(truth) * kRuns) << where();
        EXPECT_GE(commit_holds, fewest(kAttempt - truth) * kRuns) << where();
        if (unknown_of_100 >= 80 && abort_of_100 == 30) {
          EXPECT_LT(holds_if_known, 0.9 * kRuns) << "the test can fail";
        }
      }
}

}  // namespace
}  // namespace elision::profile
