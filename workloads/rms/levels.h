// SPDX-License-Identifier: Apache-2.0
// The levels of apriori and utilitymine: the candidates of level k are joined from the frequent itemsets of
// level k - 1. An itemset is "frequent" if it has enough support (apriori) or weighted utility
// (utilitymine).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "rms/baskets.h"
#include "rms/candidate_tree.h"
#include "rms/workers.h"

namespace workloads::rms {

using Itemsets = std::vector<Itemset*>;

class Levels {
 public:
  Levels(unsigned threads, std::size_t leaf_size) : leaf_size_(leaf_size), made_(threads) {}

  /// Makes an itemset that lives as long as this object.
  Itemset& make(const Worker& worker, Items items) {
    return *made_[worker.index].emplace_back(std::make_unique<Itemset>(std::move(items)));
  }

  /// Takes the frequent itemsets of a level and begins the next level, without candidates. For one thread.
  void end_level(Itemsets frequent) {
    std::sort(frequent.begin(), frequent.end(),
              [](const Itemset* a, const Itemset* b) { return a->items < b->items; });
    frequent_ = std::move(frequent);
    all_.insert(all_.end(), frequent_.begin(), frequent_.end());
    if (frequent_.empty()) return;
    const std::size_t count = frequent_.size();
    tree_ = std::make_unique<CandidateTree>(frequent_.front()->items.size() + 1, count * (count - 1) / 2,
                                            leaf_size_);
  }

  /// Returns whether the next level can have candidates.
  bool has_next() const { return frequent_.size() > 1; }

  /// Each thread joins candidates from its share of the frequent itemsets and inserts them.
  void insert_candidates(Worker& worker) {
    const Share share = worker.share(frequent_.size());
    for (std::size_t a = share.begin; a < share.end; ++a) {
      for (std::size_t b = a + 1; b < frequent_.size() && joins(a, b); ++b) {
        Items items = frequent_[a]->items;
        items.push_back(frequent_[b]->items.back());
        if (is_candidate(items)) tree_->insert(worker.sections, make(worker, std::move(items)));
      }
    }
  }

  const CandidateTree& tree() const { return *tree_; }

  /// Returns the frequent itemsets of all levels.
  const Itemsets& all() const { return all_; }

 private:
  /// Returns whether both itemsets have the same items except for the last one.
  bool joins(std::size_t a, std::size_t b) const {
    const Items &one = frequent_[a]->items, &other = frequent_[b]->items;
    return std::equal(one.begin(), one.end() - 1, other.begin());
  }

  /// Returns whether all subsets with one item less are frequent.
  bool is_candidate(const Items& items) const {
    Items part(items.begin() + 1, items.end());
    for (std::size_t left_out = 0;; ++left_out) {
      if (!is_frequent(part)) return false;
      if (left_out == part.size()) return true;
      part[left_out] = items[left_out];
    }
  }

  bool is_frequent(const Items& items) const {
    const auto found = std::lower_bound(frequent_.begin(), frequent_.end(), items,
                                        [](const Itemset* a, const Items& b) { return a->items < b; });
    return found != frequent_.end() && (*found)->items == items;
  }

  const std::size_t leaf_size_;
  std::vector<std::vector<std::unique_ptr<Itemset>>> made_;  // by thread
  Itemsets frequent_, all_;
  std::unique_ptr<CandidateTree> tree_;
};

}  // namespace workloads::rms
