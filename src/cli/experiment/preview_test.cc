// SPDX-License-Identifier: Apache-2.0
// What a look at a program in fast mode says, with a runner that runs nothing.
#include "cli/experiment/preview.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "cli/experiment/runner_for_test.h"

namespace elision::cli::experiment {
namespace {

/// As `elision vm` writes it for a look. `second`: the instruction at which a second thread started; 0: none.
nlohmann::json process(std::uint64_t instructions, std::uint64_t second, bool ended = false) {
  const auto start = second == 0 ? nlohmann::json(nullptr) : nlohmann::json(second);
  return {{"region",
           {{"ended", ended}, {"end_instructions", instructions}, {"second_thread_instructions", start}}}};
}

TEST(Preview, TheSecondThreadOfTheProcessThatExecutesMost) {
  EXPECT_EQ(preview_of({process(900, 300)}), (Preview{300, 900}));
  EXPECT_EQ(preview_of({process(900, 300), process(1000, 50), process(5000, 0)}), (Preview{50, 1000}));
  EXPECT_EQ(preview_of({process(900, 300), process(1000, 50, true)}), (Preview{50, 1000, true}));
  EXPECT_EQ(preview_of({process(900, 0), process(1000, 0)}), std::nullopt);
  EXPECT_EQ(preview_of({}), std::nullopt);
}

class Script final : public CellRunner {
 public:
  unsigned workers() const override { return 1; }
  bool cancelled() const override { return is_cancelled; }
  Sample run_cell(const Cell& cell, double timeout_seconds) override {
    EXPECT_TRUE(cell.previews);

    if (!timeouts_vary) {
      EXPECT_EQ(timeout_seconds, 7);
    }
    timeouts.push_back(timeout_seconds);
    Sample sample;
    script(cell, sample);
    return sample;
  }
  std::function<void(const Cell&, Sample&)> script;
  bool is_cancelled = false;
  bool timeouts_vary = false;
  std::vector<double> timeouts;
};

class Nobody final : public Observer {
 public:
  void estimate(const Outlook&, unsigned) override {}
  void progress(const Outlook&) override {}
};

class Look : public testing::Test {
 protected:
  Look() { plan_.designs = {kPthread}; }
  std::vector<Preview> look() { return previews(plan_, runner_, nobody_, {7, 0}).seen; }
  Plan plan_;
  Script runner_;
  Nobody nobody_;
};

TEST_F(Look, IsAtEachNumberOfThreads) {
  plan_.thread_counts = {1u, 4u, 8u};
  runner_.script = [](const Cell& cell, Sample& sample) {
    sample.processes = {process(900, *cell.threads == 4 ? 20 : 30)};
  };
  EXPECT_EQ(look(), (std::vector<Preview>{{30, 900}, {20, 900}, {30, 900}}));
  runner_.script = [](const Cell& cell, Sample& sample) {
    sample.processes = {process(900, *cell.threads == 4 ? 0 : 30)};
  };
  EXPECT_TRUE(look().empty()) << "their times would not be comparable";
}

TEST_F(Look, AtAProgramThatFailsSaysNothing) {
  plan_.thread_counts = {std::nullopt};
  const auto with = [&](std::function<void(Sample&)> change) {
    runner_.script = [change](const Cell&, Sample& sample) {
      sample.processes = {process(900, 30)};
      change(sample);
    };
    return look();
  };
  EXPECT_EQ(with([](Sample&) {}), (std::vector<Preview>{{30, 900}}));
  EXPECT_TRUE(with([](Sample& sample) { sample.status = 1; }).empty());
  EXPECT_TRUE(with([](Sample& sample) { sample.outcome = Outcome::kTimedOut; }).empty());
  EXPECT_TRUE(with([](Sample& sample) { sample.start_error = "no such file"; }).empty());
  plan_.ignore_failure = true;
  EXPECT_EQ(with([](Sample& sample) { sample.status = 1; }), (std::vector<Preview>{{30, 900}}));
  runner_.is_cancelled = true;
  EXPECT_TRUE(with([](Sample&) {}).empty());
}

/// A program that starts its second thread after `alone` of `all` instructions, in a fast mode that does 10^9
/// a second. Statistics are those that `elision vm` writes.
class Long : public Look {
 protected:
  Long() {
    plan_.thread_counts = {8u};
    runner_.timeouts_vary = true;
    runner_.script = [this](const Cell& cell, Sample& sample) {
      lengths_.push_back(cell.look_length);
      designs_.push_back(cell.design);
      const std::uint64_t end = alone_ + cell.look_length;
      const bool is_cut = end < all_;
      const std::uint64_t seen = is_cut ? end : all_;
      sample.processes = {process(seen, alone_ < all_ ? alone_ : 0, is_cut)};
      sample.host_seconds = 1e-9 * static_cast<double>(seen) * (cell.design == kPthread ? 1 : times_slower_);
    };
  }
  Previews look(double enough) { return previews(plan_, runner_, nobody_, {1000, enough}); }

