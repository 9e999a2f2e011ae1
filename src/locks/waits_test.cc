// SPDX-License-Identifier: Apache-2.0
// The ways to wait, step by step over scripted transactions: where ticket-aahtm, tatas-aahtm and
// tatas-pri-aahtm speculate and what they leave behind; who has hle-scm's auxiliary lock, and when.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csetjmp>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "locks/designs_for_test.h"

namespace elision::locks::test {
namespace {

using htm::Scripted;
using htm::Status;
using Queue = Ticket<Spin>;
using Aahtm = TatasAahtm<Scripted, Spin>;

/// What ticket-aahtm does at each distance, as a table: speculations begun before the ticket is served.
struct Row {
  std::uint32_t places;
  std::uint32_t min_distance;
  std::uint32_t max_distance;
  std::uint64_t speculations;
};

TEST(TicketAahtmLock, SpeculatesOnlyWithinItsWindow) {
  const Row rows[] = {
      {1, 2, 4, 0},                              // too near the head: the lock will be free before it pays
      {2, 2, 4, 4},                              // NUM_TRIES speculations, all aborted
      {3, 2, 4, 4}, {1, 1, 4, 4}, {3, 3, 3, 0},  // an empty window
      {1, 0, 2, 4},
  };
  for (const Row& row : rows) {
    Scripted::reset();
    TicketState state{};
    for (std::uint32_t i = 0; i < row.places; ++i) join(state);
    const std::uint32_t ticket = join(state);
    for (int i = 0; i < 4; ++i) Scripted::script.steps.push_back({Status{Status::kConflictBit}});
    Thread me;
    me.tuning.min_distance = row.min_distance;
    me.tuning.max_distance = row.max_distance;
    // The deadline has passed: when speculation is over the ticket is given up, and the test ends.
    using Wait = SpeculatingTicketWait<Scripted, Spin>;
    EXPECT_EQ(Wait::enter(state, ticket, me, &kPassed), Entry::kTimedOut);
    EXPECT_EQ(me.counters.speculations, row.speculations) << row.places << " places";
    EXPECT_EQ(me.counters.aborts[static_cast<std::size_t>(abi::AbortCause::kConflict)], row.speculations);
  }
}

TEST(TicketAahtmLock, StopsSpeculatingWhenServed) {
  Scripted::reset();
  TicketState state{};
  join(state);
  join(state);
  const std::uint32_t ticket = join(state);
  Scripted::script.steps.push_back({Status{0}, [&] {
                                      Queue::release(state);
                                      Queue::release(state);
                                    }});
  Thread me;
  me.tuning.min_distance = 1;
  EXPECT_EQ((SpeculatingTicketWait<Scripted, Spin>::enter(state, ticket, me, nullptr)), Entry::kHolding);
  EXPECT_EQ(me.counters.speculations, 1u);
  EXPECT_EQ(me.counters.acquisitions, 1u);
}

TEST(TicketAahtmLock, SpeculationEndsAtItsTurnIfItSubscribes) {
  struct Row {
    bool subscribes;
    unsigned handed_over;  // since the look before the transaction
    Entry entry;
    std::uint64_t ended;  // speculations that ended by themselves
  };
  const Row rows[] = {
      {false, 2, Entry::kSpeculating, 0}, {true, 1, Entry::kSpeculating, 0}, {true, 2, Entry::kHolding, 1}};
  for (const Row& row : rows) {
    Scripted::reset();
    TicketState state{};
    join(state);
    join(state);
    const std::uint32_t ticket = join(state);
    Scripted::script.steps.push_back({Status{}, [&] {
                                        for (unsigned i = 0; i < row.handed_over; ++i) Queue::release(state);
                                      }});
    Thread me;
    me.tuning.subscribes = row.subscribes;
    EXPECT_EQ((SpeculatingTicketWait<Scripted, Spin>::enter(state, ticket, me, nullptr)), row.entry);
    EXPECT_EQ(Scripted::script.aborted_by_itself, row.ended);
    EXPECT_EQ(me.counters.aborts[static_cast<std::size_t>(abi::AbortCause::kLockBusy)], row.ended);
  }
}

TEST(TicketAahtmLock, PausesAfterAnAbort) {
  Scripted::reset();
  TicketState state{};
  join(state);
  const std::uint32_t ticket = join(state);
  Scripted::script.steps.push_back({Status{Status::kConflictBit}, [&] { Queue::release(state); }});
  Thread me;
  me.tuning.pauses = 1000000;
  EXPECT_EQ((SpeculatingTicketWait<Scripted, Spin>::enter(state, ticket, me, nullptr)), Entry::kHolding);
  EXPECT_GE(me.counters.wait_ticks, 1000000u) << "a PAUSE takes more than a tick";
}

TEST(TicketAahtmLock, DeadlinePassesBetweenPauses) {
  Scripted::reset();
  TicketState state{};
  join(state);
  const std::uint32_t ticket = join(state);
  for (int i = 0; i < 4; ++i) Scripted::script.steps.push_back({Status{Status::kConflictBit}});
  Thread me;
  me.tuning.pauses = 100;
  EXPECT_EQ((SpeculatingTicketWait<Scripted, Spin>::enter(state, ticket, me, &kPassed)), Entry::kTimedOut);
  EXPECT_EQ(me.counters.speculations, 1u);
}

TEST(TatasAahtmLock, SpeculatesWhileHeldAndThenTakesIt) {
  Scripted::reset();
  std::atomic<int> word{kHeld};
  Scripted::script.steps.push_back({Status{Status::kConflictBit}});
  Scripted::script.steps.push_back({Status{Status::kCapacityBit}, [&] { word = kFree; }});
  Thread me;
  EXPECT_EQ(Aahtm::enter({.word = &word}, me, nullptr), Entry::kHolding);
  EXPECT_EQ(me.counters.speculations, 2u);
  EXPECT_EQ(word, kHeld);
}

TEST(TatasAahtmLock, SpeculationReturnsWithoutLock) {
  Scripted::reset();
  std::atomic<int> word{kHeld};
  Thread me;
  EXPECT_EQ(Aahtm::enter({.word = &word}, me, nullptr), Entry::kSpeculating);
  EXPECT_TRUE(Scripted::in_always_abort());
  EXPECT_EQ(me.counters.acquisitions, 0u);
}

TEST(TatasAahtmLock, AfterItsTriesItOnlyWaits) {
  Scripted::reset();
  std::atomic<int> word{kHeld};
  for (int i = 0; i < 4; ++i) Scripted::script.steps.push_back({Status{0}});
  Thread me;
  // A deadline that passes at the fifth look ends the wait: the first four lead to speculations.
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_sec += 1000;
  Scripted::script.steps.back().meanwhile = [&] { at = kLongAgo; };
  const Deadline deadline{CLOCK_MONOTONIC, &at};
  EXPECT_EQ(Aahtm::enter({.word = &word}, me, &deadline), Entry::kTimedOut);
  EXPECT_EQ(me.counters.speculations, 4u);
}

using PriorityState = Words;
using Priority = TatasPriAahtm<Scripted, Spin>;

TEST(TatasPriAahtmLock, WarmThreadIsCountedWhileItWaits) {
  Scripted::reset();
  PriorityState state;
  state.word = kHeld;
  Thread me;
  Scripted::script.steps.push_back({Status{Status::kConflictBit}, [&] {
                                      EXPECT_EQ(state.warm, 0u) << "not yet: it speculates";
                                      state.word = kFree;
                                    }});
  EXPECT_EQ(Priority::enter(state.lock_words(), me, nullptr), Entry::kHolding);
  EXPECT_EQ(me.counters.speculations, 1u) << "one speculation a thread (Fig. 4)";
  EXPECT_EQ(state.warm, 0u);
  EXPECT_EQ(state.word, kHeld);
}

TEST(TatasPriAahtmLock, ColdThreadLeavesFreeLockToWarmOnes) {
  Scripted::reset();
  PriorityState state;
  state.warm = 1;  // as many as may be
  Thread me;
  std::thread warm_one([&] {
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    EXPECT_EQ(state.word, kFree) << "a cold thread came first";
    state.warm = 0;
  });
  EXPECT_EQ(Priority::enter(state.lock_words(), me, nullptr), Entry::kHolding);
  warm_one.join();
  EXPECT_EQ(Scripted::script.begun, 0u) << "nor does it speculate";
}

TEST(TatasPriAahtmLock, NonWaitingCallTakesFreeLock) {
  Scripted::reset();
  for (const bool timed : {false, true}) {
    PriorityState state;
    state.warm = 1;
    Thread me;
    EXPECT_EQ(timed ? Priority::enter(state.lock_words(), me, &kPassed)
                    : Priority::try_enter(state.lock_words(), me),
              Entry::kHolding);
  }
}

TEST(TatasPriAahtmLock, ColdThreadSpeculatesWithRoomForWarmOnes) {
  Scripted::reset();
  PriorityState state;
  state.warm = 1;
  Thread me;
  me.tuning.most_warm = 2;
  EXPECT_EQ(Priority::enter(state.lock_words(), me, nullptr), Entry::kSpeculating);
  EXPECT_EQ(state.warm, 1u);
}

TEST(TatasPriAahtmLock, WarmThreadIsUncountedAfterTimeout) {
  Scripted::reset();
  PriorityState state;
  state.word = kHeld;
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_sec += 1000;
  Scripted::script.steps.push_back({Status{0}, [&] { at = kLongAgo; }});
  Thread me;
  const Deadline deadline{CLOCK_MONOTONIC, &at};
  EXPECT_EQ(Priority::enter(state.lock_words(), me, &deadline), Entry::kTimedOut);
  EXPECT_EQ(state.warm, 0u);
}

// ---- hle-scm.

using Scm = HleScm<Scripted, Spin>;
constexpr Status kConflict{Status::kConflictBit};

AuxiliaryPlace* place_in_use() {
  for (AuxiliaryPlace& place : auxiliary_places) {
    if (place.users != 0) return &place;
  }
  return nullptr;
}

class Conflicts : public ::testing::Test {
 protected:
  void SetUp() override {
    Scripted::reset();
    reset_auxiliary_places();
  }
  std::atomic<int> word_{kFree};
  LockWords words_{.word = &word_};
  Thread me_;
};

TEST_F(Conflicts, AuxiliaryLockIsHeldFromConflictToCommit) {
  Scripted::script.steps.push_back({kConflict, [] { EXPECT_EQ(place_in_use(), nullptr); }});
  Scripted::script.steps.push_back({kConflict, [] { EXPECT_NE(place_in_use(), nullptr); }});
  ASSERT_EQ(Scm::enter(words_, me_, nullptr), Entry::kElided);
  ASSERT_NE(place_in_use(), nullptr);
  EXPECT_EQ(place_in_use()->users >> 48, 1u) << "taken once, however often it conflicts";
  EXPECT_TRUE(Scm::leave(words_, me_.context));
  EXPECT_EQ(place_in_use(), nullptr);
  EXPECT_EQ(me_.context.auxiliary, nullptr);
}

TEST_F(Conflicts, OtherAbortsLeaveItAlone) {
  for (const Status status : {Status{Status::kCapacityBit}, Status{0}})
    Scripted::script.steps.push_back({status});
  ASSERT_EQ(Scm::enter(words_, me_, nullptr), Entry::kElided);
  EXPECT_EQ(place_in_use(), nullptr);
  Scm::leave(words_, me_.context);
}

TEST_F(Conflicts, AuxiliaryLockIsReleasedAfterRealLock) {
  for (int i = 0; i < 4; ++i) Scripted::script.steps.push_back({kConflict});
  ASSERT_EQ(Scm::enter(words_, me_, nullptr), Entry::kHolding);
  EXPECT_EQ(place_in_use(), nullptr);
  Scm::leave(words_, me_.context);
}

TEST_F(Conflicts, ThreadContinuesWithoutTakenPlace) {
  for (AuxiliaryPlace& place : auxiliary_places) place.users = std::uint64_t{1} << 48 | 64;
  Scripted::script.steps.push_back({kConflict});
  ASSERT_EQ(Scm::enter(words_, me_, nullptr), Entry::kElided);
  EXPECT_EQ(me_.context.auxiliary, nullptr);
  Scm::leave(words_, me_.context);
  for (AuxiliaryPlace& place : auxiliary_places) EXPECT_EQ(place.users, std::uint64_t{1} << 48 | 64);
}

/// Time passes in the queue: what counts then is whether the lock itself is free.
TEST_F(Conflicts, TimeoutInQueueLeavesNothingBehind) {
  for (const bool held : {false, true}) {
    Scripted::reset();
    Thread other;
    Scripted::script.steps.push_back({kConflict});
    ASSERT_EQ(Scm::enter(words_, other, nullptr), Entry::kElided);  // has the auxiliary lock
    AuxiliaryPlace* place = place_in_use();
    timespec at{};
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += 1000;
    Scripted::script.steps.push_back({kConflict, [&] {
                                        at = kLongAgo;
                                        if (held) word_ = kHeld;
                                      }});
    const Deadline deadline{CLOCK_MONOTONIC, &at};
    EXPECT_EQ(Scm::enter(words_, me_, &deadline), held ? Entry::kTimedOut : Entry::kHolding);
    EXPECT_EQ(place->users >> 48, 1u);
    word_ = kFree;
    EXPECT_TRUE(Scm::leave(words_, other.context));
    EXPECT_EQ(place_in_use(), nullptr);
    EXPECT_FALSE(Ticket<Spin>::is_held(place->queue));
  }
}

/// The C library's list of what to do when a thread leaves for good, and the leaving.
class LeavingList {
 public:
  LeavingList() {
    enter_leaving_list = [](LeavingRecord*, Undo undo, void* argument) {
      entries_.emplace_back(undo, argument);
    };
    drop_from_leaving_list = [](LeavingRecord*, int) {
      if (leave_at_drop_ == 1) {
        leave_at_drop_ = 0;
        leave();
        std::longjmp(out_, 1);
      }
      if (leave_at_drop_ > 0) --leave_at_drop_;
      if (!entries_.empty()) entries_.pop_back();
    };
  }
  ~LeavingList() {
    enter_leaving_list = nullptr;
    drop_from_leaving_list = nullptr;
  }
  static void leave() {
    while (!entries_.empty()) {
      const auto [undo, argument] = entries_.back();
      entries_.pop_back();
      undo(argument);
    }
  }
  /// Runs `section`, but leaves it when it is about to drop an entry for the `drop`th time. False: it came to
  /// its end first.
  template <class Section>
  static bool leaves_at_drop(int drop, const Section& section) {
    if (setjmp(out_) != 0) return true;
    leave_at_drop_ = drop;
    section();
    leave_at_drop_ = 0;
    return false;
  }

