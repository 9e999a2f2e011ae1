// SPDX-License-Identifier: Apache-2.0
// PMUs made of files, and an opener that writes down what it was asked.
#include "cli/doctor/perf_facts.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>

#include "cli/doctor/file_tree_for_test.h"

namespace elision::cli::doctor {
namespace {

int refuse(const PerfEventCode&) { return EACCES; }

const std::map<std::string, std::string> kFormats = {{"event", "config:0-7"},
                                                     {"umask", "config:8-15"},
                                                     {"in_tx", "config:32"},
                                                     {"ldlat", "config1:0-15"},
                                                     {"odd", "other:3"}};

TEST(PerfFacts, EventsAsNumbers) {
  const struct {
    const char* text;
    std::optional<std::uint64_t> config, config1;
  } cases[] = {
      {"event=0xc9,umask=0x1", 0x1c9, 0},
      {"event=0x3c,in_tx=1", std::uint64_t{1} << 32 | 0x3c, 0},
      {"event=0x3c,in_tx", std::uint64_t{1} << 32 | 0x3c, 0},
      {"event=0xcd,umask=0x1,ldlat=3", 0x1cd, 3},
      {"event=0x3c,unheard=1", {}, {}},
      {"event=cycles", {}, {}},
      {"event=0x1,odd=1", {}, {}},
  };
  for (const auto& c : cases) {
    const std::optional<PerfEventCode> code = encode_event(c.text, kFormats);
    ASSERT_EQ(code.has_value(), c.config.has_value()) << c.text;
    if (!code) continue;
    EXPECT_EQ(code->config[0], *c.config) << c.text;
    EXPECT_EQ(code->config[1], *c.config1) << c.text;
  }
}

TEST(PerfFacts, OpensCyclesAndTheListedTransactionEvents) {
  FileTree tree;
  const std::string pmu = "sys/bus/event_source/devices/cpu/";
  tree.file(pmu + "type", "4\n")
      .file(pmu + "format/event", "config:0-7\n")
      .file(pmu + "format/umask", "config:8-15\n");
  tree.file(pmu + "events/tx-start", "event=0xc9,umask=0x1\n")
      .file(pmu + "events/tx-commit", "event=0xc9,umask=0x2\n")
      .file(pmu + "events/cycles-t", "event=0x3c,in_tx=1\n")
      .file(pmu + "events/instructions", "event=0xc0\n");
  std::vector<PerfEventCode> asked;
  const PerfFacts facts = read_perf(
      [&](const PerfEventCode& code) {
        asked.push_back(code);
        return code.config[0] == 0x2c9 ? ENOENT : 0;
      },
      tree.root());
  EXPECT_EQ(facts.cycles_error, 0);
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].type, static_cast<std::uint32_t>(PERF_TYPE_HARDWARE));
  EXPECT_EQ(asked[1].type, 4u);
  ASSERT_EQ(facts.tsx_events.size(), 3u);
  EXPECT_EQ(facts.tsx_events[0].name, "cycles-t");  // in_tx has no format here
  EXPECT_EQ(facts.tsx_events[0].error, EINVAL);
  EXPECT_EQ(facts.tsx_events[1].name, "tx-commit");
  EXPECT_EQ(facts.tsx_events[1].error, ENOENT);
  EXPECT_EQ(facts.tsx_events[2].name, "tx-start");
  EXPECT_EQ(facts.tsx_events[2].error, 0);
}

TEST(PerfFacts, ParanoidAndCapabilities) {
  const struct {
    const char *paranoid, *status;
    std::optional<int> level;
    bool capable;
  } cases[] = {
      {"2\n", "Name:\tx\nCapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n", 2, false},
      {"-1\n", "CapEff:\t0000004000000000\n", -1, true},
      {"4\n", "CapEff:\t0000000000200000\n", 4, true},
      {"?\n", "CapEff:\tnumber\n", {}, false},
  };
  for (const auto& c : cases) {
    FileTree tree;
    tree.file("proc/sys/kernel/perf_event_paranoid", c.paranoid).file("proc/self/status", c.status);
    const PerfFacts facts = read_perf(refuse, tree.root());
    EXPECT_EQ(facts.paranoid, c.level);
    EXPECT_EQ(facts.capable, c.capable) << c.status;
    EXPECT_EQ(facts.cycles_error, EACCES);
    EXPECT_TRUE(facts.tsx_events.empty());
  }
}

}  // namespace
}  // namespace elision::cli::doctor