  static constexpr std::uint64_t kBillion = 1'000'000'000;
  double times_slower_ = 1;  // designs that elide locks
  std::uint64_t alone_ = kBillion / 2, all_ = 100 * kBillion;
  std::vector<std::uint64_t> lengths_;
  std::vector<std::string> designs_;
};

TEST_F(Long, TheLookEndsAfterTheTimeThatIsEnough) {
  const Previews found = look(9.5);
  EXPECT_EQ(lengths_, (std::vector<std::uint64_t>{kBillion / 2, 9 * kBillion}));
  ASSERT_EQ(found.seen.size(), 1u);
  EXPECT_EQ(found.seen[0], (Preview{kBillion / 2, 9 * kBillion + kBillion / 2, true, 9.5}));
  EXPECT_NEAR(found.host_seconds, 10.5, 0.01) << "of both";
}

TEST_F(Long, TheFirstLookMayDo) {
  EXPECT_TRUE(look(0.9).seen.at(0).is_cut);
  EXPECT_EQ(lengths_.size(), 1u);
  all_ = kBillion;
  EXPECT_EQ(look(9).seen, (std::vector<Preview>{{kBillion / 2, kBillion, false, 1}})) << "it ended before";
  EXPECT_EQ(lengths_.size(), 2u);
  all_ = 5 * kBillion;
  EXPECT_EQ(look(9).seen, (std::vector<Preview>{{kBillion / 2, 5 * kBillion, false, 5}}));
  EXPECT_EQ(lengths_.size(), 4u);
}

TEST_F(Long, WithoutASecondThreadThereIsNone) {
  alone_ = all_;
  const Previews found = look(9);
  EXPECT_TRUE(found.seen.empty());
  EXPECT_FALSE(found.timed_out);
  EXPECT_EQ(lengths_.size(), 1u);
}

TEST_F(Long, TheSlowestDesignCounts) {
  plan_.designs = {"pthread", "tatas", "htm-1", "htm-10"};
  plan_.not_run["htm-1"] = "needs transactions";
  times_slower_ = 8;
  EXPECT_EQ(look(8.5).seen.at(0).all, kBillion + kBillion / 2);
  EXPECT_EQ(lengths_, (std::vector<std::uint64_t>{kBillion / 2, kBillion / 2, kBillion}));
  EXPECT_EQ(designs_, (std::vector<std::string>{"pthread", "htm-10", "pthread"}));
}

TEST_F(Long, ADesignThatHangsInItsLookCountsAsSlow) {
  plan_.designs = {"pthread", "htm-10"};
  const auto usual = runner_.script;
  runner_.script = [usual](const Cell& cell, Sample& sample) {
    usual(cell, sample);
    if (cell.design != kPthread) sample.outcome = Outcome::kTimedOut;
  };
  const Previews found = look(9.5);
  EXPECT_EQ(found.seen.size(), 1u);
  EXPECT_FALSE(found.timed_out);
}

TEST_F(Long, AllLooksTogetherHaveALimit) {
  plan_.thread_counts = {1u, 2u};
  EXPECT_EQ(previews(plan_, runner_, nobody_, {120, 0}).seen.size(), 2u);
  EXPECT_EQ(runner_.timeouts, (std::vector<double>{120, 20}));
}

TEST_F(Long, ALookThatWasStoppedDidNotTakeTooLong) {
  runner_.script = [this](const Cell&, Sample& sample) {
    runner_.is_cancelled = true;
    sample.outcome = Outcome::kTimedOut;
  };
  EXPECT_FALSE(look(9).timed_out);
}

TEST_F(Long, WithoutALimitItEndsWithTheProgram) {
  EXPECT_EQ(look(0).seen, (std::vector<Preview>{{kBillion / 2, all_, false, 100}}));
  EXPECT_EQ(lengths_, (std::vector<std::uint64_t>{1ULL << 62}));
}

TEST(SpreadOrder, TheFirstOnesLieAllOver) {
  EXPECT_EQ(spread_order(1), (std::vector<unsigned>{0}));
  EXPECT_EQ(spread_order(3), (std::vector<unsigned>{1, 0, 2}));
  EXPECT_EQ(spread_order(5), (std::vector<unsigned>{2, 0, 1, 3, 4}));
  const std::vector<unsigned> thirty = spread_order(30);
  EXPECT_EQ(std::vector<unsigned>(thirty.begin(), thirty.begin() + 5),
            (std::vector<unsigned>{15, 3, 9, 21, 27}));
  for (unsigned count = 1; count < 100; ++count) {
    std::vector<unsigned> order = spread_order(count);
    ASSERT_EQ(order.size(), count);
    // No place is far from the windows so far, whatever their number: twice as far as with the same number of
    // equal shares.
    for (unsigned taken = std::min(count, 5u); taken <= count; ++taken) {
      std::vector<unsigned> so_far(order.begin(), order.begin() + taken);
      std::sort(so_far.begin(), so_far.end());
      for (unsigned i = 1; i < taken; ++i) ASSERT_LE(so_far[i] - so_far[i - 1], 2 * count / taken + 2);
      ASSERT_LE(so_far.front(), count / taken + 1);
      ASSERT_LE(count - so_far.back(), count / taken + 2);
    }
  }
}

TEST(WindowsIn, LieInTheMiddleOfEqualShares) {
  constexpr std::uint64_t kMillion = 1'000'000;
  const auto windows = windows_in({10 * kMillion, 110 * kMillion}, 4, 4, 300);
  ASSERT_EQ(windows.size(), 4u);
  const std::uint64_t begins[] = {72'500'004, 22'500'002, 47'500'003, 97'500'005};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(windows[i].start.kind, vm::Trigger::Kind::kInstructions);
    EXPECT_EQ(windows[i].start.value, begins[i]);
    EXPECT_EQ(windows[i].warm_from.value, begins[i] - kWarmUpInstructions);
    EXPECT_EQ(windows[i].length, 300u);
    EXPECT_TRUE(windows[i].ends_process);
  }
  EXPECT_EQ(windows_in({0, 10}, 1, 1, 300)[0].warm_from.value, 1u) << "the program is too short for more";
}

TEST(WindowsIn, AreTheSameHoweverManyThereAre) {
  const Preview preview{1000, 300'001'000};
  const auto few = windows_in(preview, 5, 30, 300), all = windows_in(preview, 30, 30, 300);
  ASSERT_EQ(few.size(), 5u);
  ASSERT_EQ(all.size(), 30u);
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].start.value, all[i].start.value);
}

TEST(WindowsIn, BeginAtDifferentInstructions) {
  const auto windows = windows_in({1, 9}, 1000, 1000, 300);
  std::set<std::uint64_t> starts;
  for (const vm::RunRegion& window : windows) starts.insert(window.start.value);
  EXPECT_EQ(starts.size(), 1000u) << "of so few instructions";
}

TEST(Together, IsOneRunWithAllWindows) {
  vm::RunRegion first, second;
  first.start = {vm::Trigger::Kind::kInstructions, 50};
  first.warm_from = {vm::Trigger::Kind::kInstructions, 40};
  first.length = 9;
  first.ends_process = true;
  EXPECT_EQ(as_words(together({first})), as_words(first));
  second = first;
  second.start.value = 80;
  second.warm_from.value = 70;
  const std::vector<std::string> words = {
      "--start", "instructions:50,80", "--warmup", "instructions:40,70", "--length",
      "9ns",     "--end-with-part"};
  EXPECT_EQ(as_words(together({first, second})), words);
}

}  // namespace
}  // namespace elision::cli::experiment
