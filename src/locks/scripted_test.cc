// SPDX-License-Identifier: Apache-2.0
// Every design that begins transactions, under every sequence of what can become of them: each transaction
// runs or ends by each cause, and meanwhile nothing happens, another thread takes the lock, or it gives it
// back. Whatever comes: nobody enters beside a holder, and nothing is left behind.
#include <gtest/gtest.h>

#include "locks/designs_for_test.h"

namespace elision::locks::test {
namespace {

using htm::Scripted;
using htm::Status;

constexpr Status kEnds[] = {Status{},
                            Status{Status::kConflictBit | Status::kRetryBit},
                            Status{Status::kCapacityBit},
                            Status{0},
                            Status::explicit_abort(htm::kCodeLockBusy),
                            Status::explicit_abort(htm::kCodeNestedBusy),
                            Status::explicit_abort(htm::kCodeGiveUp)};
constexpr unsigned kMeanwhiles = 3;  // nothing; taken; given back
constexpr unsigned kKinds = std::size(kEnds) * kMeanwhiles;
constexpr unsigned kSteps = 3;

/// `Other` is how another thread takes the lock: where readers share it, as a writer.
template <class Design_, Busy kBusy_ = Busy::kOutside, class Other_ = Design_, bool kSubscribes_ = false>
struct Row {
  using Design = Design_;
  using Other = Other_;
  static constexpr Busy kBusy = kBusy_;
  static constexpr bool kSubscribes = kSubscribes_;
};

template <class Row>
class EverySequence : public ::testing::Test {
 protected:
  using Design = typename Row::Design;
  using Other = typename Row::Other;

  /// Another thread, which takes and gives back the lock between the steps of the one under test.
  void other_takes() {
    if (other_holds_ || Other::is_held(words_.lock_words())) return;
    Thread other;
    other.take_really();
    other_holds_ = Other::enter(words_.lock_words(), other, &kPassed) == Entry::kHolding;
    at_ = kLongAgo;  // whoever waits from now on gives up
  }
  void other_gives_back() {
    Thread other;
    if (!other_holds_) return;
    EXPECT_TRUE(Other::leave(words_.lock_words(), other.context));
    other_holds_ = false;
  }

  void script(unsigned sequence) {
    Scripted::reset();
    for (unsigned step = 0; step < kSteps; ++step, sequence /= kKinds) {
      const unsigned meanwhile = sequence % kKinds % kMeanwhiles;
      Scripted::script.steps.push_back({kEnds[sequence % kKinds / kMeanwhiles], [this, meanwhile] {
                                          if (meanwhile == 1) other_takes();
                                          if (meanwhile == 2) other_gives_back();
                                        }});
    }
  }

  void run(unsigned sequence, bool held_at_first) {
    words_.~Words();
    new (&words_) Words;
    at_ = {};
    clock_gettime(CLOCK_MONOTONIC, &at_);
    at_.tv_sec += 1000;
    other_holds_ = false;
    Scripted::reset();
    if (held_at_first) other_takes();
    script(sequence);
    Thread me;
    me.tuning.elision_tries = me.tuning.speculation_tries = 2;
    me.tuning.busy = Row::kBusy;
    me.tuning.subscribes = Row::kSubscribes;
    const Deadline deadline{CLOCK_MONOTONIC, &at_};
    const Entry entry = Design::enter(words_.lock_words(), me, &deadline);
    check(entry, me);
  }

  void check(Entry entry, Thread& me) {
    const bool inside = entry == Entry::kElided || entry == Entry::kSpeculating;
    ASSERT_EQ(Scripted::script.inside, inside);
    switch (entry) {
      case Entry::kHolding:
        EXPECT_FALSE(other_holds_) << "two holders";
        EXPECT_TRUE(Design::leave(words_.lock_words(), me.context));
        break;
      case Entry::kElided:
        EXPECT_FALSE(other_holds_) << "elided beside a holder";
        EXPECT_FALSE(Scripted::in_always_abort());
        EXPECT_TRUE(Design::leave(words_.lock_words(), me.context));
        EXPECT_EQ(Scripted::script.committed, 1u);
        break;
      case Entry::kSpeculating:
        EXPECT_TRUE(Scripted::in_always_abort());
        Scripted::script.inside = Scripted::script.always_abort = false;
        break;
      default:
        EXPECT_EQ(entry, Entry::kTimedOut);
        EXPECT_EQ(at_.tv_sec, kLongAgo.tv_sec) << "gave up before the deadline";
    }
    EXPECT_FALSE(me.context.inside());
    EXPECT_EQ(me.context.auxiliary, nullptr);
    other_gives_back();
    // A ticket drawn before the speculation would be served after its abort.
    if (entry == Entry::kSpeculating) words_.ticket.next = static_cast<std::uint32_t>(words_.ticket.grant);
    EXPECT_TRUE(words_.all_free());
    const abi::CounterEntry& c = me.counters;
    EXPECT_EQ(c.commits + me.taken(), entry == Entry::kTimedOut || entry == Entry::kSpeculating ? 0u : 1u);
    std::uint64_t aborts = 0;
    for (const std::uint64_t count : c.aborts) aborts += count;
    EXPECT_EQ(aborts + inside, Scripted::script.begun) << "an abort that was not counted";
  }

  Words words_;
  timespec at_{};
  bool other_holds_ = false;
};

template <class Design>
using Subscribes = Row<Design, Busy::kOutside, Design, true>;
template <class Design>
using Reads = Row<typename Design::ReaderSide, Busy::kOutside, typename Design::WriterSide>;

using Designs = ::testing::Types<
    Row<HtmN<Scripted, Spin>>, Row<HtmN<Scripted, Park>>, Row<HtmN<Scripted, Spin>, Busy::kAbort>,
    Row<HtmN<Scripted, Park>, Busy::kAbort>, Row<Ttstle<Scripted, Spin>, Busy::kFallBack>,
    Row<Ttstle<Scripted, Park>, Busy::kFallBack>, Row<HleScm<Scripted, Spin>>, Row<HleScm<Scripted, Park>>,
    Row<HtmNFbAahtm<Scripted, Scripted, Spin>>, Row<HtmNFbAahtm<Scripted, Scripted, Park>>,
    Row<TatasAahtm<Scripted, Spin>>, Row<TatasAahtm<Scripted, Park>>, Row<TatasPriAahtm<Scripted, Spin>>,
    Row<TatasPriAahtm<Scripted, Park>>, Row<TicketAahtm<Scripted, Spin>>, Row<TicketAahtm<Scripted, Park>>,
    Subscribes<TicketAahtm<Scripted, Spin>>, Subscribes<TicketAahtm<Scripted, Park>>,
    Reads<HtmN<Scripted, Park>>, Row<HtmN<Scripted, Park>::WriterSide>,
    Row<HleScm<Scripted, Park>::WriterSide>, Reads<TatasAahtm<Scripted, Park>>,
    Row<TatasAahtm<Scripted, Park>::WriterSide>, Row<TicketAahtm<Scripted, Park>::WriterSide>>;
TYPED_TEST_SUITE(EverySequence, Designs);

TYPED_TEST(EverySequence, EntersAloneAndLeavesNothingBehind) {
  unsigned sequences = 1;
  for (unsigned step = 0; step < kSteps; ++step) sequences *= kKinds;
  for (const bool held_at_first : {false, true}) {
    for (unsigned sequence = 0; sequence < sequences; ++sequence) {
      this->run(sequence, held_at_first);
      if (this->HasFailure()) FAIL() << "sequence " << sequence << ", held at first: " << held_at_first;
    }
  }
}

}  // namespace
}  // namespace elision::locks::test
