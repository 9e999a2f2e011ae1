// SPDX-License-Identifier: Apache-2.0
// A commit, even of an empty transaction, orders memory like a locked instruction. (That XBEGIN is not a
// fence cannot be observed: without a fence, reordering may also just not happen.)
//
// Store buffering: two threads each store to a word, run an empty transaction, and load the other's word.
// They must not both load zero. On silicon, and seldom in the virtual machine, that happens without the
// transaction.
#include "rtm_rules.h"

namespace {

using namespace rules;

constexpr int kRounds = 3000;

Page x, y, rounds[2];
volatile std::uint64_t loaded[2][kRounds];

[[gnu::always_inline]] inline void commit_something(volatile std::uint64_t* written) {
  for (;;) {
    if (!Rtm::begin().started()) continue;
    if (written != nullptr) *written = 1;
    Rtm::commit();
    return;
  }
}

/// One side of all rounds; `store_inside` moves the store into the transaction.
void side(unsigned me, bool store_inside) {
  volatile std::uint64_t& mine = me == 0 ? x.word[0] : y.word[0];
  volatile std::uint64_t& others = me == 0 ? y.word[0] : x.word[0];
  for (int round = 0; round < kRounds; ++round) {
    // Both synchronise twice per round: to clear the words, and to begin together.
    const auto meet = [me](std::uint64_t at) {
      asm volatile("mfence" ::: "memory");
      rounds[me].word[0] = at;
      while (rounds[1 - me].word[0] < at) relax();
    };
    mine = 0;
    meet(2 * static_cast<std::uint64_t>(round) + 1);
    if (store_inside) {
      commit_something(&mine);
    } else {
      mine = 1;
      commit_something(nullptr);
    }
    loaded[me][round] = others;
    meet(2 * static_cast<std::uint64_t>(round) + 2);
  }
}

const char* store_buffering(bool store_inside) {
  rounds[0].word[0] = 0;
  rounds[1].word[0] = 0;
  std::thread second(side, 1, store_inside);
  side(0, store_inside);
  second.join();
  for (int round = 0; round < kRounds; ++round)
    if (loaded[0][round] == 0 && loaded[1][round] == 0) return seen("both loaded 0 in round %d", round);
  return nullptr;
}

const Case kCases[] = {
    {"an empty commit orders a store before a load", "17.3.6", Where::kTwoCpus,
     [] { return store_buffering(false); }},
    {"a commit orders its own stores before a load", "17.3.6", Where::kTwoCpus,
     [] { return store_buffering(true); }},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
