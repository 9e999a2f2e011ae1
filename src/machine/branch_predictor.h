// SPDX-License-Identifier: Apache-2.0
// The branch predictor of one CPU: translated code asks it inline about branches that always go the same way,
// and by a call about the others.
//
// A conditional branch that went the same way kSure times in a row is biased: it is predicted to go on so,
// and costs translated code one comparison. All others share a table of two-bit counters, found by the branch
// and by what the last unbiased branches did (the filter of Chang, Evers and Patt, PACT 1996, in front of
// McFarling's gshare; DEC WRL TN-36, 1993). An indirect jump or call is predicted to go where it went when
// the targets before it were the same. Returns are taken to be predicted. Like a real one it is not undone by
// an abort. Freestanding.
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
  static constexpr std::uint8_t kSure = 16;
  static constexpr std::uint8_t kNotTaken = 0x80;

  /// What `bias` of a branch is that goes this way for sure.
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
  std::uint8_t bias[kBranches];  // how often in a row it went the same way, and which
  std::uint8_t pattern[kPatterns];
  std::uint32_t target[2 * kTargets];

  /// A branch went `taken`, and is not biased that way. True if it was predicted otherwise.
  bool resolve(std::uint32_t branch, bool taken) {
    std::uint8_t& before = bias[branch];
    const std::uint8_t way = taken ? 0 : kNotTaken;
    const bool was_sure = (before & ~kNotTaken) == kSure;
    const bool same_way = before != 0 && (before & kNotTaken) == way;
    before = static_cast<std::uint8_t>((same_way ? before & ~kNotTaken : 0) + 1) | way;
    if (was_sure) return true;  // the other way: else nobody would have asked
    std::uint8_t& counter = pattern[(branch * 4 ^ history) % kPatterns];
    const bool predicted = counter >= 2;
    if (taken && counter < 3) ++counter;
    if (!taken && counter > 0) --counter;
    history = (history << 1 | (taken ? 1 : 0)) & ((1u << kHistoryBits) - 1);
    return predicted != taken;
  }

  /// An indirect jump or call at `site` goes to `to`. True if it was predicted otherwise. (Translated code
  /// does the same inline.)
  bool resolve_indirect(std::uint32_t site, std::uint64_t to) {
    std::uint32_t& predicted = target[site + path % kTargets];
    const bool wrong = predicted != static_cast<std::uint32_t>(to);
    predicted = static_cast<std::uint32_t>(to);
    path = path << kPathShift ^ static_cast<std::uint32_t>(to) >> 2;
    return wrong;
  }
};

}  // namespace elision::machine
