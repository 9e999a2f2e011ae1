// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/ordering.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/random.h"

namespace elision::vm {
namespace {

class OrderingTest : public testing::Test {
 protected:
  Cpu& cpu_at(unsigned id, std::uint64_t cycles) {
    cpus_.push_back(std::make_unique<Cpu>());
    Cpu& cpu = *cpus_.back();
    cpu.id = CpuId(id);
    cpu.next_interrupt = Cycles(1u << 20);
    cpu.set_time(cycles << kTickShift, (cycles + 1) << kTickShift);
    return cpu;
  }
  std::vector<std::unique_ptr<Cpu>> cpus_;
  Ordering ordering_{Cycles(1000)};
};

TEST_F(OrderingTest, StartsTheEarliestCpu) {
  Cpu& late = cpu_at(0, 300);
  Cpu& early = cpu_at(1, 100);
  ordering_.add(late);
  ordering_.add(early);
  EXPECT_EQ(ordering_.start_first(), &early);
  EXPECT_FALSE(early.in_heap);
  EXPECT_EQ(ordering_.start_first(), &late);
  EXPECT_EQ(ordering_.start_first(), nullptr);
}

TEST_F(OrderingTest, TiesGoToTheLowerCpu) {
  Cpu& high = cpu_at(5, 100);
  Cpu& low = cpu_at(2, 100);
  ordering_.add(high);
  ordering_.add(low);
  EXPECT_EQ(ordering_.start_first(), &low);
  EXPECT_TRUE(ordering_.is_first(low));
}

TEST_F(OrderingTest, OfThoseThatAskAtTheSameTimeWhoHasWaitedLongestIsFirst) {
  Cpu& newcomer = cpu_at(0, 100);
  Cpu& waits = cpu_at(7, 100);
  Cpu& waits_longer = cpu_at(9, 100);
  waits.asked_ticks = 60 << kTickShift;
  waits_longer.asked_ticks = 50 << kTickShift;
  for (Cpu* cpu : {&newcomer, &waits, &waits_longer}) ordering_.add(*cpu);
  EXPECT_EQ(ordering_.start_first(), &waits_longer);
  EXPECT_TRUE(ordering_.is_first(waits_longer)) << "also while it runs";
  EXPECT_EQ(ordering_.start_first(), &waits);
  EXPECT_EQ(ordering_.start_first(), &newcomer);
}

TEST_F(OrderingTest, AnEventMustWaitForACoreThatIsBehindByOneTick) {
  Cpu& running = cpu_at(0, 100);
  Cpu& other = cpu_at(1, 100);
  ordering_.add(other);
  EXPECT_TRUE(ordering_.is_first(running));
  running.set_time(running.clock_ticks() + 1, running.deadline_ticks);
  EXPECT_FALSE(ordering_.is_first(running));
}

TEST_F(OrderingTest, ACoreThatIsAboutToPayIsFirstOnlyIfItStillIsThen) {
  ordering_.add(cpu_at(0, 300));
  const Cpu& cpu = cpu_at(1, 100);
  EXPECT_TRUE(ordering_.is_first(cpu));
  EXPECT_TRUE(ordering_.is_first(cpu, (300 << kTickShift) - 1));
  EXPECT_FALSE(ordering_.is_first(cpu, 300 << kTickShift)) << "ties go to the lower CPU";
}

TEST_F(OrderingTest, PrivateWorkRunsAheadOfTheOthersByTheBoundAndNoFurther) {
  Cpu& running = cpu_at(0, 100);
  ordering_.add(cpu_at(1, 250));
  ordering_.start(running);
  EXPECT_EQ(running.deadline_ticks >> kTickShift, 250u + 1000u);
  EXPECT_EQ(running.clock(), Cycles(100));
}

TEST_F(OrderingTest, AloneACoreRunsToItsNextInterruptOrTheTimer) {
  Cpu& running = cpu_at(0, 100);
  running.next_interrupt = Cycles(5000);
  ordering_.start(running);
  EXPECT_EQ(running.deadline_ticks >> kTickShift, 5000u);
  ordering_.set_timer(Cycles(700));
  ordering_.start(running);
  EXPECT_EQ(running.deadline_ticks >> kTickShift, 700u);
}

TEST_F(OrderingTest, CountsEventsThatComeTooLate) {
  Cpu& cpu = cpu_at(0, 100);
  ordering_.note_event(cpu);
  cpu.rewind_to(Cycles(99));
  ordering_.note_event(cpu);
  cpu.rewind_to(Cycles(100));
  ordering_.note_event(cpu);
  EXPECT_EQ(ordering_.events(), 3u);
  EXPECT_EQ(ordering_.out_of_order(), 1u);
}

// The heap against the obvious model: repeatedly take the smallest of a vector.
TEST_F(OrderingTest, KeepsTheOrderUnderRandomMovesAndRemovals) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    cpus_.clear();
    ordering_.clear();
    std::vector<Cpu*> inside;
    for (unsigned id = 0; id < 40; ++id) {
      inside.push_back(&cpu_at(id, random.below(1000)));
      ordering_.add(*inside.back());
    }
    while (!inside.empty()) {
      Cpu& any = *inside[random.below(inside.size())];
      switch (random.below(3)) {
        case 0:
          any.rewind_to(Cycles(random.below(2000)));
          ordering_.moved(any);
          break;
        case 1:
          ordering_.remove(any);
          std::erase(inside, &any);
          break;
        default: {
          Cpu* expected = inside.front();
          for (Cpu* c : inside)
            if (c->clock_ticks() < expected->clock_ticks() ||
                (c->clock_ticks() == expected->clock_ticks() && c->id < expected->id))
              expected = c;
          ASSERT_EQ(ordering_.start_first(), expected) << "seed " << seed;
          std::erase(inside, expected);
        }
      }
    }
    EXPECT_TRUE(ordering_.empty());
  }
}

}  // namespace
}  // namespace elision::vm
