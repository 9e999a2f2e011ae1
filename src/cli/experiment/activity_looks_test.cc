// SPDX-License-Identifier: Apache-2.0
// Looks at counter files that stand for processes that run, end, or execute another program.
#include "cli/experiment/activity_looks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cli/experiment/counter_file_for_test.h"
#include "cli/host/temp_directory.h"

namespace elision::cli::experiment {
namespace {

using test::CounterFile;

constexpr std::chrono::milliseconds kStep{4};

class ActivityLooksTest : public ::testing::Test {
 protected:
  /// A file of process `id`, begun at `start_ns`, whose calling thread is in a section of `lock`.
  void write(const char* name, pid_t id, std::uint64_t start_ns = 1, std::uint64_t lock = 64) {
    CounterFile file;
    file.header.process_id = static_cast<std::uint32_t>(id);
    file.header.start_monotonic_ns = start_ns;
    file.slots.resize(1);
    file.slots[0].thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
    file.slots[0].activity.take(reinterpret_cast<const void*>(lock), nullptr);
    file.write(directory_.path() / name);
  }
  void look() { looks_.look(now_ += kStep, kStep); }

  TempDirectory directory_;
  ActivityLooks looks_{directory_.path()};
  ActivityLooks::Clock::time_point now_{};
};

/// A shell that says when it runs, waits for a line, and then becomes `program`.
class Child {
 public:
  explicit Child(const char* script) {
    int in[2], out[2];
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe(out), 0);
    id = fork();
    if (id == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      for (const int end : {in[0], in[1], out[0], out[1]}) close(end);
      execl("/bin/sh", "sh", "-c", script, nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ~Child() {
    close(to_);
    close(from_);
    if (id != 0) waitpid(id, nullptr, 0);
  }
  void expect_line() {
    char byte = 0;
    while (read(from_, &byte, 1) == 1 && byte != '\n') {
    }
    EXPECT_EQ(byte, '\n');
  }
  void send_line() { EXPECT_EQ(::write(to_, "\n", 1), 1); }
  void await_end() {
    waitpid(id, nullptr, 0);
    id = 0;
  }

  pid_t id;

 private:
  int to_, from_;
};

TEST_F(ActivityLooksTest, SamplesThreadsOfAProcessWithSeveral) {
  write("0000.counters", getpid());
  look();
  EXPECT_EQ(looks_.profile().samples, 0u) << "one thread";
  std::atomic<bool> ends{false};
  std::thread second([&] { ends.wait(false); });
  look();
  ends = true;
  ends.notify_all();
  second.join();
  const profile::Profile profile = looks_.profile();
  EXPECT_EQ(profile.samples, 1u);
  EXPECT_GT(time_in(profile.times, profile::State::kSection), 0);
  ASSERT_EQ(profile.locks.size(), 1u);
  EXPECT_EQ(profile.locks[0].place.address, 64u);
}

/// A program that makes attempts in turn, one of which in four aborts; the file is its memory.
TEST_F(ActivityLooksTest, OutcomeOfAnAttemptIsThatOfItsEnd) {
  constexpr std::uint64_t kLock = 64;
  constexpr auto kConflict = static_cast<std::size_t>(abi::AbortCause::kConflict);
  CounterFile file;
  file.header.process_id = static_cast<std::uint32_t>(getpid());
  file.header.start_monotonic_ns = 1;
  file.slots.resize(1);
  file.slots[0].thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  file.slots[0].entries_used = 1;
  file.slots[0].entries[7].lock = kLock;
  const std::filesystem::path path = directory_.path() / "0000.counters";
  file.write(path);
  constexpr std::size_t kBytes = abi::kCountersHeaderBytes + 2 * abi::kCounterSlotBytes;
  const int descriptor = open(path.c_str(), O_RDWR);
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ASSERT_NE(memory, MAP_FAILED);
  close(descriptor);
  std::atomic<bool> ends{false};
  std::thread program([&] {
    auto* const slot = reinterpret_cast<abi::CounterSlot*>(
        static_cast<char*>(memory) + abi::kCountersHeaderBytes + abi::kCounterSlotBytes);
    const auto count = [](std::uint64_t& counter) { __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST); };
    for (unsigned i = 0; !ends; ++i) {
      slot->activity.begin(abi::Activity::kAttempt, reinterpret_cast<const void*>(kLock), nullptr);
      for (int rounds = 0; rounds < 20'000; ++rounds) asm volatile("" : : "r"(rounds));
      count(i % 4 == 3 ? slot->entries[7].aborts[kConflict] : slot->entries[7].commits);
    }
  });
  for (int i = 0; i < 2000; ++i) look();
  ends = true;
  program.join();
  munmap(memory, kBytes);
  const profile::Profile profile = looks_.profile();
  const double aborted = time_in(profile.times, profile::State::kAborted);
  EXPECT_GT(aborted / profile.thread_ns(), 0.05);
  EXPECT_LT(aborted / profile.thread_ns(), 0.6);
  EXPECT_DOUBLE_EQ(profile.locks.at(0).aborted_ns, aborted);
}

TEST_F(ActivityLooksTest, LocksHaveTheTimeOfAllThreads) {
  CounterFile file;
  file.header.process_id = static_cast<std::uint32_t>(getpid());
  file.header.start_monotonic_ns = 1;
  constexpr unsigned kThreads = 2 * ActivityLooks::kMostThreadsALook;  // this thread counts as each of them
  file.slots.resize(kThreads);
  for (auto& slot : file.slots) {
    slot.thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
    slot.activity.take(reinterpret_cast<const void*>(64), nullptr);
  }
  file.write(directory_.path() / "0000.counters");
  std::atomic<bool> ends{false};
  std::thread second([&] { ends.wait(false); });
  for (int i = 0; i < 4; ++i) look();
  ends = true;
  ends.notify_all();
  second.join();
  const profile::Profile profile = looks_.profile();
  EXPECT_DOUBLE_EQ(profile.parallel_ns, 4 * 4e6);
  ASSERT_EQ(profile.locks.size(), 1u);
  EXPECT_DOUBLE_EQ(profile.locks[0].holds_ns, kThreads * profile.parallel_ns);
}

TEST_F(ActivityLooksTest, LocksTakenBeforeASleepForAConditionCount) {
  CounterFile file;
  file.header.process_id = static_cast<std::uint32_t>(getpid());
  file.header.start_monotonic_ns = 1;
  file.slots.resize(1);
  file.slots[0].thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  abi::ThreadActivity& activity = file.slots[0].activity;
  const auto lock = reinterpret_cast<const void*>(64), condition = reinterpret_cast<const void*>(128);
  const auto look_after = [&](int taken) {
    for (int i = 0; i < taken; ++i) {
      activity.release();
      activity.take(lock, nullptr);
    }
    file.write(directory_.path() / "0000.counters");
    look();
  };
  std::atomic<bool> ends{false};
  std::thread second([&] { ends.wait(false); });
  activity.take(lock, nullptr);
  look_after(0);
  look_after(10);
  activity.begin_to_wait_without(condition, nullptr);
  activity.position += 5;
  look_after(0);
  ends = true;
  ends.notify_all();
  second.join();
  double taken = 0;
  for (const profile::Lock& one : looks_.profile().locks) taken += one.acquisitions;
  EXPECT_DOUBLE_EQ(taken, 15);
}

TEST_F(ActivityLooksTest, FileOfAProcessThatEndedIsClosed) {
  Child child("echo; read line");
  child.expect_line();
  write("0000.counters", child.id);
  write("0001.counters", getpid());
  look();
  EXPECT_EQ(looks_.files_in_use(), 2u);
  child.send_line();
  child.await_end();
  look();
  EXPECT_EQ(looks_.files_in_use(), 1u);
}

TEST_F(ActivityLooksTest, ProcessThatEndsBeforeItsFirstLookRanForNoTime) {
  Child child("echo; read line");
  child.expect_line();
  write("0000.counters", child.id);
  child.send_line();
  child.await_end();
  look();
  EXPECT_EQ(looks_.profile().wall_ns, 0);
}

TEST_F(ActivityLooksTest, LaterFileOfAProcessReplacesTheEarlierOne) {
  std::atomic<bool> ends{false};
  std::thread second([&] { ends.wait(false); });
  write("0002.counters", getpid(), 5, 128);
  look();
  write("0001.counters", getpid(), 9, 256);  // the number may come from another process that ended
  look();
  EXPECT_EQ(looks_.files_in_use(), 1u);
  for (int i = 0; i < 3; ++i) look();
  ends = true;
  ends.notify_all();
  second.join();
  ASSERT_EQ(looks_.profile().locks.size(), 1u);
  EXPECT_EQ(looks_.profile().locks[0].place.address, 256u);
}

TEST_F(ActivityLooksTest, FileIsClosedWhenItsProcessExecutesAnotherProgram) {
  Child child("echo; read line; exec tee");
  child.expect_line();
  write("0000.counters", child.id);
  look();
  EXPECT_EQ(looks_.files_in_use(), 1u);
  child.send_line();
  child.send_line();  // tee repeats it
  child.expect_line();
  look();
  EXPECT_EQ(looks_.files_in_use(), 0u);
}

}  // namespace
}  // namespace elision::cli::experiment
