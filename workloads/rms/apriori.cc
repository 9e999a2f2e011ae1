// SPDX-License-Identifier: Apache-2.0
// Apriori (RMS-TM, from MineBench): itemsets that are in many baskets, level by level. Written from the
// descriptions of the suite (Kestor et al., ICPE 2011) and of the algorithm (Agrawal and Srikant, VLDB 1994).
//
// Threads count pairs of items, each thread for its own baskets in its own counters; one thread adds these
// up. For each further level, threads insert candidates into one hash tree, and count them for their own
// baskets in their own counters. So sections are insertions into the tree only: candidate_tree.h.
//
// Defaults are the published arguments for the small input; the minimum support is a share of the baskets.
// Afterwards itemsets and their supports must be those of a second algorithm (depth_first.h): else
// "WRONG ..." and exit code 1.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "command_line.h"
#include "rms/baskets.h"
#include "rms/candidate_tree.h"
#include "rms/depth_first.h"
#include "rms/levels.h"
#include "rms/mining.h"
#include "rms/workers.h"

namespace workloads::rms {
namespace {

class Apriori {
 public:
  Apriori(const MiningOptions& options, const std::vector<Items>& baskets, unsigned threads)
      : items_(options.baskets.items),
        least_(least_support(options)),
        baskets_(baskets),
        counters_(threads),
        levels_(threads, options.leaf) {}

  /// How many baskets must have a frequent itemset.
  static std::uint64_t least_support(const MiningOptions& options) {
    return static_cast<std::uint64_t>(std::max(1.0, std::ceil(options.share * options.baskets.baskets)));
  }

  /// What each thread does.
  void work(Worker& worker) {
    count_pairs(worker);
    worker.alone([&] { levels_.end_level(frequent_pairs(worker)); });
    while (levels_.has_next()) {
      levels_.insert_candidates(worker);
      worker.alone([&] { number_candidates(); });
      count_candidates(worker);
      worker.alone([&] { levels_.end_level(frequent_candidates()); });
    }
  }

  const Itemsets& frequent() const { return levels_.all(); }
  std::size_t candidates() const { return candidates_; }
  /// Whether trees had as many itemsets as they had counted.
  bool is_counted() const { return is_counted_; }

 private:
  using Counters = std::vector<std::uint32_t>;

  /// Of the pairs with `first`, the place of the one with item 0 would be here.
  std::size_t pairs_of(std::size_t first) const { return first * (2 * items_ - first - 1) / 2 - first - 1; }

  void count_pairs(const Worker& worker) {
    Counters& counters = counters_[worker.index];
    counters.assign(items_ * (items_ - 1) / 2, 0);
    const Share share = worker.share(baskets_.size());
    for (std::size_t basket = share.begin; basket < share.end; ++basket) {
      const Items& items = baskets_[basket];
      for (std::size_t i = 0; i < items.size(); ++i) {
        const std::size_t pairs = pairs_of(static_cast<std::size_t>(items[i]));
        for (std::size_t j = i + 1; j < items.size(); ++j)
          ++counters[pairs + static_cast<std::size_t>(items[j])];
      }
    }
  }

  std::uint64_t sum(std::size_t at) const {
    std::uint64_t sum = 0;
    for (const Counters& counters : counters_) sum += counters[at];
    return sum;
  }

  Itemsets frequent_pairs(const Worker& worker) {
    Itemsets frequent;
    for (std::size_t i = 0; i < items_; ++i) {
      for (std::size_t j = i + 1; j < items_; ++j) {
        const std::uint64_t support = sum(pairs_of(i) + j);
        if (support < least_) continue;
        frequent.push_back(&levels_.make(worker, {static_cast<Item>(i), static_cast<Item>(j)}));
        frequent.back()->support = support;
      }
    }
    return frequent;
  }

  void number_candidates() {
    std::size_t number = 0;
    levels_.tree().for_each([&](Itemset& itemset) { itemset.number = number++; });
    is_counted_ = is_counted_ && number == levels_.tree().count();
    numbered_ = number;
    candidates_ += number;
  }

  void count_candidates(const Worker& worker) {
    Counters& counters = counters_[worker.index];
    counters.assign(numbered_, 0);
    BasketView view(items_);
    const Share share = worker.share(baskets_.size());
    for (std::size_t basket = share.begin; basket < share.end; ++basket) {
      view.set(baskets_[basket]);
      levels_.tree().for_each_in(view, [&](const Itemset& itemset) { ++counters[itemset.number]; });
    }
  }

  Itemsets frequent_candidates() {
    Itemsets frequent;
    levels_.tree().for_each([&](Itemset& itemset) {
      itemset.support = sum(itemset.number);
      if (itemset.support >= least_) frequent.push_back(&itemset);
    });
    return frequent;
  }

  const std::size_t items_;
  const std::uint64_t least_;
  const std::vector<Items>& baskets_;
  std::vector<Counters> counters_;  // by thread
  Levels levels_;
  std::size_t numbered_ = 0, candidates_ = 0;
  bool is_counted_ = true;
};

/// Frequent itemsets of two and more items, with their supports.
ItemsetNumbers expected(const MiningOptions& options, const std::vector<Items>& baskets) {
  const std::vector<double> weights(baskets.size(), 1.0);
  ItemsetNumbers found;
  DepthFirst(baskets, weights, options.baskets.items, static_cast<double>(Apriori::least_support(options)))
      .run([&](const Items& items, const DepthFirst::Tids&, double support) {
        if (items.size() > 1) found.emplace(items, support);
      });
  return found;
}

int run(const MiningOptions& options) {
  const std::vector<Items> baskets = draw_baskets(options.baskets, options.team.seed);
  const ItemsetNumbers right = expected(options, baskets);
  Apriori apriori(options, baskets, options.team.threads);
  run_together(options.team, "baskets", baskets.size(), [&](Worker& worker) { apriori.work(worker); });
  ItemsetNumbers found;
  for (const Itemset* itemset : apriori.frequent())
    found.emplace(itemset->items, static_cast<double>(itemset->support));
  if (found.size() != apriori.frequent().size()) return exit_code_if_wrong("itemsets");  // one found twice
  return report(found, right, apriori.candidates(), apriori.is_counted());
}

}  // namespace
}  // namespace workloads::rms

int main(int argc, char** argv) {
  using namespace workloads;
  rms::MiningOptions options;
  options.share = 0.0075;
  CommandLine line("apriori", "RMS-TM's Apriori: itemsets that many baskets have");
  rms::add_mining_options(line, options);
  line.add("--support", options.share, "least share of the baskets").within_real(1e-6, 1);
  if (const auto code = line.parse(argc, argv)) return *code;
  return rms::run(options);
}