 private:
  static inline std::vector<std::pair<Undo, void*>> entries_;
  static inline int leave_at_drop_ = 0;
  static inline std::jmp_buf out_;
};

TEST_F(Conflicts, ThreadLeavingForGoodGivesItBack) {
  const LeavingList list;
  Scripted::script.steps.push_back({kConflict});
  Scripted::script.steps.push_back({kConflict, [&] {
                                      AuxiliaryPlace* place = place_in_use();
                                      ASSERT_NE(place, nullptr);
                                      LeavingList::leave();
                                      EXPECT_EQ(place_in_use(), nullptr);
                                      EXPECT_EQ(me_.context.auxiliary, nullptr);
                                      EXPECT_FALSE(Ticket<Spin>::is_held(place->queue));
                                    }});
  ASSERT_EQ(Scm::enter(words_, me_, nullptr), Entry::kElided);
  Scm::leave(words_, me_.context);
}

/// Returns once `thread` sleeps in the kernel.
void await_sleep(pid_t thread) {
  char state = 0;
  while (state != 'S') {
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string number, name;
    stat >> number >> name >> state;
    std::this_thread::yield();
  }
}

/// Hangs if the waiter is not woken.
TEST_F(Conflicts, DepartingThreadWakesNextTicket) {
  const LeavingList list;
  Scripted::script.steps.push_back({kConflict});
  Scripted::script.steps.push_back({kConflict, [&] {
                                      TicketState& queue = place_in_use()->queue;
                                      std::atomic<pid_t> waiter{0};
                                      std::thread thread([&] {
                                        TicketPlace wait{queue, join(queue), true};
                                        waiter = gettid();
                                        EXPECT_EQ(Ticket<Park>::await(wait, nullptr), Outcome::kAcquired);
                                        Ticket<Park>::release(queue);
                                      });
                                      while (waiter == 0 || queue.grant >> 48 == 0) std::this_thread::yield();
                                      await_sleep(waiter);
                                      queue.grant += 1;  // release() up to its wake-up
                                      LeavingList::leave();
                                      thread.join();
                                      EXPECT_EQ(place_in_use(), nullptr);
                                    }});
  ASSERT_EQ(Scm::enter(words_, me_, nullptr), Entry::kElided);
  Scm::leave(words_, me_.context);
}

/// At the end of each step both the step and what follows may be known as undoable.
TEST_F(Conflicts, DepartureBetweenStepsGivesBackOnce) {
  const LeavingList list;
  for (const bool in_time : {true, false}) {
    bool left = true;
    for (int drop = 1; left; ++drop) {
      SCOPED_TRACE((in_time ? "in time, drop " : "too late, drop ") + std::to_string(drop));
      SetUp();
      word_ = kFree;
      Thread me, other;
      if (!in_time) {
        Scripted::script.steps.push_back({kConflict});
        ASSERT_EQ(Scm::enter(words_, other, nullptr), Entry::kElided);  // has the auxiliary lock
      }
      timespec at{};
      clock_gettime(CLOCK_MONOTONIC, &at);
      at.tv_sec += 1000;
      const Deadline deadline{CLOCK_MONOTONIC, &at};
      Scripted::script.steps.push_back({kConflict, [&] {
                                          if (!in_time) at = kLongAgo;
                                        }});
      left = LeavingList::leaves_at_drop(drop, [&] { Scm::enter(words_, me, &deadline); });
      if (!left && in_time) Scm::leave(words_, me.context);
      EXPECT_EQ(me.context.auxiliary, nullptr);
      if (!in_time) {
        ASSERT_NE(place_in_use(), nullptr) << "the other thread's use is gone, too";
        EXPECT_EQ(place_in_use()->users >> 48, 1u);
        Scm::leave(words_, other.context);
      }
      EXPECT_EQ(place_in_use(), nullptr);
      for (AuxiliaryPlace& place : auxiliary_places) EXPECT_FALSE(Ticket<Spin>::is_held(place.queue));
    }
  }
}

}  // namespace
}  // namespace elision::locks::test
