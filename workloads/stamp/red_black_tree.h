// SPDX-License-Identifier: Apache-2.0
// A red-black tree that maps keys to values, which several of STAMP's programs use. A node has 48 bytes: key,
// value, parent, both children, colour. The tree does not count its nodes, so sections that change different
// parts of it share nothing but cache lines.
//
// Operations take the transaction of the section. find() reads keys and links from the root down:
// a line of memory a level. insert() and erase() also write a link and the nodes that they recolour and
// rotate; erase() of a node with two children moves the next key and its value into that node. Before threads
// start and after they end, the transaction is a sections::Plain. check(), size() and for_each() are for
// those times and take no transaction. There is no destructor: call clear().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace workloads::stamp {

/// `Key`: a number. `Value`: a number, or a pointer to what the caller owns. `kPaddingWords`: words of eight
/// bytes that follow each node's fields.
template <class Key, class Value, std::size_t kPaddingWords = 0>
class RedBlackTree {
 public:
  /// Returns false, and changes nothing, if the key exists or memory is exhausted.
  template <class Transaction>
  bool insert(Transaction& transaction, Key key, Value value) {
    Node* parent = nullptr;
    Side side = kLeft;
    for (Node* node = transaction.read(root_); node != nullptr;
         node = transaction.read(node->children[side])) {
      const Key here = transaction.read(node->key);
      if (here == key) return false;
      parent = node;
      side = here < key ? kRight : kLeft;
    }
    Node* const node = transaction.template make<Node>(key, value, parent);
    if (node == nullptr) return false;  // GCC cannot compile the trap for a null pointer in a transaction
    transaction.write(parent == nullptr ? root_ : parent->children[side], node);
    after_insertion(transaction, node);
    return true;
  }

  /// Returns Value{} if the key does not exist.
  template <class Transaction>
  Value find(Transaction& transaction, Key key) const {
    const Node* const node = seek(transaction, key);
    return node == nullptr ? Value{} : transaction.read(node->value);
  }

  template <class Transaction>
  bool contains(Transaction& transaction, Key key) const {
    return seek(transaction, key) != nullptr;
  }

  /// Returns false if the key does not exist.
  template <class Transaction>
  bool erase(Transaction& transaction, Key key) {
    Node* node = seek(transaction, key);
    if (node == nullptr) return false;
    if (transaction.read(node->children[kLeft]) != nullptr &&
        transaction.read(node->children[kRight]) != nullptr) {
      Node* const next = first_of(transaction, transaction.read(node->children[kRight]));
      transaction.write(node->key, transaction.read(next->key));
      transaction.write(node->value, transaction.read(next->value));
      node = next;
    }
    unlink(transaction, node);
    transaction.release(node);
    return true;
  }

  /// Removes all nodes.
  template <class Transaction>
  void clear(Transaction& transaction) {
    release_all(transaction, transaction.read(root_));
    transaction.write(root_, nullptr);
  }

  /// Whether it is a red-black tree: links agree, keys ascend, the root is black, no red node has a red
  /// child, and all paths down have equally many black nodes.
  bool check() const {
    return root_ == nullptr || (root_->colour == Colour::kBlack &&
                                black_height(root_, nullptr, nullptr, nullptr) != kWrongHeight);
  }

  /// Calls `function(key, value)` in the order of keys. Of a tree that check() found right.
  template <class Function>
  void for_each(Function function) const {
    visit(root_, function);
  }

  /// Number of keys, counted.
  std::size_t size() const {
    std::size_t number = 0;
    for_each([&](Key, Value) { ++number; });
    return number;
  }

 private:
  enum class Colour { kRed, kBlack };
  enum Side : unsigned { kLeft, kRight };

  struct Node {
    Key key;
    Value value;
    Node* parent;
    Node* children[2] = {nullptr, nullptr};
    Colour colour = Colour::kRed;
    [[no_unique_address]] std::array<std::uint64_t, kPaddingWords> padding{};
  };
  static_assert(sizeof(Node) <= 48 + 8 * kPaddingWords);

  static constexpr int kWrongHeight = -1;

  static constexpr Side other(Side side) { return side == kLeft ? kRight : kLeft; }

  template <class Transaction>
  static bool is_red(Transaction& transaction, const Node* node) {
    return node != nullptr && transaction.read(node->colour) == Colour::kRed;
  }

  /// On which side of its parent a node is.
  template <class Transaction>
  static Side side_of(Transaction& transaction, const Node* node, const Node* parent) {
    return transaction.read(parent->children[kLeft]) == node ? kLeft : kRight;
  }

  template <class Transaction>
  Node* seek(Transaction& transaction, Key key) const {
    Node* node = transaction.read(root_);
    while (node != nullptr) {
      const Key here = transaction.read(node->key);
      if (here == key) break;
      node = transaction.read(node->children[here < key ? kRight : kLeft]);
    }
    return node;
  }

  template <class Transaction>
  static Node* first_of(Transaction& transaction, Node* node) {
    while (Node* const left = transaction.read(node->children[kLeft])) node = left;
    return node;
  }

  /// Puts `replacement`, which may be null, where `node` hangs below `parent`.
  template <class Transaction>
  void replace(Transaction& transaction, Node* parent, const Node* node, Node* replacement) {
    Node*& link = parent == nullptr ? root_ : parent->children[side_of(transaction, node, parent)];
    transaction.write(link, replacement);
    if (replacement != nullptr) transaction.write(replacement->parent, parent);
  }

