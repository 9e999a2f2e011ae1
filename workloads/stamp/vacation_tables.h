// SPDX-License-Identifier: Apache-2.0
// The tables of STAMP's vacation (vacation.h), and their check after a run. Three trees map numbers to items:
// how many of one are used and free, and its price. A fourth maps numbers to customers, each with a sorted
// list of bookings.
//
// Operations are for use in a section, with its transaction; before threads start, that is a sections::Plain.
// They search trees, which reads a line of memory or two a level; the rest is a few writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sections/plain.h"
#include "stamp/red_black_tree.h"

namespace workloads::vacation {

using Number = std::int64_t;

enum Kind : std::uint32_t { kCar, kFlight, kRoom };
inline constexpr std::size_t kKinds = 3;

/// What can be booked. used + free = total.
struct Item {
  Number id, used, free, total, price;
};

/// An entry of a customer's list, which is in the order of kinds and, in a kind, of items. Only the link
/// changes.
struct Booking {
  Kind kind;
  Number item, price;
  Booking* next;

  bool is_before(Kind other_kind, Number other_item) const {
    return kind != other_kind ? kind < other_kind : item < other_item;
  }
};

struct Customer {
  Number id;
  Booking* bookings;
};

/// What sections add to the tables.
struct Changes {
  Number items[kKinds];  // their totals
  Number bookings;
  Number customers;

  void add(const Changes& other) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) items[kind] += other.items[kind];
    bookings += other.bookings;
    customers += other.customers;
  }
};

class Tables {
 public:
  /// Returns null if there is no such item.
  template <class Transaction>
  Item* find(Transaction& transaction, Kind kind, Number id) const {
    return items_[kind].find(transaction, id);
  }

  /// Adds `number` of an item, and sets its price.
  template <class Transaction>
  void offer(Transaction& transaction, Kind kind, Number id, Number number, Number price, Changes& changes) {
    Item* const item = find(transaction, kind, id);
    if (item == nullptr) {
      items_[kind].insert(transaction, id,
                          transaction.template make<Item>(id, Number{0}, number, number, price));
    } else {
      add_to_total(transaction, *item, number);
      transaction.write(item->price, price);
    }
    changes.items[kind] += number;
  }

  /// Takes `number` of an item away, if as many are free; the item too, if nothing is left. A flight is
  /// removed as a whole, if it has no bookings.
  template <class Transaction>
  void withdraw(Transaction& transaction, Kind kind, Number id, Number number, Changes& changes) {
    Item* const item = find(transaction, kind, id);
    if (item == nullptr) return;
    if (kind == kFlight) {
      if (transaction.read(item->used) != 0) return;
      number = transaction.read(item->total);
    }
    if (transaction.read(item->free) < number) return;
    add_to_total(transaction, *item, -number);
    if (transaction.read(item->total) == 0) {
      items_[kind].erase(transaction, id);
      transaction.release(item);
    }
    changes.items[kind] -= number;
  }

  template <class Transaction>
  void add_customer(Transaction& transaction, Number id, Changes& changes) {
    if (customers_.contains(transaction, id)) return;
    customers_.insert(transaction, id, transaction.template make<Customer>(id, nullptr));
    ++changes.customers;
  }

  /// Books one of an item for a customer, if one is free and the customer has none yet.
  template <class Transaction>
  void book(Transaction& transaction, Number customer_id, Kind kind, Number id, Changes& changes) {
    Customer* const customer = customers_.find(transaction, customer_id);
    Item* const item = find(transaction, kind, id);
    if (customer == nullptr || item == nullptr || transaction.read(item->free) < 1) return;
    Booking** link = &customer->bookings;
    Booking* next = transaction.read(*link);
    while (next != nullptr && next->is_before(kind, id)) {
      link = &next->next;
      next = transaction.read(*link);
    }
    if (next != nullptr && next->kind == kind && next->item == id) return;
    const Number price = transaction.read(item->price);
    transaction.write(*link, transaction.template make<Booking>(kind, id, price, next));
    use(transaction, *item, 1);
    ++changes.bookings;
  }

  /// What a customer has to pay. Below 0: there is no such customer.
  template <class Transaction>
  Number bill(Transaction& transaction, Number customer_id) const {
    const Customer* const customer = customers_.find(transaction, customer_id);
    if (customer == nullptr) return -1;
    Number sum = 0;
    for (const Booking* booking = transaction.read(customer->bookings); booking != nullptr;
         booking = transaction.read(booking->next))
      sum += booking->price;
    return sum;
  }

