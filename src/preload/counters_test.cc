// SPDX-License-Identifier: Apache-2.0
// Whole-program checks of what the preload library counts and says about itself: a program is run with
// the library and a counter directory, then its files are read. The library, without and with
// subscription, and the program come from the build (ELISION_TEST_* definitions).
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "abi/counters_reader.h"
#include "abi/lock_variables.h"
#include "base/usable_cpus.h"
#include "htm/cpu.h"

namespace {

using elision::abi::AbortCause;
using elision::abi::CounterTotals;

class Counted : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/elision-counters-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// Runs the worker with `variables` ("NAME=value") and returns its exit status.
  int run(std::vector<std::string> variables, std::vector<std::string> arguments) {
    return run_program(ELISION_TEST_WORKER, std::move(variables), std::move(arguments));
  }

  int run_program(const std::string& program, std::vector<std::string> variables,
                  std::vector<std::string> arguments) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("LD_PRELOAD", ELISION_TEST_LIBRARY, 1);
      setenv("ELISION_COUNTERS_DIR", directory_.c_str(), 1);
      for (std::string& variable : variables) putenv(variable.data());
      if (file_limit_ != RLIM_INFINITY) {
        const rlimit limit{file_limit_, file_limit_};
        setrlimit(RLIMIT_FSIZE, &limit);
      }
      std::vector<char*> words{const_cast<char*>(program.c_str())};
      for (std::string& argument : arguments) words.push_back(argument.data());
      words.push_back(nullptr);
      execv(words[0], words.data());
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> result;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) result.push_back(entry.path());
    std::sort(result.begin(), result.end());
    return result;
  }

  std::vector<std::string> names_of_files() const {
    std::vector<std::string> names;
    for (const auto& file : files()) names.push_back(file.filename());
    return names;
  }

  CounterTotals totals(std::size_t index = 0) const {
    const auto all = files();
    if (index >= all.size()) return {};
    std::ifstream file(all[index], std::ios::binary);
    std::string data(std::filesystem::file_size(all[index]), '\0');
    file.read(data.data(), static_cast<std::streamsize>(data.size()));
    const auto sums = elision::abi::sum_counters(data.data(), data.size());
    EXPECT_TRUE(sums.has_value()) << all[index];
    return sums.value_or(CounterTotals{});
  }

  bool rtm_ = elision::htm::detect_cpu().has_rtm;
  rlim_t file_limit_ = RLIM_INFINITY;  // RLIMIT_FSIZE of the worker
  std::string directory_;
};

/// What leaves designs without transactions, on any CPU.
constexpr const char* kWithoutTransactions[] = {"ELISION_HIDE_RTM=1", "ELISION_TRANSACTIONS=0"};

constexpr const char* kOurDesigns[] = {"tts",         "tatas",        "ticket",          "ttstle",
                                       "htm-1",       "htm-10",       "hle-scm",         "htm-10-fb-aahtm",
                                       "tatas-aahtm", "ticket-aahtm", "tatas-pri-aahtm", "pthread-aahtm"};

