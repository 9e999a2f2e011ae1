// SPDX-License-Identifier: Apache-2.0
// What store buffers must not show (SDM volume 3A, 8.2): stores that wait behind others for their lines, to
// words that other threads read all the time.
//
// Numbers only grow, so a look too far back is seen at once. Each thread also stores to lines that it seldom
// has, so that its store buffer is not empty.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr std::uint32_t kRounds = 4000;

struct alignas(128) Word {
  std::atomic<std::uint32_t> value{0};
};
Word x, y, gate;

class Cold {
 public:
  explicit Cold(std::uint64_t seed) : state_(seed), lines_(1u << 16) {}
  /// Stores that miss the caches.
  void store() {
    for (int i = 0; i < 3; ++i) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      volatile std::uint64_t& word = lines_[state_ >> 48].word;
      word = state_;
    }
  }

 private:
  struct alignas(64) Line {
    std::uint64_t word = 0;
  };
  std::uint64_t state_;
  std::vector<Line> lines_;
};

void start() { x.value = y.value = gate.value = 0; }
/// All threads begin together.
void meet(std::uint32_t threads) {
  ++gate.value;
  while (gate.value.load() < threads) asm volatile("pause");
}
std::uint32_t load(const Word& word) { return word.value.load(std::memory_order_acquire); }
void store(Word& word, std::uint32_t value) { word.value.store(value, std::memory_order_release); }
void fence() { asm volatile("mfence" : : : "memory"); }

unsigned wrong;

/// One who sees the second store sees the first one, and later what it has seen.
void message_passing() {
  start();
  std::thread writer([] {
    Cold cold(1);
    meet(2);
    for (std::uint32_t i = 1; i <= kRounds; ++i) {
      cold.store();
      store(x, i);
      if (i % 3 == 0) cold.store();
      store(y, i);
    }
  });
  meet(2);
  std::uint32_t last = 0;
  while (last < kRounds) {
    const std::uint32_t flag = load(y), data = load(x), again = load(x);
    wrong += data < flag || again < data || data < last;
    last = again;
    asm volatile("pause");
  }
  writer.join();
}

/// A third thread that sees what the second one stored after it had seen x, sees x.
void causality() {
  start();
  std::thread writer([] {
    Cold cold(2);
    meet(3);
    for (std::uint32_t i = 1; i <= kRounds; ++i) {
      cold.store();
      store(x, i);
    }
  });
  std::thread relay([] {
    Cold cold(3);
    meet(3);
    for (std::uint32_t seen = 0; seen < kRounds;) {
      seen = load(x);
      cold.store();
      store(y, seen);
    }
  });
  meet(3);
  for (std::uint32_t relayed = 0; relayed < kRounds;) {
    relayed = load(y);
    wrong += load(x) < relayed;
    asm volatile("pause");
  }
  writer.join();
  relay.join();
}

/// Store, fence, load: two threads cannot both miss the other's store. A fence is MFENCE or the store itself.
template <bool kExchange>
void store_buffering() {
  start();
  static std::vector<std::uint32_t> seen[2];
  const auto side = [](unsigned me) {
    Word &mine = me == 0 ? x : y, &other = me == 0 ? y : x;
    Cold cold(4 + me);
    std::vector<std::uint32_t> loaded(kRounds + 1);
    meet(2);
    for (std::uint32_t i = 1; i <= kRounds; ++i) {
      cold.store();
      if constexpr (kExchange) {
        mine.value.exchange(i);
      } else {
        store(mine, i);
        fence();
      }
      loaded[i] = load(other);
    }
    seen[me] = std::move(loaded);
  };
  std::thread second(side, 1);
  side(0);
  second.join();
  for (std::uint32_t i = 1; i <= kRounds; ++i) {
    const std::uint32_t missed = seen[0][i] + 1;  // this store of the second thread was not yet visible
    if (missed <= kRounds) wrong += seen[1][missed] < i;
  }
}

/// A lock that a plain store releases.
void exclusion() {
  start();
  static std::uint64_t counters[2][16];
  const auto add = [](unsigned me) {
    Cold cold(6 + me);
    meet(2);
    for (std::uint32_t i = 0; i < kRounds; ++i) {
      while (load(x) != 0 || x.value.exchange(1) != 0) asm volatile("pause");
      ++counters[0][0];
      cold.store();
      ++counters[1][0];
      store(x, 0);
    }
  };
  std::thread second(add, 1);
  add(0);
  second.join();
  wrong += counters[0][0] != 2 * kRounds || counters[1][0] != 2 * kRounds;
}

void run(const char* name, void (*test)()) {
  wrong = 0;
  test();
  std::printf("%s: %u wrong\n", name, wrong);
}

}  // namespace

int main() {
  run("message passing", message_passing);
  run("causality", causality);
  run("store buffering, MFENCE", store_buffering<false>);
  run("store buffering, XCHG", store_buffering<true>);
  run("exclusion", exclusion);
  return 0;
}
