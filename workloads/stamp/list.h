// SPDX-License-Identifier: Apache-2.0
// A sorted, singly linked list without duplicates, which several of STAMP's programs use. A node has 16
// bytes: a pointer to the caller's data, and the next node.
//
// Operations take the transaction of the section. A search reads the links up to its result; a change also
// reads and writes one link and the length. Keys of elements must not
// change. Before threads start and after they end, the transaction is a sections::Plain.
// There is no destructor: call clear(). If memory is exhausted, insert() crashes.
#pragma once

#include <cstddef>

namespace workloads::stamp {

/// `Compare`: a functor for two const Data*; below 0, 0 or above 0 as they are in order, equal or not.
template <class Data, class Compare>
class List {
 public:
  struct Node {
    Data* data;  // does not change
    Node* next;
  };

  /// Returns false if the list has an element that equals `data`.
  template <class Transaction>
  bool insert(Transaction& transaction, Data* data) {
    Node** const link = seek(transaction, data);
    Node* const next = transaction.read(*link);
    if (next != nullptr && Compare{}(next->data, data) == 0) return false;
    transaction.write(*link, transaction.template make<Node>(data, next));
    transaction.write(length_, transaction.read(length_) + 1);
    return true;
  }

  /// Returns the element that equals `data`, or null.
  template <class Transaction>
  Data* find(Transaction& transaction, const Data* data) {
    const Node* const node = transaction.read(*seek(transaction, data));
    return node != nullptr && Compare{}(node->data, data) == 0 ? node->data : nullptr;
  }

  /// Removes the element that equals `data` and returns it, or null.
  template <class Transaction>
  Data* remove(Transaction& transaction, const Data* data) {
    Node** const link = seek(transaction, data);
    Node* const node = transaction.read(*link);
    if (node == nullptr || Compare{}(node->data, data) != 0) return nullptr;
    Data* const removed = node->data;
    transaction.write(*link, transaction.read(node->next));
    transaction.write(length_, transaction.read(length_) - 1);
    transaction.release(node);
    return removed;
  }

  /// Removes all nodes. The caller still owns their data.
  template <class Transaction>
  void clear(Transaction& transaction) {
    Node* node = transaction.read(first_);
    while (node != nullptr) {
      Node* const next = transaction.read(node->next);
      transaction.release(node);
      node = next;
    }
    transaction.write(first_, nullptr);
    transaction.write(length_, std::size_t{0});
  }

  template <class Transaction>
  std::size_t length(Transaction& transaction) const {
    return transaction.read(length_);
  }

  /// For a walk over all elements: the first node, and the node after `node`. Null at the end.
  template <class Transaction>
  const Node* first(Transaction& transaction) const {
    return transaction.read(first_);
  }
  template <class Transaction>
  static const Node* next(Transaction& transaction, const Node* node) {
    return transaction.read(node->next);
  }

 private:
  /// The link to the first node whose data is not before `data`.
  template <class Transaction>
  Node** seek(Transaction& transaction, const Data* data) {
    Node** link = &first_;
    Node* node = transaction.read(*link);
    while (node != nullptr && Compare{}(node->data, data) < 0) {
      link = &node->next;
      node = transaction.read(*link);
    }
    return link;
  }

  Node* first_ = nullptr;
  std::size_t length_ = 0;
};

}  // namespace workloads::stamp
