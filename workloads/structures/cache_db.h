// SPDX-License-Identifier: Apache-2.0
// Kyoto Cabinet's CacheDB, as the ALE paper describes and measures it (section 3.3): a bounded cache of
// records in memory. A key's hash chooses one of 16 slots, then a bucket of the slot's hash table, and
// orders the binary search tree of the bucket. Each slot lists its records by their last use. A read moves
// its record to the end of the list, and a new record of a full slot takes the place of the first one.
//
// The paper runs gets, puts and deletes of random keys over a database of fixed size, and replaces all locks
// by transactions: one section an operation. Keys and values are a word each here. A section reads a path of
// the tree and writes up to five places: links of the list, and its ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "structures/set_program.h"

namespace workloads::cache_db {

inline constexpr const char* kDescription = "The ALE paper's Kyoto CacheDB";

struct Options : structures::SetOptions {
  Options() : SetOptions{.team = {}, .size = 8192, .mutations = 20, .operations = 20000} {}
  std::uint32_t buckets = 1024;
  std::uint32_t capacity = 0;
};

inline void add_options(CommandLine& line, Options& options) {
  structures::add_options(line, options);
  line.add("--buckets", options.buckets, "of each slot").within(1, 1 << 24);
  line.add("--capacity", options.capacity,
           "records of a slot; 0: a quarter more than its share of the keys at the start, and 16")
      .within(0, 1 << 26);
}

using structures::Change;
using structures::Key;

inline constexpr std::uint32_t kSlots = 16;

/// A slot gets its keys by chance, so that it needs room for more than its share.
inline std::uint32_t capacity_of(const Options& options) {
  return options.capacity != 0 ? options.capacity : (options.size + options.size / 4) / kSlots + 16;
}

/// The start would never end: the slots could not hold its keys.
inline std::string complaint(const Options& options) {
  return options.capacity != 0 && std::uint64_t{options.capacity} * kSlots <
                                      std::uint64_t{options.size} + options.size / 8 + 64
             ? "--capacity: the slots need room for --size keys, an eighth more, and 64"
             : "";
}

struct Record {
  std::uint64_t hash;
  Key key, value;
  Record *left, *right;  // of the bucket's tree
  Record *prev, *next;   // of the slot's list
};

/// One slot. Its records' keys all have its number as their hashes' lowest bits.
class alignas(128) Slot {
 public:
  void set_up(std::uint32_t buckets, std::uint32_t capacity) {
    number_ = buckets;
    capacity_ = capacity;
    buckets_.reset(new Record*[buckets]());
  }

  template <class Transaction>
  Change put(Transaction& transaction, std::uint64_t hash, Key key) {
    Record** const link = seek(transaction, hash);
    Record* const found = transaction.read(*link);
    if (found != nullptr) {
      transaction.write(found->value, key);
      use(transaction, found);
      return {};
    }
    Record* const record = transaction.template make<Record>(hash, key, key, null(), null(), null(), null());
    if (record == nullptr) return {};
    transaction.write(*link, record);
    put_last(transaction, record);
    transaction.write(count_, transaction.read(count_) + 1);
    Change change = structures::if_inserted(true, key);
    if (transaction.read(count_) > capacity_) {
      Record* const oldest = transaction.read(first_);
      change += structures::if_erased(true, transaction.read(oldest->key));
      remove(transaction, transaction.read(oldest->hash));
    }
    return change;
  }

  template <class Transaction>
  bool get(Transaction& transaction, std::uint64_t hash) {
    Record* const found = transaction.read(*seek(transaction, hash));
    if (found != nullptr) use(transaction, found);
    return found != nullptr;
  }

  /// Returns whether the slot had such a record.
  template <class Transaction>
  bool remove(Transaction& transaction, std::uint64_t hash) {
    Record** const link = seek(transaction, hash);
    Record* const record = transaction.read(*link);
    if (record == nullptr) return false;
    take_from_tree(transaction, link, record);
    take_from_list(transaction, record);
    transaction.write(count_, transaction.read(count_) - 1);
    transaction.release(record);
    return true;
  }

  template <class Transaction>
  void clear(Transaction& transaction) {
    for (Record* record = transaction.read(first_); record != nullptr;) {
      Record* const next = transaction.read(record->next);
      transaction.release(record);
      record = next;
    }
    for (std::uint32_t i = 0; i < number_; ++i) transaction.write(buckets_[i], nullptr);
    transaction.write(first_, nullptr);
    transaction.write(last_, nullptr);
    transaction.write(count_, 0);
  }

  /// Returns whether trees are in order, and the list has the records of all trees, no more than may be.
  template <class IsHere>
  bool check(IsHere is_here) const {
    std::uint64_t in_trees = 0, in_list = 0;
    bool right = count_ <= capacity_ && (first_ == nullptr) == (last_ == nullptr);
    for (std::uint32_t i = 0; right && i < number_; ++i)
      right = check_tree(buckets_[i], i, 0, ~std::uint64_t{0}, in_trees);
    const Record* before = nullptr;
    for (const Record* record = first_; right && record != nullptr; record = record->next) {
      right =
          record->prev == before && record->value == record->key && is_here(*record) && ++in_list <= count_;
      before = record;
    }
    return right && before == last_ && in_list == count_ && in_trees == count_;
  }

