// SPDX-License-Identifier: Apache-2.0
// A hash table of a fixed number of buckets, each a sorted list (list.h), which STAMP's genome uses. It
// does not count elements, so insertions into different buckets share nothing but cache lines: a bucket has
// 32 bytes.
//
// Operations take the transaction of the section, and have the read and write sets of the same operation on
// one list. The caller computes hashes.
#pragma once

#include <cstddef>
#include <memory>

#include "sections/plain.h"
#include "stamp/list.h"

namespace workloads::stamp {

template <class Data, class Compare>
class HashTable {
 public:
  using Bucket = List<Data, Compare>;

  explicit HashTable(std::size_t buckets) : buckets_(buckets), memory_(new Padded[buckets]) {}
  /// Frees the nodes. The caller still owns their data.
  ~HashTable() {
    sections::Plain plain;
    for (std::size_t i = 0; i < buckets_; ++i) memory_[i].list.clear(plain);
  }
  HashTable(const HashTable&) = delete;
  HashTable& operator=(const HashTable&) = delete;

  /// Returns false if the bucket has an element that equals `data`.
  template <class Transaction>
  bool insert(Transaction& transaction, std::size_t hash, Data* data) {
    return bucket_of(hash).insert(transaction, data);
  }

  std::size_t buckets() const { return buckets_; }
  Bucket& bucket(std::size_t index) const { return memory_[index].list; }
  Bucket& bucket_of(std::size_t hash) const { return bucket(hash % buckets_); }

 private:
  struct alignas(32) Padded {
    Bucket list;
  };

  const std::size_t buckets_;
  const std::unique_ptr<Padded[]> memory_;
};

}  // namespace workloads::stamp
