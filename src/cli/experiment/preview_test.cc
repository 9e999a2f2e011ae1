// SPDX-License-Identifier: Apache-2.0
// What a look at a program in fast mode says, with a runner that runs nothing.
#include "cli/experiment/preview.h"

#include <gtest/gtest.h>

#include <functional>

namespace elision::cli::experiment {
namespace {

nlohmann::json process(std::uint64_t instructions, const std::vector<std::uint64_t>& starts) {
  nlohmann::json threads = nlohmann::json::array();
  for (const std::uint64_t start : starts) threads.push_back({{"started_instructions", start}});
  return {{"instructions", instructions}, {"threads", threads}};
}

TEST(Preview, TheSecondThreadOfTheProcessThatExecutesMost) {
  EXPECT_EQ(instructions_alone({process(900, {0, 700, 300, 800})}), 300u) << "in any order";
  EXPECT_EQ(instructions_alone({process(900, {0, 300}), process(1000, {0, 50}), process(5000, {0})}), 50u);
  EXPECT_EQ(instructions_alone({process(900, {0}), process(1000, {0})}), std::nullopt);
  EXPECT_EQ(instructions_alone({}), std::nullopt);
}

class Script final : public Runner {
 public:
  unsigned workers() const override { return 1; }
  bool cancelled() const override { return is_cancelled; }
  Sample run(const Cell& cell, double timeout_seconds) override {
    EXPECT_TRUE(cell.previews);
    EXPECT_EQ(cell.design, kReference);
    EXPECT_EQ(timeout_seconds, 7);
    Sample sample;
    script(cell, sample);
    return sample;
  }
  std::function<void(const Cell&, Sample&)> script;
  bool is_cancelled = false;
};

class Nobody final : public Observer {
 public:
  void estimate(const Outlook&, unsigned) override {}
  void progress(const Outlook&) override {}
};

class Look : public testing::Test {
 protected:
  std::optional<std::uint64_t> look() { return least_alone(plan_, runner_, nobody_, 7); }
  Plan plan_;
  Script runner_;
  Nobody nobody_;
};

TEST_F(Look, TakesTheLeastOfAllNumbersOfThreads) {
  plan_.thread_counts = {1u, 4u, 8u};
  runner_.script = [](const Cell& cell, Sample& sample) {
    sample.processes = {process(900, {0, *cell.threads == 4 ? 20u : 30u})};
  };
  EXPECT_EQ(look(), 20u);
  runner_.script = [](const Cell& cell, Sample& sample) {
    sample.processes = {*cell.threads == 4 ? process(900, {0}) : process(900, {0, 30})};
  };
  EXPECT_EQ(look(), std::nullopt) << "their times would not be comparable";
}

TEST_F(Look, AtAProgramThatFailsSaysNothing) {
  plan_.thread_counts = {std::nullopt};
  const auto with = [&](std::function<void(Sample&)> change) {
    runner_.script = [change](const Cell&, Sample& sample) {
      sample.processes = {process(900, {0, 30})};
      change(sample);
    };
    return look();
  };
  EXPECT_EQ(with([](Sample&) {}), 30u);
  EXPECT_EQ(with([](Sample& sample) { sample.status = 1; }), std::nullopt);
  EXPECT_EQ(with([](Sample& sample) { sample.outcome = Outcome::kTimedOut; }), std::nullopt);
  EXPECT_EQ(with([](Sample& sample) { sample.start_error = "no such file"; }), std::nullopt);
  plan_.ignore_failure = true;
  EXPECT_EQ(with([](Sample& sample) { sample.status = 1; }), 30u);
  runner_.is_cancelled = true;
  EXPECT_EQ(with([](Sample&) {}), std::nullopt);
}

}  // namespace
}  // namespace elision::cli::experiment