  /// Deletes a customer and all its bookings.
  template <class Transaction>
  void delete_customer(Transaction& transaction, Number id, Changes& changes) {
    Customer* const customer = customers_.find(transaction, id);
    if (customer == nullptr) return;
    Booking* booking = transaction.read(customer->bookings);
    while (booking != nullptr) {
      Item* const item = find(transaction, booking->kind, booking->item);
      if (item != nullptr) use(transaction, *item, -1);
      Booking* const next = transaction.read(booking->next);
      transaction.release(booking);
      booking = next;
      --changes.bookings;
    }
    customers_.erase(transaction, id);
    transaction.release(customer);
    --changes.customers;
  }

  /// Frees all memory. The tables must be consistent.
  void clear() {
    sections::Plain plain;
    for (auto& tree : items_) {
      tree.for_each([&](Number, Item* item) { plain.release(item); });
      tree.clear(plain);
    }
    customers_.for_each([&](Number, Customer* customer) {
      for (Booking *booking = customer->bookings, *next; booking != nullptr; booking = next) {
        next = booking->next;
        plain.release(booking);
      }
      plain.release(customer);
    });
    customers_.clear(plain);
  }

 private:
  friend class Check;

  template <class Transaction>
  static void add_to_total(Transaction& transaction, Item& item, Number number) {
    transaction.write(item.free, transaction.read(item.free) + number);
    transaction.write(item.total, transaction.read(item.total) + number);
  }

  template <class Transaction>
  static void use(Transaction& transaction, Item& item, Number number) {
    transaction.write(item.used, transaction.read(item.used) + number);
    transaction.write(item.free, transaction.read(item.free) - number);
  }

  stamp::RedBlackTree<Number, Item*> items_[kKinds];
  stamp::RedBlackTree<Number, Customer*> customers_;
};

/// What is right after a run: trees; that used and free are the total of each item; that an item is used as
/// often as it is in customers' lists; and that what the tables have is what sections added to them.
class Check {
 public:
  /// `changes`: the sum of all sections', since the tables were empty. `last`: the highest number of an item.
  Check(const Tables& tables, const Changes& changes, Number last) {
    for (auto& numbers : booked_) numbers.resize(static_cast<std::size_t>(last) + 1);
    for (const auto& tree : tables.items_) expect(tree.check(), "tree of items");
    expect(tables.customers_.check(), "tree of customers");
    if (wrong_ != nullptr) return;
    tables.customers_.for_each([&](Number id, const Customer* customer) { count(id, *customer); });
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      tables.items_[kind].for_each([&](Number id, const Item* item) { count(kind, id, *item); });
      for (const Number number : booked_[kind]) expect(number == 0, "booking of no item");
      expect(sum_.items[kind] == changes.items[kind], "number of items");
    }
    expect(sum_.customers == changes.customers, "number of customers");
    expect(sum_.bookings == changes.bookings, "number of bookings");
  }

  /// Null: nothing.
  const char* wrong() const { return wrong_; }

 private:
  void expect(bool right, const char* what) {
    if (!right && wrong_ == nullptr) wrong_ = what;
  }

  void count(Number id, const Customer& customer) {
    expect(customer.id == id, "customer");
    ++sum_.customers;
    const Booking* before = nullptr;
    for (const Booking* booking = customer.bookings; booking != nullptr; booking = booking->next) {
      const bool in_order = before == nullptr || before->is_before(booking->kind, booking->item);
      expect(in_order, "order of bookings");
      if (!in_order) return;  // the list may be a ring
      ++sum_.bookings;
      if (Number* const booked = booked_of(booking->kind, booking->item)) ++*booked;
      before = booking;
    }
  }

  void count(std::size_t kind, Number id, const Item& item) {
    expect(item.id == id, "item");
    expect(item.used >= 0 && item.free >= 0 && item.used + item.free == item.total, "total of an item");
    if (Number* const booked = booked_of(kind, id)) {
      expect(*booked == item.used, "use of an item");
      *booked = 0;
    }
    sum_.items[kind] += item.total;
  }

  /// Returns how often an item is booked, or null if there was never such an item.
  Number* booked_of(std::size_t kind, Number id) {
    const auto index = static_cast<std::size_t>(id);
    const bool known = kind < kKinds && index < booked_[kind].size();
    expect(known, "number of an item");
    return known ? &booked_[kind][index] : nullptr;
  }

  const char* wrong_ = nullptr;
  std::array<std::vector<Number>, kKinds> booked_;  // by customers' lists
  Changes sum_{};
};

}  // namespace workloads::vacation
