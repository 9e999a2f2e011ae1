// SPDX-License-Identifier: Apache-2.0
// A B+ tree: keys are in leaves, inner nodes have separators. One of the programs of the TxSampler paper
// (Figure 8).
//
// A node has 240 bytes on four or five lines. Sections read a path from the root. An insertion splits each
// full node on its way down and moves the larger keys of its leaf; a removal moves them back and never
// merges nodes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "structures/set_program.h"

namespace workloads::b_plus_tree {

inline constexpr const char* kDescription = "A B+ tree under one lock";

struct Options : structures::SetOptions {
  Options() : SetOptions{.team = {}, .size = 8192, .mutations = 67, .operations = 20000} {}
};

using structures::add_options;
using structures::complaint;
using structures::Key;

class Set {
 public:
  template <class Transaction>
  bool insert(Transaction& transaction, Key key, std::uint32_t) {
    Node* node = root_that_is_not_full(transaction);
    if (node == nullptr) return false;
    while (!transaction.read(node->is_leaf)) {
      const std::uint32_t place = child_of(transaction, node, key);
      Node* child = transaction.read(node->links[place]);
      if (transaction.read(child->number) == kKeys) {
        Node* const right = split(transaction, node, place, child);
        if (right == nullptr) return false;
        if (key >= transaction.read(node->keys[place])) child = right;
      }
      node = child;
    }
    const std::uint32_t place = first_not_below(transaction, node, key),
                        number = transaction.read(node->number);
    if (place < number && transaction.read(node->keys[place]) == key) return false;
    for (std::uint32_t i = number; i > place; --i)
      transaction.write(node->keys[i], transaction.read(node->keys[i - 1]));
    transaction.write(node->keys[place], key);
    transaction.write(node->number, number + 1);
    return true;
  }

  template <class Transaction>
  bool contains(Transaction& transaction, Key key) {
    std::uint32_t place = 0;
    return find(transaction, key, place) != nullptr;
  }

  template <class Transaction>
  bool erase(Transaction& transaction, Key key) {
    std::uint32_t place = 0;
    Node* const leaf = find(transaction, key, place);
    if (leaf == nullptr) return false;
    const std::uint32_t number = transaction.read(leaf->number) - 1;
    for (; place < number; ++place)
      transaction.write(leaf->keys[place], transaction.read(leaf->keys[place + 1]));
    transaction.write(leaf->number, number);
    return true;
  }

  template <class Transaction>
  void clear(Transaction& transaction) {
    release_all(transaction, transaction.read(root_));
    transaction.write(root_, nullptr);
  }

  /// Returns whether keys ascend and lie between the separators above them, and all leaves are equally deep
  /// and linked in their order.
  bool check() const {
    const Node* leaf = root_;
    while (leaf != nullptr && !leaf->is_leaf) leaf = leaf->links[0];
    return root_ == nullptr || (depth(root_, 0, UINT64_MAX, leaf) != kWrongDepth && leaf == nullptr);
  }

  template <class Function>
  void for_each(Function function) const {
    const Node* leaf = root_;
    while (leaf != nullptr && !leaf->is_leaf) leaf = leaf->links[0];
    for (; leaf != nullptr; leaf = leaf->links[0])
      for (std::uint32_t i = 0; i < leaf->number; ++i) function(leaf->keys[i]);
  }

 private:
  static constexpr std::uint32_t kKeys = 14, kHalf = kKeys / 2;
  static constexpr int kWrongDepth = -1;

  struct Node {
    std::uint32_t is_leaf;
    std::uint32_t number = 0;     // number of keys; an inner node has one child more
    Key keys[kKeys] = {};         // child i has keys from keys[i - 1] on and below keys[i]
    Node* links[kKeys + 1] = {};  // the children; a leaf's first link leads to the next leaf
  };
  static_assert(sizeof(Node) == 240);

  /// Returns the place of the first key that is not smaller than `key`.
  template <class Transaction>
  static std::uint32_t first_not_below(Transaction& transaction, const Node* node, Key key) {
    const std::uint32_t number = transaction.read(node->number);
    std::uint32_t place = 0;
    while (place < number && transaction.read(node->keys[place]) < key) ++place;
    return place;
  }

  template <class Transaction>
  static std::uint32_t child_of(Transaction& transaction, const Node* node, Key key) {
    const std::uint32_t number = transaction.read(node->number);
    std::uint32_t place = 0;
    while (place < number && transaction.read(node->keys[place]) <= key) ++place;
    return place;
  }

