// SPDX-License-Identifier: Apache-2.0
// Variations of machines: within the intervals, over their whole width, and each field independent of others.
#include "machine/variation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "machine/description_fields.h"

namespace elision::machine {
namespace {

constexpr std::uint32_t kDraws = 4000;

Machine xeon() { return *load_machine("xeon-e5-2697v4"); }

ValueRecord& record_of(Machine& machine, std::string_view field) {
  return *std::find_if(machine.values.begin(), machine.values.end(),
                       [field](const ValueRecord& record) { return record.field == field; });
}

/// A machine without uncertain values.
Machine certain() {
  Machine machine = xeon();
  for (ValueRecord& record : machine.values) record.others.clear();
  return machine;
}

/// A machine with one uncertain value.
Machine uncertain(std::string_view field, std::vector<std::string> others) {
  Machine machine = certain();
  record_of(machine, field).others = std::move(others);
  return machine;
}

std::string drawn(const Variation& variation, std::string_view field) {
  for (const DrawnValue& value : variation.drawn) {
    if (value.field == field) return value.value;
  }
  return "(not drawn)";
}

std::vector<std::string> text_of(const Variation& variation) {
  std::vector<std::string> lines;
  for (const DrawnValue& value : variation.drawn) lines.push_back(value.field + "=" + value.value);
  return lines;
}

TEST(Variation, ZeroIsTheBestGuess) {
  const Machine machine = xeon();
  const Result<Variation> zero = variation_of(machine, 0);
  ASSERT_TRUE(zero);
  EXPECT_EQ(render_machine(zero->machine), render_machine(machine));
  EXPECT_GT(zero->drawn.size(), 10u);
  for (const DrawnValue& value : zero->drawn) EXPECT_FALSE(value.changed()) << value.field;
}

TEST(Variation, SameNumberSameMachineOtherNumberAnother) {
  const Machine machine = xeon();
  EXPECT_EQ(text_of(*variation_of(machine, 7)), text_of(*variation_of(machine, 7)));
  EXPECT_NE(text_of(*variation_of(machine, 7)), text_of(*variation_of(machine, 8)));
  EXPECT_NE(text_of(*variation_of(machine, 7)), text_of(*variation_of(machine, 7, 2)));
}

TEST(Variation, DescriptionAndRecordsHoldWhatWasDrawn) {
  const Result<Variation> variation = variation_of(xeon(), 3);
  ASSERT_TRUE(variation);
  EXPECT_EQ(std::to_string(variation->machine.description.system.timer_hz),
            drawn(*variation, "system.timer_hz"));
  Machine varied = variation->machine;
  const ValueRecord& record = record_of(varied, "memory.latency_ns");
  EXPECT_EQ(record.best, drawn(*variation, "memory.latency_ns"));
  EXPECT_TRUE(record.others.empty());
  EXPECT_EQ(record.source, "drawn for variation 3");
}

TEST(Variation, EveryBuiltInMachineStaysWithinItsFile) {
  for (const std::string& name : built_in_machines()) {
    const Machine machine = *load_machine(name);
    for (std::uint32_t number = 1; number < kDraws; ++number) {
      Result<Variation> variation = variation_of(machine, number);
      ASSERT_TRUE(variation) << variation.error();
      ASSERT_EQ(inconsistency(variation->machine.description), nullptr);
      for (std::size_t i = 0; i < machine.values.size(); ++i) {
        const ValueRecord& before = machine.values[i];
        const std::string& after = variation->machine.values[i].best;
        if (before.others.empty()) {
          ASSERT_EQ(after, before.best) << before.field;
        } else if (std::isdigit(static_cast<unsigned char>(before.best[0]))) {
          ASSERT_GE(std::stoll(after), std::stoll(before.others[0])) << before.field;
          ASSERT_LE(std::stoll(after), std::stoll(before.others[1])) << before.field;
        } else {
          const auto& others = before.others;
          ASSERT_TRUE(after == before.best || std::find(others.begin(), others.end(), after) != others.end());
        }
      }
    }
  }
}

TEST(Variation, MedianIsBestGuessAndEndsAreReached) {
  const Machine machine = uncertain("system.timer_hz", {"244", "289"});  // best 250
  std::map<int, unsigned> counts;
  for (std::uint32_t number = 1; number <= kDraws; ++number)
    ++counts[std::stoi(drawn(*variation_of(machine, number), "system.timer_hz"))];
  EXPECT_EQ(counts.begin()->first, 244);
  EXPECT_EQ(counts.rbegin()->first, 289);
  unsigned below = 0, above = 0;
  for (const auto& [value, count] : counts) {
    if (value < 250) below += count;
    if (value > 250) above += count;
  }
  // 6/7 of the lower half and 39/40 of the upper; five standard deviations are 160.
  EXPECT_NEAR(below, kDraws * 6 / 14.0, 160);
  EXPECT_NEAR(above, kDraws * 39 / 80.0, 160);
}

TEST(Variation, IntervalFromBestGuessIsOneSided) {
  const Machine machine = uncertain("memory.latency_ns", {"70", "70.002"});
  std::set<std::string> seen;
  for (std::uint32_t number = 1; number <= 200; ++number)
    seen.insert(drawn(*variation_of(machine, number), "memory.latency_ns"));
  EXPECT_EQ(seen, (std::set<std::string>{"70", "70.001", "70.002"}));
}

TEST(Variation, WordsAreBestHalfTheTime) {
  const std::string field = "always_abort.abort_on_read_eviction";
  Machine machine = certain();
  const std::string best = record_of(machine, field).best;
  std::vector<std::string> others;
  for (const char* word : {"l1", "l3", "never"}) {
    if (word != best) others.emplace_back(word);
  }
  record_of(machine, field).others = others;
  std::map<std::string, unsigned> counts;
  for (std::uint32_t number = 1; number <= kDraws; ++number) {
    const Result<Variation> variation = variation_of(machine, number);
    ++counts[drawn(*variation, field)];
    const DrawnValue& value = variation->drawn.front();
    const auto index = std::find(others.begin(), others.end(), value.value) - others.begin();
    EXPECT_EQ(value.level, value.changed() ? 1.0 + static_cast<double>(index) : 0);
  }
  EXPECT_NEAR(counts[best], kDraws / 2.0, 160);
  for (const std::string& other : others) EXPECT_NEAR(counts[other], kDraws / 4.0, 140);
}

TEST(Variation, FlagsChange) {
  const Machine machine = uncertain("prefetch.stride", {"false"});
  std::set<bool> seen;
  for (std::uint32_t number = 1; number <= 50; ++number)
    seen.insert(variation_of(machine, number)->machine.description.prefetch.stride);
  EXPECT_EQ(seen.size(), 2u);
}

TEST(Variation, DrawOfFieldIgnoresOtherFields) {
  Machine more = uncertain("memory.latency_ns", {"60", "300"});
  record_of(more, "topology.cores").others = {"1", "18"};
  record_of(more, "transactions.aborted_lines").others = {"lost"};
  const Machine one = uncertain("memory.latency_ns", {"60", "300"});
  std::set<std::pair<std::string, std::string>> pairs;
  for (std::uint32_t number = 1; number <= 500; ++number) {
    const Result<Variation> variation = variation_of(more, number);
    EXPECT_EQ(drawn(*variation, "memory.latency_ns"), drawn(*variation_of(one, number), "memory.latency_ns"));
    pairs.emplace(drawn(*variation, "memory.latency_ns"), drawn(*variation, "topology.cores"));
  }
  EXPECT_GT(pairs.size(), 300u) << "two fields draw from one stream";
}

TEST(Variation, InconsistentDrawsAreDrawnAgain) {
  // L2 has 12 cycles. An independent draw would make L1 slower in about one case of four.
  Machine machine = uncertain("l1d.latency_cycles", {"4", "20"});
  unsigned high = 0;
  for (std::uint32_t number = 1; number <= 1000; ++number) {
    const Result<Variation> variation = variation_of(machine, number);
    ASSERT_TRUE(variation) << variation.error();
    ASSERT_LE(variation->machine.description.l1d.latency_cycles,
              variation->machine.description.l2.latency_cycles);
    high += variation->machine.description.l1d.latency_cycles > 4;
  }
  EXPECT_GT(high, 200u) << "drawn again, not cut off";
}

TEST(Variation, ImpossibleCapacityIsError) {
  Machine machine = uncertain("l1d.latency_cycles", {"100", "200"});
  record_of(machine, "l1d.latency_cycles").best = "150";
  const Result<Variation> variation = variation_of(machine, 4);
  ASSERT_FALSE(variation);
  EXPECT_EQ(variation.error(),
            "variation 4: the machine's intervals contradict each other: l2.latency_cycles: below that of "
            "l1d");
}

}  // namespace
}  // namespace elision::machine
