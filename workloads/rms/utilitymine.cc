// SPDX-License-Identifier: Apache-2.0
// UtilityMine (RMS-TM, from MineBench): itemsets whose items earned much in the baskets that have them all.
// Written from the descriptions of the suite (Kestor et al., ICPE 2011) and of the algorithm in two phases
// (Liu, Liao, Choudhary: "A Two-Phase Algorithm for Fast Discovery of High Utility Itemsets", PAKDD 2005).
//
// An item of a basket has a quantity, an item has a profit. Threads read their own baskets from a file, once
// for each pass and outside of sections. The first phase finds itemsets of which the baskets that have them
// earned enough; the second adds up what the itemset itself earned there. Sections:
//
//   a pair of a basket's items      looks for the second item in the list of the first, and adds what the
//                                   basket earned, or appends an element, for which the list may grow by
//                                   realloc; reads half of a list of elements of 16 bytes, writes one
//   a candidate into the hash tree  candidate_tree.h
//   a candidate that a basket has   adds what the basket earned: reads and writes one number
//   an item of an itemset that a basket has, in the second phase: adds what the item earned
//
// Fine-grained locks: a mutex for each item's list, each node of the tree and each itemset.
//
// Profits and quantities are integers, so sums are exact in any order. Afterwards itemsets and utilities must
// be those of a second algorithm (depth_first.h): else "WRONG ..." and exit code 1.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "command_line.h"
#include "rms/baskets.h"
#include "rms/candidate_tree.h"
#include "rms/depth_first.h"
#include "rms/levels.h"
#include "rms/mining.h"
#include "rms/shop.h"
#include "rms/workers.h"

namespace workloads::rms {
namespace {

/// The pairs with one first item.
class PairList {
 public:
  struct Element {
    Item second;
    double weighted_utility;
  };

  PairList() = default;
  ~PairList() { std::free(elements_); }
  PairList(const PairList&) = delete;
  PairList& operator=(const PairList&) = delete;

  /// As in the original, space for all items but at most 1000.
  void reserve(std::size_t items) { step_ = std::min<std::size_t>(items, 1000), grow(); }

  void add(Item second, double utility) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (elements_[i].second != second) continue;
      elements_[i].weighted_utility += utility;
      return;
    }
    if (size_ == capacity_) grow();
    elements_[size_++] = {second, utility};
  }

  const Element* begin() const { return elements_; }
  const Element* end() const { return elements_ + size_; }

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

 private:
  void grow() {
    capacity_ += step_;
    void* const memory = std::realloc(elements_, capacity_ * sizeof(Element));
    if (memory == nullptr) std::abort();
    elements_ = static_cast<Element*>(memory);
  }

  Element* elements_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0, step_ = 0;
};

class UtilityMine {
 public:
  UtilityMine(const MiningOptions& options, const Shop& shop, const BasketFile& file, unsigned threads)
      : options_(options),
        shop_(shop),
        file_(file),
        utilities_(shop.baskets.size()),
        local_item_utilities_(threads),
        pairs_(options.baskets.items),
        levels_(threads, options.leaf) {}

  /// What each thread does.
  void work(Worker& worker) {
    add_up_baskets(worker);
    worker.alone([&] { begin_pairs(); });
    add_pairs(worker);
    worker.alone([&] { levels_.end_level(pairs_with_enough(worker)); });
    while (levels_.has_next()) {
      levels_.insert_candidates(worker);
      worker.barrier.wait();
      add_candidates(worker);
      worker.alone([&] { levels_.end_level(candidates_with_enough()); });
    }
    worker.alone([&] { begin_second_phase(worker); });
    add_utilities(worker);
  }

  /// Itemsets of two and more items with enough utility, or one item, after the work.
  ItemsetNumbers found() const {
    ItemsetNumbers found;
    for (const Itemset* itemset : candidates_)
      if (itemset->utility >= least_) found.emplace(itemset->items, itemset->utility);
    return found;
  }
  std::size_t candidates() const { return candidates_.size(); }
  /// Whether trees had as many itemsets as they had counted.
  bool is_counted() const { return is_counted_; }

 private:
  /// What baskets earned, and for each item what the baskets with it earned.
  void add_up_baskets(const Worker& worker) {
    std::vector<double>& by_item = local_item_utilities_[worker.index];
    by_item.assign(shop_.profits.size(), 0);
    file_.read(worker.share(utilities_.size()), [&](std::size_t basket, const std::vector<Sale>& sales) {
      utilities_[basket] = shop_.earned(sales);
      for (const Sale& sale : sales) by_item[static_cast<std::size_t>(sale.item)] += utilities_[basket];
    });
  }

  void begin_pairs() {
    double total = 0;
    for (const double utility : utilities_) total += utility;
    least_ = options_.share * total;
    item_utilities_.assign(shop_.profits.size(), 0);
    for (const std::vector<double>& by_item : local_item_utilities_)
      for (std::size_t item = 0; item < by_item.size(); ++item) item_utilities_[item] += by_item[item];
    for (PairList& list : pairs_) list.reserve(pairs_.size());
  }

  bool has_enough(Item item) const { return item_utilities_[static_cast<std::size_t>(item)] >= least_; }

