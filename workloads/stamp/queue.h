// SPDX-License-Identifier: Apache-2.0
// A first-in-first-out queue in a circular array, which STAMP's intruder uses. If the array is full, push()
// copies it to one of twice the size.
//
// Operations take the transaction of the section. push() reads all four fields, and writes one field and one
// slot; pop() reads the slot instead. The fields share 32 bytes, so a push and a pop conflict.
// Before threads start and after they end, the transaction is a sections::Plain. There is no destructor:
// call clear(). If memory is exhausted, push() crashes.
#pragma once

#include <cstddef>

namespace workloads::stamp {

/// `Element`: a number or pointer.
template <class Element>
class Queue {
 public:
  template <class Transaction>
  bool is_empty(Transaction& transaction) const {
    return transaction.read(next_) == transaction.read(end_);
  }

  template <class Transaction>
  void push(Transaction& transaction, Element element) {
    const std::size_t end = transaction.read(end_), capacity = transaction.read(capacity_);
    const std::size_t after = end + 1 < capacity ? end + 1 : 0;
    if (capacity == 0 || after == transaction.read(next_)) {
      grow(transaction, element);
      return;
    }
    transaction.write(transaction.read(elements_)[end], element);
    transaction.write(end_, after);
  }

  /// Takes the first element. Returns false if the queue is empty.
  template <class Transaction>
  bool pop(Transaction& transaction, Element& element) {
    const std::size_t next = transaction.read(next_);
    if (next == transaction.read(end_)) return false;
    element = transaction.read(transaction.read(elements_)[next]);
    transaction.write(next_, next + 1 < transaction.read(capacity_) ? next + 1 : 0);
    return true;
  }

  /// Removes all elements and frees the array.
  template <class Transaction>
  void clear(Transaction& transaction) {
    if (Element* const elements = transaction.read(elements_); elements != nullptr)
      transaction.release(elements);
    transaction.write(elements_, nullptr);
    transaction.write(capacity_, std::size_t{0});
    transaction.write(next_, std::size_t{0});
    transaction.write(end_, std::size_t{0});
  }

 private:
  static constexpr std::size_t kFirstCapacity = 16;

  /// Moves all elements to a larger array, and appends a new one. No other thread sees the new array yet, so
  /// it is written without the transaction.
  template <class Transaction>
  void grow(Transaction& transaction, Element element) {
    const std::size_t old_capacity = transaction.read(capacity_), end = transaction.read(end_);
    const std::size_t capacity = old_capacity == 0 ? kFirstCapacity : 2 * old_capacity;
    Element* const old_elements = transaction.read(elements_);
    Element* const elements = transaction.template make_array<Element>(capacity);
    std::size_t number = 0;
    for (std::size_t at = transaction.read(next_); at != end; at = at + 1 < old_capacity ? at + 1 : 0)
      elements[number++] = transaction.read(old_elements[at]);
    elements[number++] = element;
    if (old_elements != nullptr) transaction.release(old_elements);
    transaction.write(elements_, elements);
    transaction.write(capacity_, capacity);
    transaction.write(next_, std::size_t{0});
    transaction.write(end_, number);
  }

  Element* elements_ = nullptr;
  std::size_t capacity_ = 0;  // one slot stays empty
  std::size_t next_ = 0;      // the slot of the first element
  std::size_t end_ = 0;       // the slot behind the last one
};

}  // namespace workloads::stamp
