// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/transaction_events.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "cli/doctor/file_tree_for_test.h"

namespace elision::cli::doctor {
namespace {

constexpr const char* kCpu = "sys/bus/event_source/devices/cpu/";

TEST(TransactionEvents, AreWhatTheKernelSays) {
  FileTree tree;
  const std::string cpu = kCpu;
  tree.file(cpu + "type", "4\n")
      .file(cpu + "format/event", "config:0-7\n")
      .file(cpu + "format/umask", "config:8-15\n");
  EXPECT_FALSE(transaction_events(true, tree.root())) << "the kernel knows none";
  tree.file(cpu + "events/tx-abort", "event=0xca,umask=0x14\n")
      .file(cpu + "events/tx-commit", "event=0xca,umask=0x12\n");
  const auto events = transaction_events(false, tree.root());
  ASSERT_TRUE(events);
  EXPECT_EQ(events->aborts.type, 4u);
  EXPECT_EQ(events->aborts.config[0], 0x14cau);
  EXPECT_EQ(events->commits.config[0], 0x12cau);
  EXPECT_FALSE(events->cycles);
  tree.file(cpu + "format/in_tx", "config:32\n").file(cpu + "events/cycles-t", "event=0x3c,in_tx=1\n");
  EXPECT_EQ(transaction_events(false, tree.root())->cycles->config[0], 0x10000003cu);
}

TEST(TransactionEvents, HaveNumbersWithoutSysfs) {
  const FileTree tree;
  EXPECT_FALSE(transaction_events(false, tree.root()));
  const auto events = transaction_events(true, tree.root());
  ASSERT_TRUE(events);
  EXPECT_EQ(events->aborts.type, static_cast<std::uint32_t>(PERF_TYPE_RAW));
  EXPECT_EQ(events->aborts.config[0], 0x4c9u);
  EXPECT_EQ(events->commits.config[0], 0x2c9u);
}

}  // namespace
}  // namespace elision::cli::doctor
