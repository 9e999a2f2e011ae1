// SPDX-License-Identifier: Apache-2.0
// The hash tree of candidates that apriori and utilitymine share (Agrawal and Srikant, VLDB 1994; its
// parallel form CCPD, Zaki et al., Supercomputing 1996).
//
// An inner node of depth d has a child for each hash of an itemset's item d; a leaf has a list of itemsets.
// An insertion runs these sections, each under the mutex of a node:
//
//   makes a missing child                     allocates a node with its table of children
//   appends the itemset to a leaf's list      allocates an element; splits a leaf that overflows: appends
//                                             each of its itemsets to a child, in a section inside of this
//                                             one, and that child may split in turn
//   counts the itemset, under the tree's mutex
//
// Memory comes from malloc, also inside of sections.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "rms/baskets.h"
#include "rms/locks.h"
#include "rms/workers.h"

namespace workloads::rms {

/// A candidate, or a frequent itemset. As in the original, its items are a heap object of their own.
struct Itemset {
  explicit Itemset(Items given) : items(std::move(given)) {}

  Items items;
  std::size_t number = 0;       // among the candidates of its level
  double weighted_utility = 0;  // the utility of all baskets that have it
  double utility = 0;           // the utility of the itemset in these baskets
  std::uint64_t support = 0;    // how many baskets have it
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};

/// The items of a basket, as a list and as flags.
class BasketView {
 public:
  explicit BasketView(std::size_t items) : flags_(items) {}

  void set(const Items& items) {
    for (const Item item : items_) flags_[static_cast<std::size_t>(item)] = 0;
    items_ = items;
    for (const Item item : items_) flags_[static_cast<std::size_t>(item)] = 1;
  }
  std::size_t size() const { return items_.size(); }
  Item operator[](std::size_t at) const { return items_[at]; }
  bool has(const Items& items) const {
    return std::all_of(items.begin(), items.end(),
                       [this](Item item) { return flags_[static_cast<std::size_t>(item)] != 0; });
  }

 private:
  std::vector<char> flags_;
  Items items_;
};

class CandidateTree {
 public:
  /// `level`: the number of items of each itemset. `expected`: about how many itemsets threads will insert.
  /// `leaf_size`: how many itemsets a leaf has before it splits.
  CandidateTree(std::size_t level, std::size_t expected, std::size_t leaf_size)
      : level_(level), fanout_(fanout_for(level, expected, leaf_size)), leaf_size_(leaf_size) {
    root_ = new Node(0, *this);
  }
  ~CandidateTree() { remove(root_); }
  CandidateTree(const CandidateTree&) = delete;
  CandidateTree& operator=(const CandidateTree&) = delete;

  /// The tree does not own the itemset.
  void insert(Sections& sections, Itemset& itemset) {
    add(sections, root_, itemset);
    sections.run(count_mutex_, [this] { ++count_; });
  }
  std::uint64_t count() const { return count_; }

  /// Calls `visit(itemset)` for each itemset. For one thread, while no thread inserts.
  template <class Visit>
  void for_each(Visit visit) const {
    for_each_below(*root_, visit);
  }

  /// Calls `visit(itemset)` for each itemset that `basket` has. Call it while no thread inserts.
  template <class Visit>
  void for_each_in(const BasketView& basket, Visit visit) const {
    if (basket.size() >= level_) visit_below(*root_, basket, 0, visit);
  }

 private:
  struct Element {
    Itemset* itemset;
    Element* next;
  };
  struct Node {
    /// Clears the table of children with atomic stores, because memset() may use AVX, whose VZEROUPPER aborts
    /// transactions of some CPUs. The C libraries of the paper's time did not.
    Node(std::size_t depth_, const CandidateTree& tree)
        : depth(depth_), most(tree.leaf_size_), children(allocate_table(tree.fanout_)) {
      for (std::size_t i = 0; i < tree.fanout_; ++i) set_child(i, nullptr, std::memory_order_relaxed);
    }
    ~Node() { std::free(children); }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    Node* child(std::size_t i, std::memory_order order) const {
      return std::atomic_ref(children[i]).load(order);
    }
    void set_child(std::size_t i, Node* node, std::memory_order order) {
      std::atomic_ref(children[i]).store(node, order);
    }

    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<bool> is_leaf{true};
    const std::size_t depth;
    std::size_t most, size = 0;  // itemsets of a leaf
    Element *first = nullptr, *last = nullptr;
    Node** const children;

