// SPDX-License-Identifier: Apache-2.0
// A sorted, singly linked list of keys for the programs list and hash. A node has its key, a value, the
// next node, and the padding that the ALE paper found best (section 3.1): 16 words of eight bytes.
//
// Operations take the transaction of the section. They read keys and links up to the key's place. A change
// writes one link. There is no destructor: call clear().
#pragma once

#include <cstdint>

namespace workloads::structures {

class PaddedList {
 public:
  /// Returns false, and changes nothing, if the list has the key.
  template <class Transaction>
  bool insert(Transaction& transaction, std::uint64_t key) {
    Node** const link = seek(transaction, key);
    Node* const next = transaction.read(*link);
    if (next != nullptr && transaction.read(next->key) == key) return false;
    Node* const node = transaction.template make<Node>(key, key, next);
    if (node != nullptr) transaction.write(*link, node);
    return node != nullptr;
  }

  template <class Transaction>
  bool contains(Transaction& transaction, std::uint64_t key) {
    Node* const node = transaction.read(*seek(transaction, key));
    return node != nullptr && transaction.read(node->key) == key;
  }

  /// Returns false if the list does not have the key.
  template <class Transaction>
  bool erase(Transaction& transaction, std::uint64_t key) {
    Node** const link = seek(transaction, key);
    Node* const node = transaction.read(*link);
    if (node == nullptr || transaction.read(node->key) != key) return false;
    transaction.write(*link, transaction.read(node->next));
    transaction.release(node);
    return true;
  }

  /// Removes all nodes.
  template <class Transaction>
  void clear(Transaction& transaction) {
    Node* node = transaction.read(first_);
    while (node != nullptr) {
      Node* const next = transaction.read(node->next);
      transaction.release(node);
      node = next;
    }
    transaction.write(first_, nullptr);
  }

  /// Returns whether keys ascend and values are right.
  bool check() const {
    for (const Node* node = first_; node != nullptr; node = node->next)
      if (node->value != node->key || (node->next != nullptr && node->next->key <= node->key)) return false;
    return true;
  }

  template <class Function>
  void for_each(Function function) const {
    for (const Node* node = first_; node != nullptr; node = node->next) function(node->key);
  }

 private:
  struct Node {
    std::uint64_t key, value;
    Node* next;
    std::uint64_t padding[16] = {};
  };

  /// Returns the link to the first node whose key is not smaller.
  template <class Transaction>
  Node** seek(Transaction& transaction, std::uint64_t key) {
    Node** link = &first_;
    Node* node = transaction.read(*link);
    while (node != nullptr && transaction.read(node->key) < key) {
      link = &node->next;
      node = transaction.read(*link);
    }
    return link;
  }

  Node* first_ = nullptr;
};

}  // namespace workloads::structures