  /// Returns the key's leaf and sets `place` to its place there, or returns null if the tree does not have
  /// the key.
  template <class Transaction>
  Node* find(Transaction& transaction, Key key, std::uint32_t& place) {
    Node* node = transaction.read(root_);
    if (node == nullptr) return nullptr;
    while (!transaction.read(node->is_leaf))
      node = transaction.read(node->links[child_of(transaction, node, key)]);
    place = first_not_below(transaction, node, key);
    if (place == transaction.read(node->number) || transaction.read(node->keys[place]) != key) return nullptr;
    return node;
  }

  /// Returns a root that is not full: makes the first leaf, or splits a full root. Returns null if memory
  /// is exhausted.
  template <class Transaction>
  Node* root_that_is_not_full(Transaction& transaction) {
    Node* const root = transaction.read(root_);
    if (root != nullptr && transaction.read(root->number) < kKeys) return root;
    Node* const made = transaction.template make<Node>(std::uint32_t{root == nullptr});
    if (made == nullptr) return nullptr;
    if (root != nullptr) {
      transaction.write(made->links[0], root);
      if (split(transaction, made, 0, root) == nullptr) return nullptr;
    }
    transaction.write(root_, made);
    return made;
  }

  /// Moves the upper half of a full child to a new node behind it, and its separator to the parent. Returns
  /// the new node, or null, without a change, if memory is exhausted.
  template <class Transaction>
  static Node* split(Transaction& transaction, Node* parent, std::uint32_t place, Node* child) {
    const std::uint32_t is_leaf = transaction.read(child->is_leaf);
    Node* const right = transaction.template make<Node>(is_leaf);
    if (right == nullptr) return nullptr;
    const Key separator = transaction.read(child->keys[kHalf]);
    const std::uint32_t first = is_leaf ? kHalf : kHalf + 1;  // the first key that moves
    for (std::uint32_t i = first; i < kKeys; ++i)
      transaction.write(right->keys[i - first], transaction.read(child->keys[i]));
    for (std::uint32_t i = first; !is_leaf && i <= kKeys; ++i)
      transaction.write(right->links[i - first], transaction.read(child->links[i]));
    if (is_leaf) {
      transaction.write(right->links[0], transaction.read(child->links[0]));
      transaction.write(child->links[0], right);
    }
    transaction.write(right->number, kKeys - first);
    transaction.write(child->number, kHalf);
    insert_child(transaction, parent, place, separator, right);
    return right;
  }

  template <class Transaction>
  static void insert_child(Transaction& transaction, Node* parent, std::uint32_t place, Key separator,
                           Node* child) {
    const std::uint32_t number = transaction.read(parent->number);
    for (std::uint32_t i = number; i > place; --i) {
      transaction.write(parent->keys[i], transaction.read(parent->keys[i - 1]));
      transaction.write(parent->links[i + 1], transaction.read(parent->links[i]));
    }
    transaction.write(parent->keys[place], separator);
    transaction.write(parent->links[place + 1], child);
    transaction.write(parent->number, number + 1);
  }

  template <class Transaction>
  static void release_all(Transaction& transaction, Node* node) {
    if (node == nullptr) return;
    if (!transaction.read(node->is_leaf))
      for (std::uint32_t i = 0; i <= transaction.read(node->number); ++i)
        release_all(transaction, transaction.read(node->links[i]));
    transaction.release(node);
  }

  /// Returns the number of levels from `node` down, or kWrongDepth if something is wrong. Keys must be at
  /// least `low` and below `high`. `leaf`: the next leaf in the order of links. The function moves it on.
  static int depth(const Node* node, Key low, Key high, const Node*& leaf) {
    if (node == nullptr || node->number > kKeys) return kWrongDepth;
    for (std::uint32_t i = 0; i < node->number; ++i) {
      const bool ascends = i == 0 || node->keys[i - 1] < node->keys[i];
      if (!ascends || node->keys[i] < low || node->keys[i] >= high) return kWrongDepth;
    }
    if (node->is_leaf) {
      if (node != leaf) return kWrongDepth;
      leaf = node->links[0];
      return 1;
    }
    int below = 0;
    for (std::uint32_t i = 0; i <= node->number; ++i) {
      const int here = depth(node->links[i], i == 0 ? low : node->keys[i - 1],
                             i == node->number ? high : node->keys[i], leaf);
      if (here == kWrongDepth || (i != 0 && here != below)) return kWrongDepth;
      below = here;
    }
    return below + 1;
  }

  Node* root_ = nullptr;
};

template <class Sections>
int run(const Options& options) {
  Set set;
  return structures::run_set<Sections>(options, set);
}

}  // namespace workloads::b_plus_tree
