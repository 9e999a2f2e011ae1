// SPDX-License-Identifier: Apache-2.0
// A sorted, singly linked list, as several of STAMP's programs use it: a node points to data of its user and
// to the next node, 16 bytes in all. Data equal to what is there is not inserted.
//
// Operations are for use in a section, with its transaction. One that searches reads the links on its way;
// one that changes something also reads and writes a link and the length. Data that a list has must not
// change in what is compared. Before threads start and after they end, the transaction is a sections::Plain.
// There is no destructor: clear() gives back the nodes. Without memory for a node, insert() crashes.
#pragma once

#include <cstddef>

namespace workloads::stamp {

/// `Compare`: a functor for two const Data*; below 0, 0 or above 0 as they are in order, equal or not.
template <class Data, class Compare>
class List {
 public:
  struct Node {
    Data* data;  // as long as it is a node's, the same
    Node* next;
  };

  /// False if there is equal data.
  template <class Transaction>
  bool insert(Transaction& transaction, Data* data) {
    Node** const link = seek(transaction, data);
    Node* const next = transaction.read(*link);
    if (next != nullptr && Compare{}(next->data, data) == 0) return false;
    transaction.write(*link, transaction.template make<Node>(data, next));
    transaction.write(length_, transaction.read(length_) + 1);
    return true;
  }

  /// What is equal to `data`; null: nothing.
  template <class Transaction>
  Data* find(Transaction& transaction, const Data* data) {
    const Node* const node = transaction.read(*seek(transaction, data));
    return node != nullptr && Compare{}(node->data, data) == 0 ? node->data : nullptr;
  }

  /// Takes out what is equal to `data` and returns it; null: nothing.
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

  /// Takes out all nodes. Their data stays with the user.
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

  /// For a walk over all data: the first node, and the one after `node`; null: no more.
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
