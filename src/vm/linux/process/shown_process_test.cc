// SPDX-License-Identifier: Apache-2.0
// What one process publishes and another reads. Children of the test are the other processes.
#include "vm/linux/process/shown_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "vm/interface/fake_engine.h"

namespace elision::vm {
namespace {

/// A child process that stays until the object ends. `before` runs in it first.
class Child {
 public:
  explicit Child(const std::function<void()>& before) {
    int ready[2];
    if (pipe(ready) != 0) std::abort();
    id = fork();
    if (id == 0) {
      before();
      (void)!write(ready[1], "x", 1);
      for (;;) pause();
    }
    char byte;
    (void)!read(ready[0], &byte, 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void end() {
    if (id <= 0) return;
    kill(id, SIGKILL);
    waitpid(id, nullptr, 0);
    id = 0;
  }

  pid_t id = 0;
};

TEST(ProcessBoard, AnotherProcessReadsWhatOnePublished) {
  ProcessBoard board(-1);
  board.make();
  const Child child([&] {
    if (!board.claim(getpid())) _exit(1);
    board.publish(ProcessBoard::kThreads, "threads");
    board.publish(ProcessBoard::kProgram, "first");
    board.publish(ProcessBoard::kProgram, "the program");
  });
  EXPECT_EQ(board.read(child.id, ProcessBoard::kThreads), "threads");
  EXPECT_EQ(board.read(child.id, ProcessBoard::kProgram), "the program");
  EXPECT_EQ(board.read(child.id, ProcessBoard::kRegions), "");
  EXPECT_EQ(board.host_pids(), std::vector<int>{child.id});
  EXPECT_EQ(board.read(getpid(), ProcessBoard::kThreads), std::nullopt);
}

TEST(ProcessBoard, BytesChangeInPlace) {
  ProcessBoard board(-1);
  board.make();
  const Child child([&] {
    if (!board.claim(getpid())) _exit(1);
    char* const at = board.publish(ProcessBoard::kThreads, "R.");
    at[0] = 'S';
  });
  EXPECT_EQ(board.read(child.id, ProcessBoard::kThreads), "S.");
}

TEST(ProcessBoard, PartThatIsTooLargeIsEmpty) {
  ProcessBoard board(-1);
  board.make();
  ASSERT_TRUE(board.claim(getpid()));
  EXPECT_NE(board.publish(ProcessBoard::kThreads, "before"), nullptr);
  const std::string large(ProcessBoard::kPartBytes[ProcessBoard::kThreads] + 1, 'x');
  EXPECT_EQ(board.publish(ProcessBoard::kThreads, large), nullptr);
  EXPECT_EQ(board.read(getpid(), ProcessBoard::kThreads), "");
  const std::string largest(ProcessBoard::kPartBytes[ProcessBoard::kThreads], 'y');
  board.publish(ProcessBoard::kRegions, "beside it");
  EXPECT_NE(board.publish(ProcessBoard::kThreads, largest), nullptr);
  EXPECT_EQ(board.read(getpid(), ProcessBoard::kThreads), largest);
  EXPECT_EQ(board.read(getpid(), ProcessBoard::kRegions), "beside it");
}

TEST(ProcessBoard, EntryIsEmptyForAProcessAndKeptForItsNextImage) {
  ProcessBoard board(-1);
  board.make();
  ASSERT_TRUE(board.claim(getpid()));
  board.publish(ProcessBoard::kProgram, "parent");
  const Child child([&] {
    if (!board.claim(getpid())) _exit(1);
  });
  EXPECT_EQ(board.read(child.id, ProcessBoard::kProgram), "") << "not the parent's";
  ASSERT_TRUE(board.claim(getpid()));
  EXPECT_EQ(board.read(getpid(), ProcessBoard::kProgram), "parent");
  board.leave();
  EXPECT_EQ(board.read(getpid(), ProcessBoard::kProgram), std::nullopt);
  EXPECT_FALSE(board.is_claimed());
  ASSERT_TRUE(board.claim(getpid()));
  EXPECT_EQ(board.read(getpid(), ProcessBoard::kProgram), "");
}

TEST(ProcessBoard, EntriesOfTheDeadAreTaken) {
  ProcessBoard board(-1);
  board.make();
  for (std::size_t i = 0; i < ProcessBoard::kEntries + 10; ++i) {
    Child child([&] {
      if (!board.claim(getpid())) _exit(1);
      board.publish(ProcessBoard::kThreads, "t");
    });
    const pid_t id = child.id;
    ASSERT_EQ(board.read(id, ProcessBoard::kThreads), "t") << i;
    child.end();
    ASSERT_EQ(board.read(id, ProcessBoard::kThreads), std::nullopt) << i;
  }
}

/// A writer replaces a part again and again; a reader never sees bytes of two writes.
TEST(ProcessBoard, ReaderNeverSeesHalfAPart) {
  ProcessBoard board(-1);
  board.make();
  const Child child([&] {
    if (!board.claim(getpid())) _exit(1);
    board.publish(ProcessBoard::kRegions, std::string(1, 'a'));
    if (fork() != 0) return;
    // The grandchild writes through its parent's window, and ends with it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0;; ++i)
      board.publish(ProcessBoard::kRegions,
                    std::string(1 + i * 7919 % 60'000, static_cast<char>('a' + i % 26)));
  });
  std::size_t different = 0;
  std::string before;
  for (int i = 0; i < 3000 || (different <= 10 && i < 100'000'000);
       ++i) {  // the writer may not run for a while
    const auto bytes = board.read(child.id, ProcessBoard::kRegions);
    if (!bytes) continue;  // it was put aside in the middle of a part
    ASSERT_FALSE(bytes->empty());
    ASSERT_EQ(bytes->find_first_not_of(bytes->front()), std::string::npos);
    different += *bytes != before;
    before = *bytes;
  }
  EXPECT_GT(different, 10u);
}

class ShownProcessTest : public ::testing::Test {
 protected:
  ShownProcessTest() {
    process_.executable = "/bin/program";
    process_.arguments = {"program", "", "two words"};
    process_.environment = {"A=1"};
    process_.auxiliary_vector = {6, 4096, 0, 0};
    process_.limits[RLIMIT_CORE] = {5, 6};
    for (const char* name : {"first", "a name of 15 by"}) add_thread(name);
    process_.threads[1]->thread.affinity[1] = 0x55;
  }
  void add_thread(const char* name) {
    engine_threads_.push_back(std::make_unique<Thread>());
    Thread& thread = *engine_threads_.back();
    thread.tid = 100 + static_cast<int>(process_.threads.size());
    process_.threads.push_back(std::make_unique<KernelThread>(thread));
    process_.threads.back()->name = name;
  }

  FakeEngine engine_;
  Options options_;
  MachineIdentity identity_;
  ProcessOrigin origin_;
  Process process_{engine_, options_, identity_, origin_};
  std::vector<std::unique_ptr<Thread>> engine_threads_;
};

TEST_F(ShownProcessTest, OtherProcessIsShownAsItShowsItself) {
  process_.board.make();
  publish_all(process_);
  publish_state(process_, *process_.threads[1], kSleeping);
  const auto other = shown_process(process_, getpid());
  ASSERT_TRUE(other);
  const ShownProcess self = shown_self(process_);
  EXPECT_EQ(other->executable, self.executable);
  EXPECT_EQ(other->arguments, self.arguments);
  EXPECT_EQ(other->environment, self.environment);
  EXPECT_EQ(other->auxiliary_vector, self.auxiliary_vector);
  EXPECT_EQ(other->limits[RLIMIT_CORE].rlim_cur, 5u);
  EXPECT_EQ(other->limits[RLIMIT_CORE].rlim_max, 6u);
  ASSERT_EQ(other->threads.size(), 2u);
  EXPECT_EQ(other->threads[1].name, "a name of 15 by");
  EXPECT_EQ(other->threads[1].affinity[1], 0x55u);
  EXPECT_EQ(other->threads[0].state, kRunning);
  EXPECT_EQ(other->threads[1].state, kSleeping);
  ASSERT_NE(other->find(101), nullptr);
  EXPECT_EQ(other->find(102), nullptr);
}

TEST_F(ShownProcessTest, MappingsAreThoseOfNow) {
  process_.board.make();
  publish_all(process_);
  const long at =
      process_.memory.map(0, 3 * kPageBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_GT(at, 0);
  publish_regions(process_);
  auto region = shown_process(process_, getpid())->regions.find(static_cast<std::uint64_t>(at));
  ASSERT_TRUE(region);
  EXPECT_TRUE(region->second.properties.executable);
  EXPECT_EQ(region->second.end, static_cast<std::uint64_t>(at) + 3 * kPageBytes);
  process_.memory.protect(static_cast<std::uint64_t>(at), 3 * kPageBytes, PROT_READ);
  publish_regions(process_);
  region = shown_process(process_, getpid())->regions.find(static_cast<std::uint64_t>(at));
  EXPECT_FALSE(region->second.properties.executable);
  process_.memory.unmap(static_cast<std::uint64_t>(at), 3 * kPageBytes);
  publish_regions(process_);
  EXPECT_FALSE(shown_process(process_, getpid())->regions.find(static_cast<std::uint64_t>(at)));
}

TEST_F(ShownProcessTest, NothingIsPublishedWithoutABoardOrInAVforkChild) {
  publish_all(process_);
  EXPECT_FALSE(shown_process(process_, getpid()));
  process_.board.make();
  publish_all(process_);
  process_.inside_vfork = process_.threads.front().get();
  process_.threads[0]->name = "child's";
  publish_threads(process_);
  publish_state(process_, *process_.threads[0], kSleeping);
  const auto shown = shown_process(process_, getpid());
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->threads[0].name, "first");
  EXPECT_EQ(shown->threads[0].state, kRunning);
}

TEST_F(ShownProcessTest, ProcessIsFoundByItsThread) {
  constexpr int kThread = (1 << 29) + 77;
  process_.board.make();
  const Child child([&] {
    process_.ids.start_child();
    process_.threads[1]->thread.tid = kThread;
    publish_all(process_);
  });
  EXPECT_EQ(host_process_of_thread(process_, kThread), child.id);
  EXPECT_EQ(host_process_of_thread(process_, kThread + 1), 0);
}

}  // namespace
}  // namespace elision::vm
