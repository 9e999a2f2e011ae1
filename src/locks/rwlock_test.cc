// SPDX-License-Identifier: Apache-2.0
// The reader-writer lock step by step: whom writers_first keeps out, in what order writers come, and what
// the child of a fork forgets. (locks_test.cc has what every design must do.)
#include "locks/rwlock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "locks/designs_for_test.h"

namespace elision::locks::test {
namespace {

std::uint32_t state_of(const Words& words) { return static_cast<std::uint32_t>(words.word.load()); }

template <class Gate>
class RwlockBy : public ::testing::Test {
 protected:
  using Reader = ReadSide<Gate>;
  using Writer = WriteSide<Gate>;
  Words words_;
};
using Gates = ::testing::Types<TatasGate<Park>, TicketGate<Park>>;
TYPED_TEST_SUITE(RwlockBy, Gates);

TYPED_TEST(RwlockBy, WaitingWriterBlocksReadersOnlyWithWriterPriority) {
  for (const bool writers_first : {false, true}) {
    this->words_.writers_first = writers_first;
    const LockWords lock_words = this->words_.lock_words();
    ASSERT_TRUE(TestFixture::Reader::try_acquire(lock_words));
    std::thread writer(
        [&] { EXPECT_EQ(TestFixture::Writer::acquire(lock_words, nullptr), Outcome::kAcquired); });
    // It waits as soon as it marks the word, asleep or for its priority.
    while ((state_of(this->words_) & (kWriterFirst | kSleeps)) == 0) std::this_thread::yield();
    EXPECT_EQ(TestFixture::Reader::try_acquire(lock_words), !writers_first);
    if (!writers_first) {
      EXPECT_TRUE(TestFixture::Reader::release(lock_words));
    }
    EXPECT_TRUE(TestFixture::Reader::release(lock_words));
    writer.join();
    EXPECT_EQ(state_of(this->words_), kWriter);
    EXPECT_TRUE(TestFixture::Writer::release(lock_words));
    EXPECT_TRUE(this->words_.all_free());
  }
}

TYPED_TEST(RwlockBy, TimedOutWriterBlocksNobody) {
  this->words_.writers_first = true;
  const LockWords lock_words = this->words_.lock_words();
  ASSERT_TRUE(TestFixture::Reader::try_acquire(lock_words));
  EXPECT_EQ(TestFixture::Writer::acquire(lock_words, &kPassed), Outcome::kTimedOut);
  EXPECT_TRUE(TestFixture::Reader::try_acquire(lock_words));
  EXPECT_TRUE(TestFixture::Reader::release(lock_words));
  EXPECT_TRUE(TestFixture::Reader::release(lock_words));
  EXPECT_TRUE(this->words_.all_free());
}

/// What a thread of another process left: the gate, its marks, perhaps in the middle of forgetting others.
TYPED_TEST(RwlockBy, ForkedChildForgetsWaiters) {
  for (const bool amid_adoption : {false, true}) {
    for (const bool reads : {false, true}) {
      Words words;
      words.writers_first = true;
      const LockWords lock_words = words.lock_words();
      ASSERT_EQ(TypeParam::acquire(lock_words, nullptr), Outcome::kAcquired);
      words.word = static_cast<int>(kWriterFirst | kSleeps);
      words.generation = amid_adoption ? adopting() : fork_generation();
      pretend_fork();
      if (reads) {
        EXPECT_EQ(TestFixture::Reader::acquire(lock_words, nullptr), Outcome::kAcquired);
        EXPECT_EQ(state_of(words), 1u);
        EXPECT_TRUE(TestFixture::Reader::release(lock_words));
      } else {
        EXPECT_FALSE(TestFixture::Writer::is_held(lock_words));
        EXPECT_EQ(TestFixture::Writer::acquire(lock_words, nullptr), Outcome::kAcquired);
        EXPECT_EQ(state_of(words), kWriter);
        EXPECT_TRUE(TestFixture::Writer::release(lock_words));
      }
      EXPECT_TRUE(words.all_free());
    }
  }
  end_pretended_fork();
}

TYPED_TEST(RwlockBy, LoneReaderIsUpgradedAndSleepersWakeLater) {
  for (const bool writers_first : {false, true}) {
    this->words_.writers_first = writers_first;
    const LockWords lock_words = this->words_.lock_words();
    EXPECT_FALSE(TestFixture::Writer::try_upgrade(lock_words)) << "nobody reads";
    ASSERT_TRUE(TestFixture::Reader::try_acquire(lock_words));
    ASSERT_TRUE(TestFixture::Reader::try_acquire(lock_words));
    EXPECT_FALSE(TestFixture::Writer::try_upgrade(lock_words));
    EXPECT_TRUE(TestFixture::Reader::release(lock_words));
    std::thread writer([&] {
      EXPECT_EQ(TestFixture::Writer::acquire(lock_words, nullptr), Outcome::kAcquired);
      EXPECT_TRUE(TestFixture::Writer::release(lock_words));
    });
    while ((state_of(this->words_) & kSleeps) == 0) std::this_thread::yield();
    EXPECT_TRUE(TestFixture::Writer::try_upgrade(lock_words));
    EXPECT_EQ(state_of(this->words_) & ~kWriterFirst, kWriter | kSleeps);
    EXPECT_TRUE(TestFixture::Writer::release(lock_words));
    writer.join();
    EXPECT_TRUE(this->words_.all_free());
  }
}

TEST(FifoRwlock, WritersEnterInQueueOrder) {
  using Writer = WriteSide<TicketGate<Park>>;
  Words words;
  const LockWords lock_words = words.lock_words();
  ASSERT_TRUE(Writer::try_acquire(lock_words));
  std::vector<int> order;
  std::vector<std::thread> writers;
  for (int number = 0; number < 4; ++number) {
    writers.emplace_back([&, number] {
      EXPECT_EQ(Writer::acquire(lock_words, nullptr), Outcome::kAcquired);
      order.push_back(number);
      EXPECT_TRUE(Writer::release(lock_words));
    });
    while (words.ticket.next != static_cast<std::uint32_t>(number + 1)) std::this_thread::yield();
  }
  EXPECT_TRUE(Writer::release(lock_words));
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(words.all_free());
}

}  // namespace
}  // namespace elision::locks::test
