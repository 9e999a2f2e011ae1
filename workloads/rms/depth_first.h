// SPDX-License-Identifier: Apache-2.0
// Finds itemsets by a second algorithm, which has neither levels nor a hash tree: depth first over lists of
// baskets. apriori and utilitymine check their results with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "rms/baskets.h"

namespace workloads::rms {

/// Itemsets, each with a number.
using ItemsetNumbers = std::map<Items, double>;

/// Finds each itemset whose baskets together weigh at least `least`.
class DepthFirst {
 public:
  using Tids = std::vector<std::uint32_t>;  // numbers of baskets, in ascending order

  /// `weights`: the weight of each basket.
  DepthFirst(const std::vector<Items>& baskets, const std::vector<double>& weights, std::size_t items,
             double least)
      : weights_(weights), least_(least), baskets_of_(items) {
    for (std::uint32_t tid = 0; tid < baskets.size(); ++tid)
      for (const Item item : baskets[tid]) baskets_of_[static_cast<std::size_t>(item)].push_back(tid);
  }

  /// Calls `visit(items, baskets that have them, their weight)` for each itemset.
  template <class Visit>
  void run(Visit visit) const {
    Tids all(weights_.size());
    for (std::uint32_t tid = 0; tid < all.size(); ++tid) all[tid] = tid;
    Items items;
    extend(items, all, visit);
  }

 private:
  template <class Visit>
  void extend(Items& items, const Tids& tids, Visit& visit) const {
    const Item first = items.empty() ? 0 : items.back() + 1;
    for (Item item = first; static_cast<std::size_t>(item) < baskets_of_.size(); ++item) {
      const Tids both = common(tids, baskets_of_[static_cast<std::size_t>(item)]);
      double weight = 0;
      for (const std::uint32_t tid : both) weight += weights_[tid];
      if (weight < least_ || both.empty()) continue;
      items.push_back(item);
      visit(std::as_const(items), both, weight);
      extend(items, both, visit);
      items.pop_back();
    }
  }

  static Tids common(const Tids& a, const Tids& b) {
    Tids both;
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
      if (a[i] == b[j]) both.push_back(a[i]);
      const bool next_of_a = a[i] <= b[j], next_of_b = b[j] <= a[i];
      i += next_of_a ? 1 : 0;
      j += next_of_b ? 1 : 0;
    }
    return both;
  }

  const std::vector<double>& weights_;
  const double least_;
  std::vector<Tids> baskets_of_;
};

}  // namespace workloads::rms