void write_text(const char* file, const std::string& text) {
  const int descriptor = open(file, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  EXPECT_EQ(write(descriptor, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(descriptor);
}

/// Runs `body` in a process that sees a file system of its own, with room for `bytes`, in the directory. Its
/// result, or 77 where this kernel forbids that.
int on_small_disk(const std::string& directory, const std::string& bytes, const std::function<int()>& body) {
  const std::string user = "0 " + std::to_string(geteuid()) + " 1\n";
  const std::string group = "0 " + std::to_string(getegid()) + " 1\n";
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(77);
    write_text("/proc/self/uid_map", user);
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/gid_map", group);
    if (mount("tmpfs", directory.c_str(), "tmpfs", 0, ("size=" + bytes).c_str()) != 0) _exit(77);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// Rows: a design and what must be true of its sections.
struct DesignRow {
  const char* design;
  bool elides;
  bool speculates;
};

TEST_F(Counted, EveryDesignCountsEverySectionOnce) {
  const DesignRow rows[] = {{"tts", false, false},           {"tatas", false, false},
                            {"ticket", false, false},        {"ttstle", true, false},
                            {"htm-1", true, false},          {"htm-10", true, false},
                            {"htm-10-fb-aahtm", true, true}, {"hle-scm", true, false},
                            {"tatas-aahtm", false, true},    {"tatas-pri-aahtm", false, true},
                            {"ticket-aahtm", false, true},   {"pthread-aahtm", false, true}};
  for (const DesignRow& row : rows) {
    for (const char* wait : {"park", "spin"}) {
      SCOPED_TRACE(std::string(row.design) + " " + wait);
      TearDown();
      SetUp();
      ASSERT_EQ(run({std::string("ELISION_LOCK=") + row.design, std::string("ELISION_WAIT=") + wait,
                     "ELISION_RTM_ALWAYS_ABORT=1", "ELISION_MIN_DIST=1"},
                    {"count", "2", "5000"}),
                0);
      const CounterTotals sums = totals();
      EXPECT_EQ(sums.design, row.design);
      EXPECT_EQ(sums.has_rtm, rtm_);
      EXPECT_TRUE(sums.interposed_locks_seen);
      EXPECT_EQ(sums.sections(), 10000u);
      EXPECT_EQ(sums.wait_spins, std::string(wait) == "spin");
      EXPECT_EQ(sums.used_fallback, (row.elides || row.speculates) && !rtm_);
      if (row.elides && rtm_) {
        EXPECT_GT(sums.commits, 0u);
        EXPECT_EQ(sums.acquisitions, sums.fallbacks) << "a lock of htm-N is taken as fallback only";
      } else {
        EXPECT_EQ(sums.commits, 0u);
      }
      if (!row.speculates || !rtm_) {
        EXPECT_EQ(sums.speculations, 0u);
      }
      if (row.speculates && !row.elides) {
        EXPECT_EQ(sums.aborts_total(), sums.speculations) << "each speculation ends by one abort";
      }
    }
  }
}

TEST_F(Counted, EveryDesignCountsEverySectionOnceWithoutTransactions) {
  for (const char* design : kOurDesigns) {
    for (const char* setting : kWithoutTransactions) {
      SCOPED_TRACE(std::string(design) + " " + setting);
      TearDown();
      SetUp();
      ASSERT_EQ(run({std::string("ELISION_LOCK=") + design, setting, "ELISION_RTM_ALWAYS_ABORT=1"},
                    {"count", "2", "2000"}),
                0);
      EXPECT_EQ(totals().sections(), 4000u);
      EXPECT_EQ(totals().acquisitions, 4000u);
      EXPECT_EQ(totals().speculations + totals().aborts_total(), 0u);
    }
  }
}

TEST_F(Counted, EveryLockCallCountsOnceUnderEveryDesign) {
  for (const char* design : kOurDesigns) {
    for (const char* setting : {"ELISION_HIDE_RTM=0", "ELISION_HIDE_RTM=1"}) {
      SCOPED_TRACE(std::string(design) + " " + setting);
      TearDown();
      SetUp();
      ASSERT_EQ(
          run({std::string("ELISION_LOCK=") + design, setting, "ELISION_RTM_ALWAYS_ABORT=1"}, {"kinds"}), 0);
      EXPECT_EQ(totals().sections(), 8u);
    }
  }
}

TEST_F(Counted, SpeculatesWhileLockIsHeld) {
  for (const char* design : {"tatas-aahtm", "tatas-pri-aahtm", "ticket-aahtm", "pthread-aahtm"}) {
    for (const char* at_unlock : {"run-on", "abort-at-unlock"}) {
      SCOPED_TRACE(std::string(design) + " " + at_unlock);
      TearDown();
      SetUp();
      ASSERT_EQ(run({std::string("ELISION_LOCK=") + design, "ELISION_RTM_ALWAYS_ABORT=1",
                     "ELISION_MIN_DIST=1", std::string("ELISION_SPECULATION=") + at_unlock},
                    {"speculate"}),
                0);
      if (!rtm_) {
        EXPECT_EQ(totals().speculations + totals().aborts_total(), 0u);
        EXPECT_EQ(totals().always_abort, elision::abi::AlwaysAbortKind::kNone);
        continue;
      }
      EXPECT_GT(totals().speculations, 0u);
      EXPECT_EQ(totals().always_abort, elision::abi::AlwaysAbortKind::kNestedRtm);
      const auto explicit_aborts = totals().aborts[static_cast<std::size_t>(AbortCause::kExplicit)];
      if (std::string(at_unlock) == "run-on") {
        EXPECT_EQ(explicit_aborts, 0u);
      } else {
        EXPECT_GT(explicit_aborts, 0u);
      }
    }
  }
}

TEST_F(Counted, OnlySpeculatingProgramIsToldSo) {
  ASSERT_EQ(run({"ELISION_LOCK=tatas-aahtm", "ELISION_RTM_ALWAYS_ABORT=1"}, {"speculate-told"}), 0);
  EXPECT_EQ(totals().aborts[static_cast<std::size_t>(AbortCause::kExplicit)] > 0, rtm_);
  TearDown();
  SetUp();
  // In a transaction that may commit it is not: it would leave out what counts.
  ASSERT_EQ(run({"ELISION_LOCK=htm-10"}, {"speculate-told"}), 0);
  EXPECT_EQ(totals().speculations, 0u);
}

/// It would be over with every step of the lock: what it is for is to run ahead of them.
TEST_F(Counted, SpeculationDoesNotReadMutexAtBegin) {
  if (!rtm_) GTEST_SKIP() << "no live RTM on this CPU";
  if (elision::usable_cpus() < 2) GTEST_SKIP() << "needs two CPUs";
  for (const char* design : {"tatas-aahtm", "tatas-pri-aahtm", "ticket-aahtm", "pthread-aahtm"}) {
    SCOPED_TRACE(design);
    TearDown();
    SetUp();
    ASSERT_EQ(run({std::string("ELISION_LOCK=") + design, "ELISION_RTM_ALWAYS_ABORT=1", "ELISION_MIN_DIST=1"},
                  {"speculate-beside-stores"}),
              0);
    const auto& aborts = totals().aborts;
    EXPECT_GT(aborts[static_cast<std::size_t>(AbortCause::kExplicit)],
              2 * aborts[static_cast<std::size_t>(AbortCause::kConflict)]);
  }
}

TEST_F(Counted, OnRealRtmSpeculationMustBeAskedFor) {
  ASSERT_EQ(run({"ELISION_LOCK=tatas-aahtm"}, {"count", "2", "1000"}), 0);
  const CounterTotals sums = totals();
  if (sums.always_abort == elision::abi::AlwaysAbortKind::kVirtualCpu)
    GTEST_SKIP() << "a virtual CPU has the real thing";
  EXPECT_EQ(sums.speculations, 0u);
  EXPECT_TRUE(sums.used_fallback);
}

TEST_F(Counted, PthreadOnlySaysThatThereAreLocks) {
  ASSERT_EQ(run({}, {"count", "2", "1000"}), 0);
  EXPECT_EQ(totals().design, "pthread");
  EXPECT_TRUE(totals().interposed_locks_seen);
  EXPECT_EQ(totals().sections(), 0u);
}

TEST_F(Counted, ProgramWithoutLocksIsRecognised) {
  for (const char* design : {"ELISION_LOCK=pthread", "ELISION_LOCK=tatas"}) {
    TearDown();
    SetUp();
    ASSERT_EQ(run({design}, {"nothing"}), 0);
    EXPECT_FALSE(totals().interposed_locks_seen) << design;
  }
}

TEST_F(Counted, UnknownDesignBehavesAsPthreadAndIsRecorded) {
  for (const char* name : {"tatsa", "htm-", "htm-0", "htm-x", "htm-99999999999", ""}) {
    TearDown();
    SetUp();
    ASSERT_EQ(run({std::string("ELISION_LOCK=") + name}, {"count", "2", "100"}), 0);
    EXPECT_EQ(totals().design, "pthread");
    EXPECT_EQ(totals().unknown_design, *name != '\0') << name;
  }
}

TEST_F(Counted, ForkedChildHasOwnFile) {
  for (const char* design :
       {"ELISION_LOCK=tatas", "ELISION_LOCK=ticket", "ELISION_LOCK=htm-10", "ELISION_LOCK=pthread-aahtm"}) {
    SCOPED_TRACE(design);
    TearDown();
    SetUp();
    ASSERT_EQ(run({design}, {"fork", "100", "1000"}), 0);
    ASSERT_EQ(files().size(), 2u);
    EXPECT_EQ(files()[0].filename(), "0000.counters");
    EXPECT_EQ(files()[1].filename(), "0001.counters");
    EXPECT_EQ(totals(0).sections(), 100u);
    EXPECT_EQ(totals(1).sections(), 1000u);
    EXPECT_EQ(totals(1).parent_id, totals(0).process_id);
    EXPECT_EQ(totals(0).threads, 1u);
    EXPECT_EQ(totals(1).threads, 1u) << "who counts has a slot of its own";
  }
}

TEST_F(Counted, CodeThatRunsInTransactionsIsMapped) {
  if (!rtm_) GTEST_SKIP() << "no live RTM on this CPU";
  // A kernel that looks for memory may take a page away in between: not three times in a row.
  int status = 1;
  for (int attempt = 0; attempt < 3 && status == 1; ++attempt)
    status = run({"ELISION_LOCK=htm-10"}, {"code-is-mapped"});
  if (status == 77) GTEST_SKIP() << "this kernel does not say what is mapped";
  EXPECT_EQ(status, 0);
}

/// Setting such a mark ends a transaction: the same pages would end each of them.
TEST_F(Counted, SectionsCommitAgainAfterAccessBitsCleared) {
  if (!rtm_) GTEST_SKIP() << "no live RTM on this CPU";
  for (const char* design : {"htm-10", "htm-1", "ttstle", "hle-scm"}) {
    TearDown();
    SetUp();
    const int status = run({std::string("ELISION_LOCK=") + design}, {"age", "10", "100000"});
    if (status == 77) GTEST_SKIP() << "the kernel keeps its marks";
    ASSERT_EQ(status, 0);
    EXPECT_GT(totals().commits, 900000u) << design;
  }
}

TEST_F(Counted, CrashKeepsCounters) {
  ASSERT_EQ(run({"ELISION_LOCK=tatas"}, {"crash", "123"}), 1000 + SIGKILL);
  EXPECT_EQ(totals().sections(), 123u);
}

TEST_F(Counted, MoreThreadsThanSlotsAreStillCounted) {
  ASSERT_EQ(run({"ELISION_LOCK=tatas"}, {"threads", "2500"}), 0);
  EXPECT_EQ(totals().sections(), 2500u);
  EXPECT_EQ(totals().threads, elision::abi::kCounterSlots - 1u);
}

TEST_F(Counted, ThreadsThatEndAnyWayLeaveTheirNumbers) {
  constexpr std::uint64_t kThreads = 1500;  // more than slots
  for (const char* design : {"tatas", "ticket", "htm-10", "tatas-aahtm", "pthread-aahtm"}) {
    SCOPED_TRACE(design);
    TearDown();
    SetUp();
    ASSERT_EQ(run({std::string("ELISION_LOCK=") + design, "ELISION_RTM_ALWAYS_ABORT=1"},
                  {"ends", std::to_string(kThreads)}),
              0);
    // A third of them took the mutex again to wait, and were cancelled with it. Taking it back then is
    // glibc's affair, and not counted, unless the wait is ours.
    const bool ours = std::string(design) == "ticket" || (std::string(design) == "htm-10" && rtm_);
    const std::uint64_t a_wait = ours ? 2 : 1;
    EXPECT_EQ(totals().sections(), kThreads + kThreads / 3 * a_wait);
    EXPECT_EQ(totals().threads, elision::abi::kCounterSlots - 1u);
  }
}

TEST_F(Counted, DesignAppliesFromFirstLockToLast) {
  const std::string ours = ELISION_TEST_LIBRARY, theirs = ELISION_TEST_LOCKING_MALLOC;
  for (const char* design : {"tts", "tatas", "ticket", "ttstle", "htm-10", "htm-10-fb-aahtm", "hle-scm",
                             "tatas-pri-aahtm", "ticket-aahtm", "pthread-aahtm", "pthread"}) {
    for (const std::string& preloaded : {ours, ours + ":" + theirs, theirs + ":" + ours}) {
      SCOPED_TRACE(design + (" " + preloaded));
      TearDown();
      SetUp();
      ASSERT_EQ(run_program(ELISION_TEST_BOTH_ENDS,
                            {std::string("ELISION_LOCK=") + design, "ELISION_RTM_ALWAYS_ABORT=1",
                             "LD_PRELOAD=" + preloaded},
                            {}),
                0);
      EXPECT_EQ(totals().design, design);
      EXPECT_TRUE(totals().interposed_locks_seen);
      EXPECT_EQ(totals().program, "preload_both_ends");
    }
  }
}

TEST_F(Counted, PrivilegedProgramIgnoresEnvironment) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a program another group";
  constexpr gid_t kAnotherGroup = 65534;
  const std::string privileged = directory_ + "/privileged";
  std::filesystem::copy_file(ELISION_TEST_LINKED_WORKER, privileged);
  ASSERT_EQ(chown(privileged.c_str(), 0, kAnotherGroup), 0);
  ASSERT_EQ(chmod(privileged.c_str(), 02755), 0);
  const std::vector<std::string> variables{"ELISION_LOCK=tatas", "ELISION_VERBOSE=1", "LD_PRELOAD="};
  const int status = run_program(privileged, variables, {"privileged"});
  if (status == 77) GTEST_SKIP() << "set-group-ID has no effect in " << directory_;
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files().size(), 1u) << "a counter file beside the program itself";
  // The same program without the right does what it is told.
  EXPECT_EQ(run_program(ELISION_TEST_LINKED_WORKER, variables, {"count", "2", "100"}), 0);
  EXPECT_EQ(totals(0).sections(), 200u);
}

#ifdef ELISION_TEST_OPENMP
TEST_F(Counted, OpenMpSectionsCountLikeMutexes) {
  for (const char* design : {"tatas", "ticket", "htm-10", "tatas-aahtm", "pthread-aahtm", "pthread"}) {
    SCOPED_TRACE(design);
    TearDown();
    SetUp();
    ASSERT_EQ(run_program(ELISION_TEST_OPENMP,
                          {std::string("ELISION_LOCK=") + design, "ELISION_RTM_ALWAYS_ABORT=1"},
                          {"10", "criticals"}),
              0);
    EXPECT_TRUE(totals().interposed_locks_seen);
    // openmp.c: four sections, of which one lies within another; elided, those two are one.
    const std::uint64_t all = std::string(design) == "pthread" ? 0 : 6 * 10 * 4;
    EXPECT_LE(totals().sections(), all);
    EXPECT_GE(totals().sections(), std::string(design) == "htm-10" ? all / 4 * 3 : all);
  }
}
#endif

TEST_F(Counted, BadUnlockIsReported) {
  ASSERT_EQ(run({"ELISION_LOCK=tatas"}, {"bad-unlock"}), 0);
  EXPECT_EQ(totals().bad_unlocks, 1u);
}

TEST_F(Counted, DestroyOfHeldLockIsReported) {
  ASSERT_EQ(run({"ELISION_LOCK=tatas"}, {"bad-destroy"}), 0);
  EXPECT_EQ(totals().bad_destroys, 1u);
}

TEST_F(Counted, OffSwitchAndRecorderLeaveLocksToGlibc) {
  for (const char* variable : {"ELISION_OFF=1", "RUNNING_UNDER_RR=1"}) {
    TearDown();
    SetUp();
    ASSERT_EQ(run({"ELISION_LOCK=htm-10", variable}, {"count", "2", "1000"}), 0);
    EXPECT_EQ(totals().design, "pthread") << variable;
    EXPECT_EQ(totals().sections(), 0u);
  }
}

TEST_F(Counted, WithoutTransactionsTheFallbackServes) {
  for (const char* design : {"htm-10", "htm-10-fb-aahtm", "tatas-aahtm", "pthread-aahtm"}) {
    TearDown();
    SetUp();
    ASSERT_EQ(
        run({std::string("ELISION_LOCK=") + design, "ELISION_TRANSACTIONS=0", "ELISION_RTM_ALWAYS_ABORT=1"},
            {"count", "2", "1000"}),
        0);
    EXPECT_EQ(totals().sections(), 2000u);
    EXPECT_EQ(totals().commits + totals().speculations + totals().aborts_total(), 0u);
    EXPECT_TRUE(totals().used_fallback);
  }
}

TEST_F(Counted, MissingDirectoryOrFileLimitIsHarmless) {
  EXPECT_EQ(run({"ELISION_LOCK=tatas", "ELISION_COUNTERS_DIR=/nonexistent/elision"}, {"count", "2", "100"}),
            0);
  EXPECT_EQ(run({"ELISION_LOCK=tatas"}, {"limited"}), 0);
}

/// A store to a page that the disk has no room for would be SIGBUS. Slots that find none are the shared one.
TEST_F(Counted, SmallDiskCountsAllThreads) {
  for (const char* bytes : {"32768", "65536", "131072"}) {
    SCOPED_TRACE(bytes);
    const int status = on_small_disk(directory_, bytes, [&] {
      EXPECT_EQ(run({"ELISION_LOCK=tatas"}, {"threads", "40"}), 0);
      EXPECT_EQ(totals().sections(), 40u);
      return ::testing::Test::HasFailure() ? 1 : 0;
    });
    if (status == 77) GTEST_SKIP() << "no namespaces here";
    EXPECT_EQ(status, 0);
  }
}

TEST_F(Counted, FullDiskIsHarmlessAndNoted) {
  const int status = on_small_disk(directory_, "16384", [&] {
    EXPECT_EQ(run({"ELISION_LOCK=htm-10"}, {"count", "4", "1000"}), 0);
    EXPECT_EQ(run({"ELISION_LOCK=tatas"}, {"fork", "100", "1000"}), 0);
    EXPECT_EQ(names_of_files(), std::vector{"no-counters-" + std::to_string(ENOSPC)})
        << "one mark for a reason, however many processes have it";
    return ::testing::Test::HasFailure() ? 1 : 0;
  });
  if (status == 77) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(status, 0);
}

TEST_F(Counted, FileLimitIsHarmlessAndNoted) {
  for (const rlim_t limit : {rlim_t{0}, rlim_t{1024}, elision::abi::kCountersFileBytes - rlim_t{1}}) {
    SCOPED_TRACE(limit);
    TearDown();
    SetUp();
    file_limit_ = limit;
    EXPECT_EQ(run({"ELISION_LOCK=tatas"}, {"fork", "100", "1000"}), 0);
    EXPECT_EQ(names_of_files(), std::vector{"no-counters-" + std::to_string(EFBIG)});
  }
}

TEST_F(Counted, WithoutSubscriptionUpdatesGetLost) {
  if (!rtm_) GTEST_SKIP() << "no live RTM on this CPU";
  if (elision::usable_cpus() < 2) GTEST_SKIP() << "needs two CPUs";
  // Transactions that begin while the lock is held: nothing but subscription keeps them apart from its
  // holder.
  const std::string design = "ELISION_LOCK=htm-10", busy = "ELISION_BUSY=inside";
  EXPECT_EQ(run({design, busy}, {"mixed", "5000"}), 0);
  int status = 0;
  for (int attempt = 0; attempt < 200 && status == 0; ++attempt) {
    status = run({design, busy, std::string("LD_PRELOAD=") + ELISION_TEST_LIBRARY_NOSUBSCRIPTION},
                 {"mixed", "5000"});
  }
  EXPECT_EQ(status, 1) << "a library without subscription kept every update: this test cannot fail";
}

}  // namespace
