// SPDX-License-Identifier: Apache-2.0
// An AVL tree that is a set of keys. Callers hold a lock.
//
// A node has 40 bytes: both children, parent, key, value, height. As in the tree of HTMBench, a change
// writes the heights of all nodes from its place up to the root, and the number of nodes. So any two
// changes write the same lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace workloads {

class AvlTree {
 public:
  AvlTree() = default;
  ~AvlTree() { free_below(root_); }
  AvlTree(const AvlTree&) = delete;
  AvlTree& operator=(const AvlTree&) = delete;

  struct Node {
    Node* children[2];
    Node* parent;
    std::int32_t key, value, height;
  };
  static_assert(sizeof(Node) == 40);

  /// The place of a key, or the place where an insertion would put it. Valid until the tree changes.
  struct Place {
    Node* parent;
    Node* node;  // null: the key is not there
    bool is_there() const { return node != nullptr; }
  };

  Place find(std::int32_t key) const {
    Place place{nullptr, root_};
    while (place.node != nullptr && place.node->key != key)
      place = {place.node, place.node->children[place.node->key < key]};
    return place;
  }

  /// `place`: the place of a key that is not in the tree.
  void insert_at(const Place& place, std::int32_t key) {
    Node* const parent = place.parent;
    (parent == nullptr ? root_ : parent->children[parent->key < key]) =
        new Node{{nullptr, nullptr}, parent, key, key, 1};
    balance_to_root(parent);
    ++size_;
  }

  /// `place`: the place of a key that is in the tree.
  void erase_at(const Place& place) {
    Node* node = place.node;
    if (node->children[0] != nullptr && node->children[1] != nullptr) {
      Node* next = node->children[1];
      while (next->children[0] != nullptr) next = next->children[0];
      node->key = next->key;
      node->value = next->value;
      node = next;
    }
    Node* const parent = node->parent;
    replace(parent, node, node->children[0] != nullptr ? node->children[0] : node->children[1]);
    delete node;
    balance_to_root(parent);
    --size_;
  }

  /// Returns whether keys ascend, links agree, heights are right and differ by at most one between
  /// siblings, and the number of nodes is right.
  bool check() const {
    std::size_t nodes = 0;
    return is_right(root_, nullptr, INT64_MIN, INT64_MAX, nodes) && nodes == size_;
  }

  std::size_t size() const { return size_; }

  /// Returns the sum of all keys. Call it only if check() returned true.
  std::int64_t sum() const { return sum_below(root_); }

 private:
  static std::int32_t height(const Node* node) { return node == nullptr ? 0 : node->height; }
  static void update_height(Node* node) {
    node->height = std::max(height(node->children[0]), height(node->children[1])) + 1;
  }

  /// Puts `replacement`, which may be null, where `node` hangs below `parent`.
  void replace(Node* parent, const Node* node, Node* replacement) {
    (parent == nullptr ? root_ : parent->children[parent->children[1] == node]) = replacement;
    if (replacement != nullptr) replacement->parent = parent;
  }

  /// Moves `node` down to its `side`, and its child on the other side up to its place. Returns that child.
  Node* rotate(Node* node, bool side) {
    Node* const up = node->children[!side];
    replace(node->parent, node, up);
    node->children[!side] = up->children[side];
    if (up->children[side] != nullptr) up->children[side]->parent = node;
    up->children[side] = node;
    node->parent = up;
    update_height(node);
    update_height(up);
    return up;
  }

  void balance_to_root(Node* node) {
    for (; node != nullptr; node = node->parent) {
      const std::int32_t difference = height(node->children[1]) - height(node->children[0]);
      if (difference < -1 || difference > 1) {
        const bool high = difference > 0;
        Node* const child = node->children[high];
        if (height(child->children[!high]) > height(child->children[high])) rotate(child, high);
        node = rotate(node, !high);
      }
      update_height(node);
    }
  }

  static bool is_right(const Node* node, const Node* parent, std::int64_t low, std::int64_t high,
                       std::size_t& nodes) {
    if (node == nullptr) return true;
    if (node->parent != parent || node->key <= low || node->key >= high || node->key != node->value)
      return false;
    const std::int32_t left = height(node->children[0]), right = height(node->children[1]);
    if (std::max(left, right) + 1 != node->height || left - right > 1 || right - left > 1) return false;
    ++nodes;
    return is_right(node->children[0], node, low, node->key, nodes) &&
           is_right(node->children[1], node, node->key, high, nodes);
  }

  static std::int64_t sum_below(const Node* node) {
    return node == nullptr ? 0 : node->key + sum_below(node->children[0]) + sum_below(node->children[1]);
  }

  static void free_below(Node* node) {
    if (node == nullptr) return;
    free_below(node->children[0]);
    free_below(node->children[1]);
    delete node;
  }

  Node* root_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace workloads
