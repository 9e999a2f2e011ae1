// SPDX-License-Identifier: Apache-2.0
// What the counter files say that threads did (abi/thread_activity.h), in processes that end with locks held
// (test_programs/activity_worker.cc). The library and the programs come from the build (ELISION_TEST_*).
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "abi/counters_reader.h"

namespace {

using elision::abi::CounterSlot;
using elision::abi::ThreadActivity;

constexpr std::uint64_t kFirst = 0x200000000, kSecond = kFirst + 64, kOfApi = kFirst + 128,
                        kOfApiToo = kFirst + 192;
constexpr std::size_t kSlots = 4;

/// A counter file, as far as it is in use.
struct File {
  std::string data;

  const CounterSlot& slot(std::size_t number) const {
    return *reinterpret_cast<const CounterSlot*>(data.data() + elision::abi::kCountersHeaderBytes +
                                                 number * elision::abi::kCounterSlotBytes);
  }
  const ThreadActivity& activity(std::size_t number = 1) const { return slot(number).activity; }
  int held(std::size_t number = 1) const { return ThreadActivity::depth(activity(number).position); }
  std::uint64_t taken() const { return ThreadActivity::taken(activity().position); }
  elision::abi::CounterTotals totals() const {
    return elision::abi::sum_counters(data.data(), data.size()).value_or(elision::abi::CounterTotals{});
  }
};

class ActivityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/elision-activity-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// Runs `program WORK` under `design`, with no files of an earlier run.
  int run(const char* program, const char* design, const char* work) {
    TearDown();
    SetUp();
    const pid_t child = fork();
    if (child == 0) {
      setenv("LD_PRELOAD", ELISION_TEST_LIBRARY, 1);
      setenv("ELISION_COUNTERS_DIR", directory_.c_str(), 1);
      setenv("ELISION_LOCK", design, 1);
      setenv("ELISION_ACTIVITY", "1", 1);
      setenv("ELISION_CONDITION", "glibc", 1);
      execl(program, program, work, nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  File file(int number) const {
    const std::string name = directory_ + "/000" + std::to_string(number) + ".counters";
    std::string data(elision::abi::kCountersHeaderBytes + kSlots * elision::abi::kCounterSlotBytes, '\0');
    std::ifstream(name, std::ios::binary).read(data.data(), static_cast<std::streamsize>(data.size()));
    return {data};
  }

  std::string directory_;
};

constexpr const char* kDesigns[] = {"pthread", "tatas", "ticket", "htm-10", "pthread-aahtm"};

TEST_F(ActivityTest, ChildOfAForkHoldsNothingAndWritesToNobodysSlot) {
  for (const char* design : kDesigns) {
    SCOPED_TRACE(design);
    ASSERT_EQ(run(ELISION_TEST_WORKER, design, "fork"), 0);
    const File parent = file(0), child = file(1);
    EXPECT_EQ(parent.held(), 1);
    EXPECT_EQ(parent.activity().entries[0].lock(), kFirst);
    EXPECT_EQ(child.held(), 1) << "the other thread's";
    EXPECT_EQ(child.taken(), 1u);
    EXPECT_EQ(child.activity().entries[0].lock(), kSecond);
    EXPECT_EQ(child.slot(2).thread_id, 0u) << "the thread that forked has taken nothing";
  }
}

TEST_F(ActivityTest, ChildOfAForkInTheWakeOfAnUnlockGoesOn) {
  const int status = run(ELISION_TEST_WORKER, "tatas", "fork-while-waking");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "this kernel forbids filters";
  EXPECT_EQ(status, 0);
}

TEST_F(ActivityTest, LibraryOfAnotherVersionGetsNoActivity) {
  for (const char* design : kDesigns) EXPECT_EQ(run(ELISION_TEST_WORKER, design, "versions"), 0) << design;
}

TEST_F(ActivityTest, WaitWithAMutexOfGlibcLeavesOtherLocksHeld) {
  for (const char* design : kDesigns) {
    SCOPED_TRACE(design);
    ASSERT_EQ(run(ELISION_TEST_WORKER, design, "wait"), 0);
    EXPECT_EQ(file(0).held(), 1);
    const elision::abi::SeenActivity seen = elision::abi::seen_activity(file(0).activity());
    EXPECT_EQ(seen.lock, kFirst);
    EXPECT_LE(seen.activity, elision::abi::Activity::kFallback) << "in the section";
  }
}

// libelision-api, shared and static.

class ApiActivityTest : public ActivityTest, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Linked, ApiActivityTest,
                         ::testing::Values(ELISION_TEST_WORKER, ELISION_TEST_STATIC_WORKER),
                         [](const auto& info) {
                           return std::strcmp(info.param, ELISION_TEST_WORKER) == 0 ? "shared" : "static";
                         });

TEST_P(ApiActivityTest, LocksOfBothLibrariesAreNested) {
  for (const char* design : kDesigns) {
    SCOPED_TRACE(design);
    ASSERT_EQ(run(GetParam(), design, "both"), 0);
    EXPECT_EQ(file(0).held(), 2);
    EXPECT_EQ(file(0).activity().entries[0].lock(), kFirst);
    EXPECT_EQ(file(0).activity().entries[1].lock(), kOfApi);
    EXPECT_NE(file(0).activity().entries[1].site, 0u);
    EXPECT_EQ(file(0).totals().sections(), 1u) << "a lock that no design replaces is not counted";
  }
}

TEST_P(ApiActivityTest, ProgramWithoutOtherLocksHasNoneToReplace) {
  ASSERT_EQ(run(GetParam(), "tatas", "api"), 0);
  EXPECT_EQ(file(0).held(), 1);
  EXPECT_EQ(file(0).activity().entries[0].lock(), kOfApi);
  EXPECT_EQ(file(0).totals().sections(), 0u);
  EXPECT_FALSE(file(0).totals().interposed_locks_seen);
}

TEST_P(ApiActivityTest, BarrierAfterOtherLocksIsOneToReplace) {
  for (const char* design : {"tatas", "htm-10", "pthread-aahtm"}) {
    SCOPED_TRACE(design);
    ASSERT_EQ(run(GetParam(), design, "barrier-after-api"), 0);
    EXPECT_TRUE(file(0).totals().interposed_locks_seen);
    EXPECT_EQ(file(0).totals().sections(), 0u);
  }
}

TEST_P(ApiActivityTest, ChildOfAForkWritesToNobodysSlot) {
  ASSERT_EQ(run(GetParam(), "tatas", "fork-api"), 0);
  const File parent = file(0), child = file(1);
  EXPECT_EQ(parent.held(), 1);
  EXPECT_EQ(parent.activity().entries[0].lock(), kOfApi);
  EXPECT_EQ(child.held(), 1) << "the other thread's";
  EXPECT_EQ(child.activity().entries[0].lock(), kOfApiToo);
}

}  // namespace
