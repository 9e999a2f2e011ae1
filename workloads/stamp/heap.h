// SPDX-License-Identifier: Apache-2.0
// A binary heap in an array, which STAMP's yada uses. If the array is full, push() copies it to one of
// twice the size.
//
// Operations take the transaction of the section. Both read and write the number of elements; push() reads
// and writes slots from the last one up to the new element's place, pop() from the first slot down, so pops
// conflict with each other and with most pushes. Before threads start and after they end, the transaction
// is a sections::Plain. There is no destructor: call clear(). If memory is exhausted, push() returns false.
#pragma once

#include <cstddef>

namespace workloads::stamp {

/// `Element`: a pointer. `IsBefore`: a functor that returns whether pop() must return the first of two
/// elements earlier.
template <class Element, class IsBefore>
class Heap {
 public:
  template <class Transaction>
  bool is_empty(Transaction& transaction) const {
    return transaction.read(number_) == 0;
  }

  template <class Transaction>
  bool push(Transaction& transaction, Element element) {
    const std::size_t number = transaction.read(number_);
    if (number == transaction.read(capacity_) && !grow(transaction, number)) return false;
    Element* const elements = transaction.read(elements_);
    std::size_t at = number;
    while (at != 0) {
      const std::size_t up = (at - 1) / 2;
      const Element other = transaction.read(elements[up]);
      if (!IsBefore{}(element, other)) break;
      transaction.write(elements[at], other);
      at = up;
    }
    transaction.write(elements[at], element);
    transaction.write(number_, number + 1);
    return true;
  }

  /// Removes an element that no other element is before and returns it, or returns null if the heap is
  /// empty.
  template <class Transaction>
  Element pop(Transaction& transaction) {
    const std::size_t number = transaction.read(number_);
    if (number == 0) return nullptr;
    Element* const elements = transaction.read(elements_);
    const Element first = transaction.read(elements[0]), last = transaction.read(elements[number - 1]);
    transaction.write(number_, number - 1);
    sift_down(transaction, elements, number - 1, last);
    return first;
  }

  /// Removes all elements and frees the array.
  template <class Transaction>
  void clear(Transaction& transaction) {
    if (Element* const elements = transaction.read(elements_); elements != nullptr)
      transaction.release(elements);
    transaction.write(elements_, nullptr);
    transaction.write(capacity_, std::size_t{0});
    transaction.write(number_, std::size_t{0});
  }

 private:
  static constexpr std::size_t kFirstCapacity = 16;

  /// Puts `element` into the free first slot, or below the elements that are before it.
  template <class Transaction>
  static void sift_down(Transaction& transaction, Element* elements, std::size_t number, Element element) {
    std::size_t at = 0;
    for (std::size_t child = 1; child < number; child = 2 * at + 1) {
      Element earlier = transaction.read(elements[child]);
      if (child + 1 < number) {
        const Element other = transaction.read(elements[child + 1]);
        if (IsBefore{}(other, earlier)) {
          earlier = other;
          ++child;
        }
      }
      if (!IsBefore{}(earlier, element)) break;
      transaction.write(elements[at], earlier);
      at = child;
    }
    transaction.write(elements[at], element);
  }

  /// Moves all elements to a larger array. No other thread sees it yet, so it is written without the
  /// transaction.
  template <class Transaction>
  bool grow(Transaction& transaction, std::size_t number) {
    const std::size_t capacity = number == 0 ? kFirstCapacity : 2 * number;
    Element* const old_elements = transaction.read(elements_);
    Element* const elements = transaction.template make_array<Element>(capacity);
    if (elements == nullptr) return false;
    for (std::size_t i = 0; i < number; ++i) elements[i] = transaction.read(old_elements[i]);
    if (old_elements != nullptr) transaction.release(old_elements);
    transaction.write(elements_, elements);
    transaction.write(capacity_, capacity);
    return true;
  }

  Element* elements_ = nullptr;
  std::size_t number_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace workloads::stamp
