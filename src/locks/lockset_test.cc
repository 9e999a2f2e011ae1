// SPDX-License-Identifier: Apache-2.0
// Sets of locks: how they are really taken, and how transactions over them end, step by step. (src/api has
// what runs on threads.)
#include "locks/lockset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "htm/scripted.h"
#include "locks/designs_for_test.h"

namespace elision::locks::test {
namespace {

using htm::Scripted;
using htm::Status;

struct Member {
  int word = kFree;
};
using Set = LockSet<Member>;
using Lock = Tatas<Spin>;
using OnSet = OnLockSet<Lock, Member>;
using Design = LockSetDesign<HtmN<Scripted, Spin>, Member>;

constexpr Status kConflict{Status::kConflictBit | Status::kRetryBit};

class LocksetTest : public ::testing::Test {
 protected:
  void SetUp() override { Scripted::reset(); }

  /// The members of these numbers, in this order.
  Set set_of(const std::vector<std::size_t>& numbers) {
    chosen_.clear();
    for (const std::size_t number : numbers) chosen_.push_back(&members_[number]);
    return {chosen_.data(), chosen_.size()};
  }
  std::vector<int> words() const {
    std::vector<int> result;
    for (const Member& member : members_) result.push_back(member.word);
    return result;
  }
  /// False: one of them was not held.
  bool leave(const Set& set) {
    bool held = true;
    set.for_each_backwards(
        [&](Member* member) { held &= HtmN<Scripted, Spin>::leave(Set::words_of(member), me_.context); });
    return held;
  }
  void script(Status status, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) Scripted::script.steps.push_back({status});
  }

  std::vector<Member> members_ = std::vector<Member>(4);
  std::vector<Member*> chosen_;
  Thread me_;
};

TEST_F(LocksetTest, NextMemberHasNextAddress) {
  const Set set = set_of({2, 0, 3, 0, 2});
  std::vector<Member*> order;
  for (Member* next = set.next_after(nullptr); next != nullptr; next = set.next_after(next))
    order.push_back(next);
  EXPECT_EQ(order, (std::vector<Member*>{&members_[0], &members_[2], &members_[3]}));
}

TEST_F(LocksetTest, OneTransactionElidesAllLocks) {
  const Set set = set_of({3, 1, 2});
  EXPECT_EQ(Design::enter(set, me_, nullptr), Entry::kElided);
  EXPECT_EQ(me_.context.count, 3u);
  EXPECT_EQ(words(), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_TRUE(leave(set));
  EXPECT_EQ(Scripted::script.begun, 1u);
  EXPECT_EQ(Scripted::script.committed, 1u);
  EXPECT_EQ(me_.counters.commits, 1u);
}

TEST_F(LocksetTest, MemberNamedTwiceIsEnteredOnce) {
  const Set set = set_of({1, 1});
  EXPECT_EQ(Design::enter(set, me_, nullptr), Entry::kElided);
  EXPECT_TRUE(leave(set));
  EXPECT_EQ(Scripted::script.committed, 1u);
  script(kConflict, 4);
  EXPECT_EQ(Design::enter(set, me_, nullptr), Entry::kHolding);
  EXPECT_EQ(words(), (std::vector<int>{0, kHeld, 0, 0}));
  EXPECT_TRUE(leave(set));
  EXPECT_EQ(words(), (std::vector<int>{0, 0, 0, 0}));
}

TEST_F(LocksetTest, FallsBackToAllLocks) {
  const Set set = set_of({3, 0});
  script(kConflict, 4);
  EXPECT_EQ(Design::enter(set, me_, nullptr), Entry::kHolding);
  EXPECT_EQ(words(), (std::vector<int>{kHeld, 0, 0, kHeld}));
  EXPECT_EQ(me_.counters.fallbacks, 1u);
  EXPECT_TRUE(leave(set));
  EXPECT_FALSE(leave(set));
}

TEST_F(LocksetTest, MemberTakenAtTransactionBeginIsSeen) {
  const Set set = set_of({0, 2});
  me_.tuning.elision_tries = 1;
  Scripted::script.steps.push_back({Status{}, [&] { std::atomic_ref(members_[2].word) = kHeld; }});
  std::thread holder([&] {
    while (is_unseen(me_)) std::this_thread::yield();
    std::atomic_ref(members_[2].word) = kFree;
  });
  EXPECT_EQ(Design::enter(set, me_, nullptr), Entry::kElided);
  holder.join();
  EXPECT_EQ(Scripted::script.aborted_by_itself, 1u);
  EXPECT_TRUE(leave(set));
}

TEST_F(LocksetTest, FailedTryTakesNothing) {
  members_[2].word = kHeld;
  const Set set = set_of({3, 2, 0});
  EXPECT_EQ(Design::try_enter(set, me_), Entry::kBusy);
  EXPECT_FALSE(OnSet::try_acquire(OnSet::words_of(set)));
  EXPECT_EQ(OnSet::acquire(OnSet::words_of(set), &kPassed), Outcome::kTimedOut);
  EXPECT_EQ(words(), (std::vector<int>{0, 0, kHeld, 0}));
}

TEST_F(LocksetTest, InATransactionItsMembersAreFurtherLocks) {
  std::atomic<int> outer{0};
  ASSERT_EQ((HtmN<Scripted, Spin>::enter({.word = &outer}, me_, nullptr)), Entry::kElided);
  const Set set = set_of({0, 1});
  EXPECT_EQ(Design::enter(set, me_, nullptr), Entry::kElided);
  EXPECT_EQ(Design::try_enter(set_of({2, 1}), me_), Entry::kOwn);
  EXPECT_EQ(me_.context.count, 3u) << "what the failed try entered is left again";
  EXPECT_TRUE(leave(set_of({0, 1})));
  EXPECT_EQ(Scripted::script.committed, 0u);
  EXPECT_TRUE((HtmN<Scripted, Spin>::leave({.word = &outer}, me_.context)));
  EXPECT_EQ(Scripted::script.begun, 1u);
  EXPECT_EQ(Scripted::script.committed, 1u);
}

TEST_F(LocksetTest, EmptySetBeginsNothing) {
  const Set set = set_of({});
  EXPECT_EQ(Design::enter(set, me_, nullptr), Entry::kHolding);
  EXPECT_TRUE(leave(set));
  EXPECT_EQ(Design::try_enter(set, me_), Entry::kHolding);
  EXPECT_TRUE(leave(set));
  EXPECT_EQ(Scripted::script.begun, 0u);
}

TEST_F(LocksetTest, MoreThanATransactionRemembersAreReallyTaken) {
  members_.resize(TransactionContext::kMostLocks + 1);
  std::vector<std::size_t> all;
  for (std::size_t i = members_.size(); i-- > 0;) all.push_back(i);
  const Set set = set_of(all);
  EXPECT_EQ(Design::enter(set, me_, nullptr), Entry::kHolding);
  EXPECT_EQ(Scripted::script.begun, 0u);
  EXPECT_TRUE(std::all_of(members_.begin(), members_.end(),
                          [](const Member& member) { return member.word == kHeld; }));
  EXPECT_TRUE(leave(set));
  EXPECT_EQ(Design::try_enter(set, me_), Entry::kHolding);
  EXPECT_TRUE(leave(set));
}

}  // namespace
}  // namespace elision::locks::test
