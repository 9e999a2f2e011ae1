// SPDX-License-Identifier: Apache-2.0
// Where the store keeps its records: a skip list in memory, and immutable sorted tables.
//
// A record has a key, the sequence number of its write, and a value. Records are ordered by key, and
// records of one key from the newest to the oldest.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "support.h"

namespace workloads::store {

struct Record {
  std::uint64_t key, sequence, value;
  bool operator<(const Record& other) const {
    return key != other.key ? key < other.key : sequence > other.sequence;
  }
};

/// The number of users of an object, guarded by the lock of the store. At 0 the object is deleted.
struct Counted {
  std::uint32_t references = 1;
};

/// A skip list. Any number of threads may search while one thread adds: it publishes nodes by release
/// stores, and no thread removes them.
class Memtable : public Counted {
 public:
  Memtable() = default;
  ~Memtable() {
    for (Node* node = first_.next[0].load(); node != nullptr;)
      delete std::exchange(node, node->next[0].load());
  }
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  /// For one thread at a time.
  void add(const Record& record) {
    std::array<Node*, kLevels> before;
    seek(record, &before);
    unsigned height = 1;
    while (height < kLevels && random_.below(4) == 0) ++height;
    Node* const node = new Node{record, {}};
    for (unsigned level = 0; level < height; ++level) {
      node->next[level].store(before[level]->next[level].load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
      before[level]->next[level].store(node, std::memory_order_release);
    }
    ++size_;
  }

  /// Sets `value` to the key's newest value that is not newer than `sequence`. Returns false if the table
  /// has no such value.
  bool get(std::uint64_t key, std::uint64_t sequence, std::uint64_t& value) const {
    const Node* const node = seek({key, sequence, 0}, nullptr);
    if (node == nullptr || node->record.key != key) return false;
    value = node->record.value;
    return true;
  }

  /// For the thread that adds.
  std::size_t size() const { return size_; }

  /// Calls `function(record)` in order.
  template <class Function>
  void for_each(Function function) const {
    for (const Node* node = next(&first_, 0); node != nullptr; node = next(node, 0)) function(node->record);
  }

 private:
  static constexpr unsigned kLevels = 12;  // as LevelDB's
  struct Node {
    Record record;
    std::array<std::atomic<Node*>, kLevels> next;
  };

  static Node* next(const Node* node, unsigned level) {
    return node->next[level].load(std::memory_order_acquire);
  }

  /// Returns the first node that is not before `record`, or null if all nodes are. Sets `before` to the
  /// last node before it on each level.
  Node* seek(const Record& record, std::array<Node*, kLevels>* before) const {
    Node* node = const_cast<Node*>(&first_);
    for (unsigned level = kLevels; level-- > 0;) {
      while (Node* const after = next(node, level)) {
        if (!(after->record < record)) break;
        node = after;
      }
      if (before != nullptr) (*before)[level] = node;
    }
    return next(node, 0);
  }

  Node first_{};
  std::size_t size_ = 0;
  CheapRandom random_{1};
};

/// Sorted records that do not change.
using Table = std::vector<Record>;

inline bool get(const Table& table, std::uint64_t key, std::uint64_t sequence, std::uint64_t& value) {
  const auto found = std::lower_bound(table.begin(), table.end(), Record{key, sequence, 0});
  if (found == table.end() || found->key != key) return false;
  value = found->value;
  return true;
}

/// The tables that the store has at one time, the newest first.
struct Version : Counted {
  std::vector<std::shared_ptr<const Table>> tables;
  std::uint32_t seeks = 0;  // searches that looked into more than one table; guarded by the store's lock
};

/// Returns one table with the newest record of each key.
inline std::shared_ptr<const Table> merge(const std::vector<std::shared_ptr<const Table>>& tables) {
  Table all;
  for (const auto& table : tables) all.insert(all.end(), table->begin(), table->end());
  std::ranges::sort(all, std::less<>{});
  const auto rest = std::ranges::unique(all, {}, &Record::key);
  all.erase(rest.begin(), rest.end());
  return std::make_shared<const Table>(std::move(all));
}

}  // namespace workloads::store