  void add_pairs(Worker& worker) {
    file_.read(worker.share(utilities_.size()), [&](std::size_t basket, const std::vector<Sale>& sales) {
      for (std::size_t i = 0; i < sales.size(); ++i) {
        if (!has_enough(sales[i].item)) continue;
        PairList& list = pairs_[static_cast<std::size_t>(sales[i].item)];
        for (std::size_t j = i + 1; j < sales.size(); ++j) {
          if (!has_enough(sales[j].item)) continue;
          worker.sections.run(list.mutex, [&] { list.add(sales[j].item, utilities_[basket]); });
        }
      }
    });
  }

  Itemsets pairs_with_enough(const Worker& worker) {
    Itemsets enough;
    for (std::size_t first = 0; first < pairs_.size(); ++first) {
      for (const PairList::Element& element : pairs_[first]) {
        if (element.weighted_utility < least_) continue;
        enough.push_back(&levels_.make(worker, {static_cast<Item>(first), element.second}));
      }
    }
    return enough;
  }

  void add_candidates(Worker& worker) {
    BasketView view(shop_.profits.size());
    Items items;
    file_.read(worker.share(utilities_.size()), [&](std::size_t basket, const std::vector<Sale>& sales) {
      set_items(view, items, sales);
      levels_.tree().for_each_in(view, [&](Itemset& itemset) {
        worker.sections.run(itemset.mutex, [&] { itemset.weighted_utility += utilities_[basket]; });
      });
    });
  }

  static void set_items(BasketView& view, Items& items, const std::vector<Sale>& sales) {
    items.clear();
    for (const Sale& sale : sales) items.push_back(sale.item);
    view.set(items);
  }

  Itemsets candidates_with_enough() {
    Itemsets enough;
    std::uint64_t count = 0;
    levels_.tree().for_each([&](Itemset& itemset) {
      ++count;
      if (itemset.weighted_utility >= least_) enough.push_back(&itemset);
    });
    is_counted_ = is_counted_ && count == levels_.tree().count();
    return enough;
  }

  void begin_second_phase(const Worker& worker) {
    for (std::size_t item = 0; item < item_utilities_.size(); ++item)
      if (has_enough(static_cast<Item>(item)))
        candidates_.push_back(&levels_.make(worker, {static_cast<Item>(item)}));
    candidates_.insert(candidates_.end(), levels_.all().begin(), levels_.all().end());
  }

  void add_utilities(Worker& worker) {
    BasketView view(shop_.profits.size());
    Items items;
    file_.read(worker.share(utilities_.size()), [&](std::size_t, const std::vector<Sale>& sales) {
      set_items(view, items, sales);
      for (Itemset* const itemset : candidates_) {
        if (!view.has(itemset->items)) continue;
        const Sale* sale = sales.data();
        for (const Item item : itemset->items) {
          while (sale->item != item) ++sale;
          const double earned = shop_.earned(*sale);
          worker.sections.run(itemset->mutex, [&] { itemset->utility += earned; });
        }
      }
    });
  }

  const MiningOptions& options_;
  const Shop& shop_;
  const BasketFile& file_;
  double least_ = 0;
  std::vector<double> utilities_;                          // of baskets
  std::vector<std::vector<double>> local_item_utilities_;  // by thread
  std::vector<double> item_utilities_;                     // of the baskets with the item
  std::vector<PairList> pairs_;                            // by first item
  Levels levels_;
  Itemsets candidates_;  // of the second phase
  bool is_counted_ = true;
};

ItemsetNumbers expected(const MiningOptions& options, const Shop& shop) {
  std::vector<double> weights;
  double total = 0;
  for (const std::vector<Sale>& sales : shop.sales) {
    weights.push_back(shop.earned(sales));
    total += weights.back();
  }
  const double least = options.share * total;
  ItemsetNumbers found;
  const auto visit = [&](const Items& items, const DepthFirst::Tids& tids, double) {
    double utility = 0;
    for (const std::uint32_t tid : tids)
      for (const Sale& sale : shop.sales[tid])
        if (std::binary_search(items.begin(), items.end(), sale.item)) utility += shop.earned(sale);
    if (utility >= least) found.emplace(items, utility);
  };
  DepthFirst(shop.baskets, weights, options.baskets.items, least).run(visit);
  return found;
}

int run(const MiningOptions& options) {
  const Shop shop(options.baskets, options.team.seed);
  const BasketFile file(shop);
  const ItemsetNumbers right = expected(options, shop);
  UtilityMine mine(options, shop, file, options.team.threads);
  run_together(options.team, "baskets", shop.baskets.size(), [&](Worker& worker) { mine.work(worker); });
  return report(mine.found(), right, mine.candidates(), mine.is_counted());
}

}  // namespace
}  // namespace workloads::rms

int main(int argc, char** argv) {
  using namespace workloads;
  rms::MiningOptions options;
  options.share = 0.01;
  CommandLine line("utilitymine", "RMS-TM's UtilityMine: itemsets that earned much");
  rms::add_mining_options(line, options);
  line.add("--utility", options.share, "least share of all that was earned").within_real(1e-6, 1);
  if (const auto code = line.parse(argc, argv)) return *code;
  return rms::run(options);
}