  template <class Function>
  void for_each(Function function) const {
    for (const Record* record = first_; record != nullptr; record = record->next) function(record->key);
  }

 private:
  static constexpr Record* null() { return nullptr; }

  std::uint32_t bucket_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash / kSlots % number_);
  }

  /// Returns the link to the record with that hash, or to where it would be.
  template <class Transaction>
  Record** seek(Transaction& transaction, std::uint64_t hash) {
    Record** link = &buckets_[bucket_of(hash)];
    Record* record = transaction.read(*link);
    while (record != nullptr) {
      const std::uint64_t its = transaction.read(record->hash);
      if (its == hash) break;
      link = hash < its ? &record->left : &record->right;
      record = transaction.read(*link);
    }
    return link;
  }

  template <class Transaction>
  void put_last(Transaction& transaction, Record* record) {
    Record* const last = transaction.read(last_);
    transaction.write(record->prev, last);
    transaction.write(record->next, nullptr);
    transaction.write(last != nullptr ? last->next : first_, record);
    transaction.write(last_, record);
  }

  template <class Transaction>
  void take_from_list(Transaction& transaction, Record* record) {
    Record* const prev = transaction.read(record->prev);
    Record* const next = transaction.read(record->next);
    transaction.write(prev != nullptr ? prev->next : first_, next);
    transaction.write(next != nullptr ? next->prev : last_, prev);
  }

  /// The record was used last.
  template <class Transaction>
  void use(Transaction& transaction, Record* record) {
    if (transaction.read(last_) == record) return;
    take_from_list(transaction, record);
    put_last(transaction, record);
  }

  /// `link` names `record`. A record with two children is replaced by the greatest one of its left tree.
  template <class Transaction>
  void take_from_tree(Transaction& transaction, Record** link, Record* record) {
    Record* const left = transaction.read(record->left);
    Record* const right = transaction.read(record->right);
    if (left == nullptr || right == nullptr) {
      transaction.write(*link, left != nullptr ? left : right);
      return;
    }
    Record** its_link = &record->left;
    Record* greatest = left;
    while (Record* const next = transaction.read(greatest->right)) {
      its_link = &greatest->right;
      greatest = next;
    }
    if (greatest != left) {
      transaction.write(*its_link, transaction.read(greatest->left));
      transaction.write(greatest->left, left);
    }
    transaction.write(greatest->right, right);
    transaction.write(*link, greatest);
  }

  bool check_tree(const Record* record, std::uint32_t bucket, std::uint64_t least, std::uint64_t most,
                  std::uint64_t& count) const {
    if (record == nullptr) return true;
    if (record->hash < least || record->hash > most || bucket_of(record->hash) != bucket || ++count > count_)
      return false;
    return check_tree(record->left, bucket, least, record->hash - 1, count) &&
           check_tree(record->right, bucket, record->hash + 1, most, count);
  }

  std::unique_ptr<Record*[]> buckets_;
  std::uint32_t number_ = 0, capacity_ = 0;
  std::uint64_t count_ = 0;
  Record *first_ = nullptr, *last_ = nullptr;  // of the list: used longest ago, and last
};

class Set {
 public:
  explicit Set(const Options& options) {
    for (Slot& slot : slots_) slot.set_up(options.buckets, capacity_of(options));
  }

  template <class Transaction>
  Change insert(Transaction& transaction, Key key, std::uint32_t) {
    const std::uint64_t hash = hash_of(key);
    return slots_[hash % kSlots].put(transaction, hash, key);
  }
  template <class Transaction>
  bool contains(Transaction& transaction, Key key) {
    const std::uint64_t hash = hash_of(key);
    return slots_[hash % kSlots].get(transaction, hash);
  }
  template <class Transaction>
  bool erase(Transaction& transaction, Key key) {
    const std::uint64_t hash = hash_of(key);
    return slots_[hash % kSlots].remove(transaction, hash);
  }
  template <class Transaction>
  void clear(Transaction& transaction) {
    for (Slot& slot : slots_) slot.clear(transaction);
  }

  bool check() const {
    bool right = true;
    for (std::uint32_t i = 0; right && i < kSlots; ++i)
      right = slots_[i].check([&](const Record& record) {
        return record.hash == hash_of(record.key) && record.hash % kSlots == i;
      });
    return right;
  }
  template <class Function>
  void for_each(Function function) const {
    for (const Slot& slot : slots_) slot.for_each(function);
  }

 private:
  /// The mixer of splitmix64, which gives different keys different hashes.
  static std::uint64_t hash_of(Key key) {
    std::uint64_t mixed = (key + 1) * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }

  Slot slots_[kSlots];
};

template <class Sections>
int run(const Options& options) {
  Set set(options);
  return structures::run_set<Sections>(options, set);
}

}  // namespace workloads::cache_db