  /// Moves `node` down to its `side`, and its child on the other side up to its place.
  template <class Transaction>
  void rotate(Transaction& transaction, Node* node, Side side) {
    Node* const up = transaction.read(node->children[other(side)]);
    Node* const between = transaction.read(up->children[side]);
    replace(transaction, transaction.read(node->parent), node, up);
    transaction.write(node->children[other(side)], between);
    if (between != nullptr) transaction.write(between->parent, node);
    transaction.write(up->children[side], node);
    transaction.write(node->parent, up);
  }

  /// `node` is red and may be the root, or the child of a red node.
  template <class Transaction>
  void after_insertion(Transaction& transaction, Node* node) {
    for (;;) {
      Node* const parent = transaction.read(node->parent);
      if (parent == nullptr) {
        transaction.write(node->colour, Colour::kBlack);
        return;
      }
      if (!is_red(transaction, parent)) return;
      Node* const grandparent = transaction.read(parent->parent);  // a red node is not the root
      const Side side = side_of(transaction, parent, grandparent);
      Node* const uncle = transaction.read(grandparent->children[other(side)]);
      transaction.write(grandparent->colour, Colour::kRed);
      if (!is_red(transaction, uncle)) {
        const bool inner = transaction.read(parent->children[side]) != node;
        if (inner) rotate(transaction, parent, side);
        transaction.write((inner ? node : parent)->colour, Colour::kBlack);
        rotate(transaction, grandparent, other(side));
        return;
      }
      transaction.write(parent->colour, Colour::kBlack);
      transaction.write(uncle->colour, Colour::kBlack);
      node = grandparent;
    }
  }

  /// Removes a node that has at most one child.
  template <class Transaction>
  void unlink(Transaction& transaction, Node* node) {
    Node* const left = transaction.read(node->children[kLeft]);
    Node* const child = left != nullptr ? left : transaction.read(node->children[kRight]);
    Node* const parent = transaction.read(node->parent);
    const Side side = parent == nullptr ? kLeft : side_of(transaction, node, parent);
    replace(transaction, parent, node, child);
    if (is_red(transaction, node)) return;
    if (child != nullptr)  // which is red
      transaction.write(child->colour, Colour::kBlack);
    else
      after_removal(transaction, parent, side);
  }

  /// Rebalances, because paths through the child of `parent` on this `side` lack one black node. A null
  /// `parent` means that this child is the root.
  template <class Transaction>
  void after_removal(Transaction& transaction, Node* parent, Side side) {
    while (parent != nullptr) {
      // Never null: paths through it have more black nodes than those through the other child.
      Node* sibling = transaction.read(parent->children[other(side)]);
      if (transaction.read(sibling->colour) == Colour::kRed) {
        transaction.write(sibling->colour, Colour::kBlack);
        transaction.write(parent->colour, Colour::kRed);
        rotate(transaction, parent, side);
        sibling = transaction.read(parent->children[other(side)]);
      }
      if (borrow(transaction, parent, sibling, side)) return;
      transaction.write(sibling->colour, Colour::kRed);
      if (is_red(transaction, parent)) {
        transaction.write(parent->colour, Colour::kBlack);
        return;
      }
      Node* const up = transaction.read(parent->parent);
      if (up != nullptr) side = side_of(transaction, parent, up);
      parent = up;
    }
  }

  /// Makes up for the missing black node with a red child of the sibling. Returns false if it has no red
  /// child.
  template <class Transaction>
  bool borrow(Transaction& transaction, Node* parent, Node* sibling, Side side) {
    Node* const inner = transaction.read(sibling->children[side]);
    Node* outer = transaction.read(sibling->children[other(side)]);
    if (!is_red(transaction, outer)) {
      if (!is_red(transaction, inner)) return false;
      rotate(transaction, sibling, other(side));
      outer = sibling;
      sibling = inner;
    }
    transaction.write(sibling->colour, transaction.read(parent->colour));
    transaction.write(parent->colour, Colour::kBlack);
    transaction.write(outer->colour, Colour::kBlack);
    rotate(transaction, parent, side);
    return true;
  }

  template <class Transaction>
  static void release_all(Transaction& transaction, Node* node) {
    if (node == nullptr) return;
    release_all(transaction, transaction.read(node->children[kLeft]));
    release_all(transaction, transaction.read(node->children[kRight]));
    transaction.release(node);
  }

  /// The number of black nodes on each path down from `node`, or kWrongHeight if this is not a red-black
  /// tree. Keys must lie between `*low` and `*high`; null means no bound. The recursion also ends if links
  /// form a cycle, because each node's parent is checked.
  static int black_height(const Node* node, const Node* parent, const Key* low, const Key* high) {
    if (node == nullptr) return 0;
    if (node->parent != parent) return kWrongHeight;
    if ((low != nullptr && !(*low < node->key)) || (high != nullptr && !(node->key < *high)))
      return kWrongHeight;
    const bool red = node->colour == Colour::kRed;
    if (red && parent != nullptr && parent->colour == Colour::kRed) return kWrongHeight;
    const int left = black_height(node->children[kLeft], node, low, &node->key);
    if (left == kWrongHeight) return kWrongHeight;
    const int right = black_height(node->children[kRight], node, &node->key, high);
    return right == left ? left + (red ? 0 : 1) : kWrongHeight;
  }

  template <class Function>
  static void visit(const Node* node, Function& function) {
    if (node == nullptr) return;
    visit(node->children[kLeft], function);
    function(node->key, node->value);
    visit(node->children[kRight], function);
  }

  Node* root_ = nullptr;
};

}  // namespace workloads::stamp
