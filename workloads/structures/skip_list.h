// SPDX-License-Identifier: Apache-2.0
// A skip list, as in Synchrobench. HTMBench runs it with 16000 keys and 20 % mutations. Sections read links
// on all levels on the way to their place; a change writes a link on each level of its node. Each level has
// half of the nodes of the one below. A thread draws the level of a node outside of the section.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "structures/set_program.h"

namespace workloads::skip_list {

inline constexpr const char* kDescription = "A skip list under one lock";

struct Options : structures::SetOptions {
  Options() : SetOptions{.team = {}, .size = 4096, .mutations = 20, .operations = 20000} {}
};

using structures::add_options;
using structures::complaint;
using structures::Key;

class Set {
 public:
  template <class Transaction>
  bool insert(Transaction& transaction, Key key, std::uint32_t draw) {
    Node** links[kLevels];
    const Node* const found = seek(transaction, key, links);
    if (found != nullptr && transaction.read(found->key) == key) return false;
    Node* const node = transaction.template make<Node>(key, height_of(draw));
    if (node == nullptr) return false;
    for (unsigned level = 0; level < node->height; ++level) {
      transaction.write(node->next[level], transaction.read(*links[level]));
      transaction.write(*links[level], node);
    }
    return true;
  }

  template <class Transaction>
  bool contains(Transaction& transaction, Key key) {
    Node** links[kLevels];
    const Node* const found = seek(transaction, key, links);
    return found != nullptr && transaction.read(found->key) == key;
  }

  template <class Transaction>
  bool erase(Transaction& transaction, Key key) {
    Node** links[kLevels];
    Node* const node = seek(transaction, key, links);
    if (node == nullptr || transaction.read(node->key) != key) return false;
    for (unsigned level = transaction.read(node->height); level-- > 0;)
      transaction.write(*links[level], transaction.read(node->next[level]));
    transaction.release(node);
    return true;
  }

  template <class Transaction>
  void clear(Transaction& transaction) {
    Node* node = transaction.read(first_[0]);
    while (node != nullptr) {
      Node* const next = transaction.read(node->next[0]);
      transaction.release(node);
      node = next;
    }
    for (Node*& link : first_) transaction.write(link, nullptr);
  }

  /// Returns whether keys ascend, and each level has exactly the nodes that reach it, in the same order.
  bool check() const {
    const Node* places[kLevels];
    std::copy(first_, first_ + kLevels, places);
    for (const Node* node = first_[0]; node != nullptr; node = node->next[0]) {
      if (node->next[0] != nullptr && node->next[0]->key <= node->key) return false;
      for (unsigned level = 0; level < node->height; ++level) {
        if (places[level] != node) return false;
        places[level] = node->next[level];
      }
    }
    return std::all_of(places, places + kLevels, [](const Node* place) { return place == nullptr; });
  }

  template <class Function>
  void for_each(Function function) const {
    for (const Node* node = first_[0]; node != nullptr; node = node->next[0]) function(node->key);
  }

 private:
  static constexpr unsigned kLevels = 16;
  struct Node {
    Key key;
    std::uint32_t height;
    Node* next[kLevels] = {};
  };

  static std::uint32_t height_of(std::uint32_t draw) {
    return std::min(1 + static_cast<std::uint32_t>(std::countr_zero(draw)), std::uint32_t{kLevels});
  }

  /// Returns the first node whose key is not smaller, or null if all keys are. Sets `links` to the link
  /// before that place on each level.
  template <class Transaction>
  Node* seek(Transaction& transaction, Key key, Node** (&links)[kLevels]) {
    Node** next = first_;
    for (unsigned level = kLevels; level-- > 0;) {
      Node* node = transaction.read(next[level]);
      while (node != nullptr && transaction.read(node->key) < key) {
        next = node->next;
        node = transaction.read(next[level]);
      }
      links[level] = &next[level];
    }
    return transaction.read(*links[0]);
  }

  Node* first_[kLevels] = {};
};

template <class Sections>
int run(const Options& options) {
  Set set;
  return structures::run_set<Sections>(options, set);
}

}  // namespace workloads::skip_list
