// SPDX-License-Identifier: Apache-2.0
// A profile of a family of proteins, and the score of a sequence against it.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <vector>

#include "support.h"

namespace workloads::rms {

inline constexpr char kResidues[] = "ACDEFGHIKLMNPQRSTVWY";
inline constexpr std::size_t kResidueCount = sizeof kResidues - 1;

/// A profile of match, insert and delete states, with scores of residues and steps. A path may begin and
/// end at any match state. The residues before and after the path score nothing.
class Profile {
 public:
  Profile(std::size_t states, CheapRandom& random) : matches_(states) {
    for (auto& match : matches_) {
      for (int& score : match) score = -1500 - static_cast<int>(random.below(1000));
      match[random.below(kResidueCount)] = 2500 + static_cast<int>(random.below(1000));
    }
  }

  std::size_t states() const { return matches_.size(); }
  std::size_t best_residue(std::size_t state) const {
    const auto& match = matches_[state];
    return static_cast<std::size_t>(std::max_element(match.begin(), match.end()) - match.begin());
  }
  /// Returns the score of the path through all match states with their best residues.
  int best_score() const {
    int sum = kBegin + kEnd + static_cast<int>(matches_.size() - 1) * kMatchMatch;
    for (std::size_t state = 0; state < states(); ++state) sum += matches_[state][best_residue(state)];
    return sum;
  }

  /// Returns the best path's score (Viterbi). Computes one row of states for each residue.
  int score(const unsigned char* residues, std::size_t length) const {
    std::vector<Row> rows(states() + 1, Row{kNever, kNever, kNever});
    int best = kNever;
    for (std::size_t i = 0; i < length; ++i) {
      Row diagonal = rows[0];  // the states of the residue before, one state before
      for (std::size_t k = 1; k <= states(); ++k) {
        const Row above = rows[k], left = rows[k - 1];
        Row& here = rows[k];
        here.match = matches_[k - 1][residues[i]] +
                     std::max(std::max(kBegin, diagonal.match + kMatchMatch),
                              std::max(diagonal.insert + kInsertMatch, diagonal.remove + kDeleteMatch));
        here.insert = std::max(above.match + kMatchInsert, above.insert + kInsertInsert);
        here.remove = std::max(left.match + kMatchDelete, left.remove + kDeleteDelete);
        best = std::max(best, here.match + kEnd);
        diagonal = above;
      }
    }
    return best;
  }

 private:
  struct Row {
    int match, insert, remove;
  };
  static constexpr int kNever = INT_MIN / 4;
  static constexpr int kBegin = -4000, kEnd = -1000;
  static constexpr int kMatchMatch = -50, kMatchInsert = -6000, kMatchDelete = -6500;
  static constexpr int kInsertMatch = -800, kInsertInsert = -1200, kDeleteMatch = -700, kDeleteDelete = -1300;

  std::vector<std::array<int, kResidueCount>> matches_;
};

}  // namespace workloads::rms
