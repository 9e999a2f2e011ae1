// SPDX-License-Identifier: Apache-2.0
// The branch predictor of one CPU. Translated code predicts biased branches inline, and calls the predictor
// for the others.
//
// A conditional branch that went the same way kSure times in a row is biased: it is predicted to go that way
// again, which costs translated code one comparison. All others share a table of two-bit counters, indexed by
// the branch and by the directions of the last unbiased branches (the filter of Chang, Evers and Patt, PACT
// 1996, in front of McFarling's gshare; DEC WRL TN-36, 1993). An indirect jump or call is predicted to go to
// its last target after the same targets. Returns count as always predicted. As in a real CPU, an abort does
// not undo the predictor. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elision::machine {

/// Made in zeroed memory. Translated code knows the offsets of `bias`, `path` and `target`.
struct BranchPredictor {
  static constexpr std::uint32_t kBranches = 4096;
  static constexpr std::uint32_t kPatterns = 16384;
  static constexpr std::uint32_t kHistoryBits = 12;
  static constexpr std::uint32_t kTargets = 1024;
  static constexpr unsigned kPathShift = 3;
  static_assert(kBranches * 4 == kPatterns && 1u << kHistoryBits <= kPatterns);
  static constexpr std::uint8_t kSure = 16;
  static constexpr std::uint8_t kNotTaken = 0x80;

  /// The `bias` of a biased branch.
  static constexpr std::uint8_t sure(bool taken) {
    return static_cast<std::uint8_t>(kSure | (taken ? 0 : kNotTaken));
  }
  static constexpr std::uint32_t branch_at(std::uint64_t pc) {
    return static_cast<std::uint32_t>(pc ^ pc >> 12) % kBranches;
  }
  static constexpr std::uint32_t site_at(std::uint64_t pc) {
    return static_cast<std::uint32_t>(pc ^ pc >> 10) % kTargets;
  }

  std::uint32_t history;  // of unbiased branches, the last one in bit 0; a 1 is taken
  std::uint32_t path;     // of targets
  std::uint64_t mispredictions;
  std::uint8_t bias[kBranches];     // how many times in a row it went the same way, and which way
  std::uint8_t pattern[kPatterns];  // two-bit counters, with kWrong
  std::uint32_t target[2 * kTargets];
  // The next value of a bias and of a counter, indexed by twice the old value, plus 1 if the branch is taken.
  std::uint8_t next_bias[512];
  std::uint8_t next_counter[2 * (0x40 + 4)];
  static constexpr std::uint8_t kWrong = 0x40;  // in a next value: the prediction was wrong

  /// Builds the tables.
  void prepare() {
    for (unsigned before = 0; before < 256; ++before)
      for (unsigned taken = 0; taken < 2; ++taken)
        next_bias[2 * before + taken] = bias_after(before, taken != 0);
    for (unsigned counter = 0; counter < 4; ++counter) {
      const auto down =
          static_cast<std::uint8_t>((counter > 0 ? counter - 1 : 0) | (counter >= 2 ? kWrong : 0));
      const auto up =
          static_cast<std::uint8_t>((counter < 3 ? counter + 1 : 3) | (counter >= 2 ? 0 : kWrong));
      for (unsigned before = counter; before <= (counter | kWrong); before += kWrong) {
        next_counter[2 * before] = down;
        next_counter[2 * before + 1] = up;
      }
    }
  }

  /// A branch went `taken`, and is not biased that way. True if it was mispredicted. (stubs.S has a copy of
  /// this.)
  bool resolve(std::uint32_t branch, bool taken) {
    const std::uint8_t run = next_bias[2 * bias[branch] + taken];
    bias[branch] = run & ~kWrong;
    if (run & kWrong) return true;
    std::uint8_t& counter = pattern[branch * 4 ^ history];
    counter = next_counter[2 * counter + taken];
    history = (history << 1 | (taken ? 1 : 0)) & ((1u << kHistoryBits) - 1);
    return counter & kWrong;
  }

  /// An indirect jump or call at `site` goes to `to`. True if it was mispredicted. (Translated code has a
  /// copy of this.)
  bool resolve_indirect(std::uint32_t site, std::uint64_t to) {
    std::uint32_t& predicted = target[site + path % kTargets];
    const bool wrong = predicted != static_cast<std::uint32_t>(to);
    predicted = static_cast<std::uint32_t>(to);
    path = path << kPathShift ^ static_cast<std::uint32_t>(to) >> 2;
    return wrong;
  }

 private:
  static constexpr std::uint8_t bias_after(unsigned before, bool taken) {
    const unsigned way = taken ? 0 : kNotTaken, run = before & ~unsigned{kNotTaken};
    const bool same_way = before != 0 && (before & kNotTaken) == way;
    // A biased branch comes here only when it goes the other way.
    return static_cast<std::uint8_t>((same_way && run < kSure ? run + 1 : 1) | way |
                                     (run == kSure ? kWrong : 0));
  }
};

}  // namespace elision::machine
