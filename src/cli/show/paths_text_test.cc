// SPDX-License-Identifier: Apache-2.0
#include "cli/show/paths_text.h"

#include <gtest/gtest.h>

namespace elision::cli::experiment {
namespace {

using profile::Path;
using profile::State;

constexpr Appearance kPlain{};
constexpr std::size_t kMost = 5;

/// main() calls handle(), which calls push() through the C++ library and a wrapper.
class PathsText : public ::testing::Test {
 protected:
  PathsText() {
    for (const char* const name :
         {"main", "std::invoke<...>()", "handle()", "run()::{lambda()#1}::operator()()", "push()",
          "Mutex::lock()", "libx.so+0x10"})
      profile_.frames.push_back({0, name});
    profile_.threads.resize(1);
    profile_.locks.resize(1);
    profile_.locks[0].place.name = "queue_lock";
  }
  void add(State state, std::vector<std::uint32_t> frames, double ns, std::uint32_t lock = 0) {
    profile_.paths.push_back({state, lock, 0, std::move(frames), ns, 1});
  }

  profile::Profile profile_;
};

TEST_F(PathsText, HasTheProgramsOwnFunctions) {
  add(State::kWaiting, {0, 1, 2, 3, 4, 5, 6}, 30);
  add(State::kOutside, {0}, 70, Path::kNoLock);
  EXPECT_EQ(paths_text(profile_, kMost, kPlain),
            "Call paths at locks, from 2 samples:\n"
            "  30 % waiting for queue_lock: push(), called by handle(), main\n");
}

TEST_F(PathsText, CallOperatorIsNamedIfThereIsNothingElse) {
  add(State::kSection, {1, 3, 5}, 10);
  EXPECT_EQ(paths_text(profile_, kMost, kPlain),
            "Call paths at locks, from 1 samples:\n"
            "  100 % holding queue_lock: run()::{lambda()#1}::operator()()\n");
}

TEST_F(PathsText, AddsPathsThatDifferInOthersFunctions) {
  add(State::kSection, {0, 2}, 10);
  add(State::kFallback, {0, 1, 2}, 20);
  add(State::kAborted, {0, 2}, 10);
  EXPECT_EQ(paths_text(profile_, kMost, kPlain),
            "Call paths at locks, from 3 samples:\n"
            "  75 % holding queue_lock: handle(), called by main\n"
            "  25 % in transactions that abort for queue_lock: handle(), called by main\n");
}

TEST_F(PathsText, IsEmptyWithoutPathsAtLocks) {
  add(State::kOutside, {0}, 1, Path::kNoLock);
  add(State::kBlocked, {0}, 1, Path::kNoLock);
  EXPECT_EQ(paths_text(profile_, kMost, kPlain), "");
  EXPECT_EQ(paths_markdown(profile_, kMost), "");
}

TEST_F(PathsText, SaysWhatWasLostAndLeftOut) {
  profile_.paths_lost = 7;
  add(State::kSection, {6}, 2);
  add(State::kSection, {0}, 1);
  const std::string text = paths_text(profile_, 1, kPlain);
  EXPECT_NE(text.find("from 2 samples (7 more were lost"), std::string::npos) << text;
  EXPECT_NE(text.find("67 % holding queue_lock: in functions without a name"), std::string::npos) << text;
  EXPECT_EQ(text.find("main"), std::string::npos) << "the most time alone";
}

TEST_F(PathsText, SaysWhatTheSamplesAborted) {
  profile_.threads[0].aborts = 50;
  add(State::kAttempt, {0}, 1);
  const std::string said = "from 1 samples, of which 1 aborted a transaction, 2 % of all aborts:";
  EXPECT_NE(paths_text(profile_, kMost, kPlain).find(said), std::string::npos);
  profile_.exact = true;  // no signals
  EXPECT_EQ(paths_text(profile_, kMost, kPlain).find("aborted"), std::string::npos);
}

TEST_F(PathsText, MarkdownIsEscaped) {
  profile_.frames.push_back({0, "list<int>::push()"});
  add(State::kWaiting, {7}, 1);
  const std::string text = paths_markdown(profile_, kMost);
  EXPECT_TRUE(text.starts_with("\nCall paths at locks, from 1 samples:\n\n|")) << text;
  EXPECT_EQ(text.find("list<int>"), std::string::npos) << text;
}

}  // namespace
}  // namespace elision::cli::experiment
