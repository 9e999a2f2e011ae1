// SPDX-License-Identifier: Apache-2.0
// The cache: operations on items, each in the critical sections that memcached has, under the locks of
// either version (locks.h). No item expires, and the cache has no threads of its own.
//
// A caller holds a reference to each item that it got or allocated, and reads or writes the value outside
// of sections. The cache frees an item that has left the table as soon as nobody refers to it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>

#include "chains.h"
#include "item.h"
#include "locks.h"
#include "lru_lists.h"
#include "slabs.h"

namespace workloads::cache_server {

inline constexpr std::uint32_t kBumpInterval = 60;  // a get moves its item at most once in so many seconds
inline constexpr std::uint32_t kStart = 2;          // the first second

/// Statistics of items, for all threads. They have a lock of their own.
struct ItemStatistics {
  std::uint64_t items = 0, bytes = 0;     // now
  std::uint64_t linked = 0, evicted = 0;  // ever
};

template <class Locks>
class Cache {
 public:
  struct Sizes {
    std::size_t memory_bytes, items;
    unsigned threads;
  };
  explicit Cache(Sizes sizes) : chains_(sizes.items), locks_(sizes.threads), slabs_(sizes.memory_bytes) {}

  /// Returns the item of that key, or null if the cache has no such item.
  Item* get(std::string_view key) {
    const ItemSection section(locks_, key);
    Item* const item = chains_.find(key, section.hash());
    if (item == nullptr) return nullptr;
    Locks::up(item->references);
    if constexpr (Locks::kGetBumps) bump(item);
    return item;
  }

  /// Call it after a get: it moves the item in its list if the item has aged.
  void update(Item* item) {
    if constexpr (Locks::kGetBumps) return;
    const ItemSection section(locks_, item->key_text());
    bump(item);
  }

  /// Returns an item that is not in the table yet, or null if there is no memory. The caller writes its
  /// value.
  Item* allocate(std::string_view key, std::uint32_t value_bytes);

  /// Puts an allocated item into the table, in the place of an older one with the same key.
  void store(Item* item) {
    const ItemSection section(locks_, item->key_text());
    Item* const old = chains_.find(item->key_text(), section.hash());
    if (old != nullptr) {
      Locks::up(old->references);
      unlink(old, section.hash());
    }
    link(item, section.hash());
    if (old != nullptr) drop(old);
  }

  /// Gives back a reference.
  void release(Item* item) {
    const ItemSection section(locks_, item->key_text());
    drop(item);
  }

  /// The clock of whole seconds. Nobody sets it while threads run.
  void set_time(std::uint32_t seconds) { time_ = seconds; }

  const ItemStatistics& statistics() const { return statistics_; }
  Chains& chains() { return chains_; }
  const LruLists& lists() const { return lists_; }
  const Slabs& slabs() const { return slabs_; }

 private:
  using ItemSection = typename Locks::ItemSection;
  using ListSection = typename Locks::ListSection;

  Item* take(unsigned slab_class, std::size_t bytes) {
    const Guard guard(locks_.slabs);
    return slabs_.allocate(slab_class, bytes);
  }

  void free(Item* item) {
    const Guard guard(locks_.slabs);
    slabs_.release(item);
  }

  void drop(Item* item) {
    if (Locks::down(item->references) == 0 && (item->flags & kLinked) == 0) free(item);
  }

  void bump(Item* item) {
    if (item->time + kBumpInterval >= time_ || (item->flags & kLinked) == 0) return;
    const ListSection section(locks_, item->slab_class);
    lists_.unlink(item);
    item->time = time_;
    lists_.link(item);
  }

  void link(Item* item, std::uint32_t hash) {
    item->flags |= kLinked;
    item->time = time_;
    chains_.insert(item, hash);
    table_items_.add(1);
    {
      const Guard guard(locks_.statistics);
      statistics_.bytes += item->bytes();
      ++statistics_.items;
      ++statistics_.linked;
    }
    item->version = versions_.add(1);
    const ListSection section(locks_, item->slab_class);
    lists_.link(item);
  }

  /// Removes the item from the table and its list, but does not free it.
  void unlink(Item* item, std::uint32_t hash) {
    leave(item, hash);
    const ListSection section(locks_, item->slab_class);
    lists_.unlink(item);
  }

  void leave(Item* item, std::uint32_t hash) {
    item->flags &= static_cast<std::uint8_t>(~kLinked);
    {
      const Guard guard(locks_.statistics);
      statistics_.bytes -= item->bytes();
      --statistics_.items;
    }
    chains_.remove(item, hash);
    table_items_.add(-1);
  }

  bool has_expired(const Item* item) const { return item->expiry != 0 && item->expiry < time_; }
  void count_eviction() {
    const Guard guard(locks_.statistics);
    ++statistics_.evicted;
  }

  // allocation.h
  Item* allocate_inside(std::string_view key, std::uint32_t value_bytes);
  Item* allocate_outside(std::string_view key, std::uint32_t value_bytes);
  Item* look_and_take(unsigned slab_class, std::size_t bytes);
  void look_at_tail(unsigned slab_class, bool evict);

  // Sections only read these members, so they have lines of their own.
  alignas(128) std::uint32_t time_ = kStart;
  Chains chains_;
  alignas(128) Locks locks_;
  alignas(128) Slabs slabs_;
  alignas(128) LruLists lists_;
  alignas(128) ItemStatistics statistics_;
  typename Locks::Counter versions_, table_items_;
};

}  // namespace workloads::cache_server

#include "allocation.h"