   private:
    static Node** allocate_table(std::size_t size) {
      void* const memory = std::malloc(size * sizeof(Node*));
      if (memory == nullptr) std::abort();
      return static_cast<Node**>(memory);
    }
  };

  static constexpr std::size_t kMostFanout = 64;  // visit_below() has a bit for each

  static std::size_t fanout_for(std::size_t level, std::size_t expected, std::size_t leaf_size) {
    const double leaves = static_cast<double>(expected) / static_cast<double>(leaf_size);
    const double fanout = std::ceil(std::pow(leaves, 1.0 / static_cast<double>(level)));
    return std::clamp<std::size_t>(static_cast<std::size_t>(fanout), 1, kMostFanout);
  }

  std::size_t hash(Item item) const { return static_cast<std::size_t>(item) % fanout_; }

  void add(Sections& sections, Node* node, Itemset& itemset) {
    for (;;) {
      while (!node->is_leaf.load(std::memory_order_acquire)) node = child(sections, *node, itemset);
      bool added = false;
      sections.run(node->mutex, [&] {
        added = node->is_leaf.load(std::memory_order_relaxed);  // another thread may have split it
        if (!added) return;
        append(*node, itemset);
        if (node->size > node->most) overflow(sections, *node);
      });
      if (added) return;
    }
  }

  Node* child(Sections& sections, Node& node, const Itemset& itemset) {
    const std::size_t at = hash(itemset.items[node.depth]);
    Node* found = node.child(at, std::memory_order_acquire);
    if (found != nullptr) return found;
    sections.run(node.mutex, [&] {
      found = node.child(at, std::memory_order_relaxed);
      if (found != nullptr) return;
      found = new Node(node.depth + 1, *this);
      node.set_child(at, found, std::memory_order_release);
    });
    return found;
  }

  static void append(Node& leaf, Itemset& itemset) {
    Element* const element = new Element{&itemset, nullptr};
    (leaf.last == nullptr ? leaf.first : leaf.last->next) = element;
    leaf.last = element;
    ++leaf.size;
  }

  void overflow(Sections& sections, Node& leaf) {
    if (leaf.depth >= level_) {  // no item is left to hash
      ++leaf.most;
      return;
    }
    for (Element* element = leaf.first; element != nullptr;) {
      Itemset& itemset = *element->itemset;
      const std::size_t at = hash(itemset.items[leaf.depth]);
      if (leaf.child(at, std::memory_order_relaxed) == nullptr)
        leaf.set_child(at, new Node(leaf.depth + 1, *this), std::memory_order_relaxed);
      add(sections, leaf.child(at, std::memory_order_relaxed), itemset);
      delete std::exchange(element, element->next);
    }
    leaf.first = leaf.last = nullptr;
    leaf.size = 0;
    leaf.is_leaf.store(false, std::memory_order_release);
  }

  template <class Visit>
  void for_each_below(const Node& node, Visit& visit) const {
    for (const Element* element = node.first; element != nullptr; element = element->next)
      visit(*element->itemset);
    for (std::size_t i = 0; i < fanout_; ++i)
      if (const Node* const next = node.child(i, std::memory_order_relaxed)) for_each_below(*next, visit);
  }

  /// A child is visited once, from the first item with its hash: any later item with that hash would reach
  /// the same itemsets.
  template <class Visit>
  void visit_below(const Node& node, const BasketView& basket, std::size_t from, Visit& visit) const {
    if (node.is_leaf.load(std::memory_order_relaxed)) {
      for (const Element* element = node.first; element != nullptr; element = element->next)
        if (basket.has(element->itemset->items)) visit(*element->itemset);
      return;
    }
    std::uint64_t visited = 0;
    for (std::size_t i = from; i + level_ - node.depth <= basket.size(); ++i) {
      const std::size_t at = hash(basket[i]);
      const Node* const next = node.child(at, std::memory_order_relaxed);
      if (next == nullptr || (visited >> at & 1) != 0) continue;
      visited |= std::uint64_t{1} << at;
      visit_below(*next, basket, i + 1, visit);
    }
  }

  void remove(Node* node) {
    for (std::size_t i = 0; i < fanout_; ++i)
      if (Node* const next = node->child(i, std::memory_order_relaxed)) remove(next);
    for (Element* element = node->first; element != nullptr;) delete std::exchange(element, element->next);
    delete node;
  }

  const std::size_t level_, fanout_, leaf_size_;
  Node* root_;
  alignas(64) pthread_mutex_t count_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::uint64_t count_ = 0;
};

}  // namespace workloads::rms
