// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/ordering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <tuple>
#include <utility>
#include <vector>

#include "base/property_for_test.h"

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

TEST_F(OrderingTest, LongestWaitBreaksTies) {
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

TEST_F(OrderingTest, EarlyRequestsComeBeforeCpusAtTheirTime) {
  Cycles next = kNever;
  ordering_.set_arrivals(next);
  Cpu& running = cpu_at(0, 100);
  Cpu& other = cpu_at(1, 150);
  EXPECT_FALSE(ordering_.arrival_is_due()) << "no CPU is in the heap";
  ordering_.add(other);
  EXPECT_TRUE(ordering_.is_first(running));
  EXPECT_EQ(ordering_.first_until(), Cycles(150));
  next = Cycles(101);
  EXPECT_TRUE(ordering_.is_first(running)) << "it arrives later";
  EXPECT_EQ(ordering_.first_until(), Cycles(101));
  EXPECT_TRUE(ordering_.arrival_is_due());
  next = Cycles(100);
  EXPECT_FALSE(ordering_.is_first(running));
  next = Cycles(150);
  EXPECT_TRUE(ordering_.arrival_is_due()) << "a tie";
  next = Cycles(151);
  EXPECT_FALSE(ordering_.arrival_is_due());
}

TEST_F(OrderingTest, EventWaitsForCpuOneTickBehind) {
  Cpu& running = cpu_at(0, 100);
  Cpu& other = cpu_at(1, 100);
  ordering_.add(other);
  EXPECT_TRUE(ordering_.is_first(running));
  running.set_time(running.clock_ticks() + 1, running.deadline_ticks);
  EXPECT_FALSE(ordering_.is_first(running));
}

TEST_F(OrderingTest, CpuIsFirstOnlyIfItStillIsAfterItsCharge) {
  ordering_.add(cpu_at(0, 300));
  const Cpu& cpu = cpu_at(1, 100);
  EXPECT_TRUE(ordering_.is_first(cpu));
  EXPECT_TRUE(ordering_.is_first(cpu, (300 << kTickShift) - 1));
  EXPECT_FALSE(ordering_.is_first(cpu, 300 << kTickShift)) << "ties go to the lower CPU";
}

TEST_F(OrderingTest, PrivateWorkRunsAheadUpToBound) {
  Cpu& running = cpu_at(0, 100);
  ordering_.add(cpu_at(1, 250));
  ordering_.start(running);
  EXPECT_EQ(running.deadline_ticks >> kTickShift, 250u + 1000u);
  EXPECT_EQ(running.clock(), Cycles(100));
}

TEST_F(OrderingTest, LoneCpuRunsToNextInterruptOrTimer) {
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

/// One operation on the heap. `cpu` is taken modulo the number of CPUs to choose from.
struct Operation {
  enum Kind { kAdd, kMove, kRemove, kStart, kRebuild } kind;
  std::uint64_t cpu, cycles;
  std::uint64_t asked;  // ticks; 0: the CPU waits for no line
};

// Few different clocks, so that there are ties.
Operation drawn(Operation::Kind kind, Random& random) {
  return {kind, random.below(1000), random.below(100), random.below(3)};
}

Operation draw_add(Random& random) { return drawn(Operation::kAdd, random); }

/// As many CPUs enter the heap as leave it, so a deep heap stays deep.
Operation draw(Random& random) {
  constexpr Operation::Kind kKinds[] = {Operation::kAdd,    Operation::kAdd,    Operation::kMove,
                                        Operation::kMove,   Operation::kRemove, Operation::kStart,
                                        Operation::kRebuild};
  return drawn(kKinds[random.below(7)], random);
}

void showValue(const Operation& operation, std::ostream& out) {
  constexpr const char* kNames[] = {"add", "move", "remove", "start", "rebuild"};
  out << kNames[operation.kind] << ' ' << operation.cpu << " at " << operation.cycles << ", asked at "
      << operation.asked;
}

/// The heap and its model, a vector that is searched for its smallest element.
class HeapAndModel {
 public:
  static constexpr unsigned kCpus = 40;

  HeapAndModel() {
    for (unsigned id = 0; id < kCpus; ++id) {
      cpus_.push_back(std::make_unique<Cpu>());
      cpus_.back()->id = CpuId(id);
      cpus_.back()->next_interrupt = Cycles(1u << 20);
      outside_.push_back(cpus_.back().get());
    }
  }

  void apply(const Operation& operation) {
    if (operation.kind == Operation::kAdd) return add(operation);
    if (inside_.empty()) return;
    Cpu& cpu = *inside_[operation.cpu % inside_.size()];
    switch (operation.kind) {
      case Operation::kMove:
        cpu.rewind_to(Cycles(operation.cycles));
        cpu.asked_ticks = operation.asked;
        return heap_.moved(cpu);
      case Operation::kRebuild:
        for (Cpu* each : inside_) {
          each->rewind_to(Cycles(operation.cycles * (each->id.value + 1) % 100));
          each->asked_ticks = (operation.asked + each->id.value) % 3;
        }
        return heap_.rebuild();
      case Operation::kRemove:
        heap_.remove(cpu);
        return leave(cpu);
      default:
        start();
    }
  }
  void start() {
    Cpu* expected = *std::min_element(inside_.begin(), inside_.end(), [](const Cpu* a, const Cpu* b) {
      const auto turn = [](const Cpu& cpu) {
        const std::uint64_t ticks = cpu.clock_ticks();
        return std::tuple(ticks, cpu.asked_ticks != 0 ? cpu.asked_ticks : ticks, cpu.id);
      };
      return turn(*a) < turn(*b);
    });
    RC_ASSERT(heap_.start_first() == expected);
    leave(*expected);
  }
  void empty() {
    while (!inside_.empty()) start();
    RC_ASSERT(heap_.empty());
  }

 private:
  void add(const Operation& operation) {
    if (outside_.empty()) return;
    Cpu& cpu = *outside_[operation.cpu % outside_.size()];
    cpu.set_time(operation.cycles << kTickShift, (operation.cycles + 1) << kTickShift);
    cpu.asked_ticks = operation.asked;
    heap_.add(cpu);
    std::erase(outside_, &cpu);
    inside_.push_back(&cpu);
  }
  void leave(Cpu& cpu) {
    std::erase(inside_, &cpu);
    outside_.push_back(&cpu);
  }

  std::vector<std::unique_ptr<Cpu>> cpus_;
  std::vector<Cpu*> inside_, outside_;
  Ordering heap_{Cycles(1000)};
};

TEST(OrderingProperty, HeapStartsEarliestCpu) {
  check_property(50, [] {
    HeapAndModel both;
    for (const Operation& operation : *steps(HeapAndModel::kCpus, draw_add)) both.apply(operation);
    for (const Operation& operation : *steps(100, draw)) both.apply(operation);
    both.empty();
  });
}

}  // namespace
}  // namespace elision::vm
