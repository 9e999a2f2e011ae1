// SPDX-License-Identifier: Apache-2.0
// Allocates memory for an item. If no memory is free, evicts another item. Part of cache.h.
//
// Coarse: one section. It looks for an expired item among the 50 at the list's tail and asks for a chunk.
// If no chunk is free, it evicts one of these 50 items that nobody refers to.
// Fine: no section of its own. It looks at the tail under the list's lock, asks for a chunk, and evicts. It
// takes an item only if that item's lock is free.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "cache.h"

namespace workloads::cache_server {

/// The properties of an item that has no memory yet.
struct NewItem {
  NewItem(std::string_view given_key, std::uint32_t given_value_bytes)
      : key(given_key), value_bytes(given_value_bytes) {
    suffix_bytes = static_cast<std::uint8_t>(
        std::snprintf(suffix.data(), suffix.size(), " %d %u\r\n", 0, value_bytes - 2));
  }

  std::uint32_t bytes() const {
    return static_cast<std::uint32_t>(sizeof(Item) + key.size()) + 1 + suffix_bytes + value_bytes;
  }

  /// Writes the item into its memory and returns it. It has one reference.
  Item* write_to(Item* item, unsigned slab_class) const {
    item->next = item->previous = item->chained = nullptr;
    item->time = item->expiry = 0;
    item->value_bytes = value_bytes;
    item->references = 1;
    item->suffix_bytes = suffix_bytes;
    item->flags = 0;
    item->slab_class = static_cast<std::uint8_t>(slab_class);
    item->key_bytes = static_cast<std::uint8_t>(key.size());
    std::memcpy(item->key(), key.data(), key.size());
    item->key()[key.size()] = '\0';
    std::memcpy(item->suffix(), suffix.data(), suffix_bytes);
    return item;
  }

  const std::string_view key;
  const std::uint32_t value_bytes;
  std::array<char, 40> suffix;
  std::uint8_t suffix_bytes;
};

template <class Locks>
Item* Cache<Locks>::allocate(std::string_view key, std::uint32_t value_bytes) {
  if constexpr (Locks::kAllocatesInside)
    return allocate_inside(key, value_bytes);
  else
    return allocate_outside(key, value_bytes);
}

template <class Locks>
Item* Cache<Locks>::allocate_inside(std::string_view key, std::uint32_t value_bytes) {
  const ItemSection section(locks_, key);
  const NewItem wanted(key, value_bytes);
  const unsigned slab_class = slabs_.class_of(wanted.bytes());
  Item* const item = look_and_take(slab_class, wanted.bytes());
  return item == nullptr ? nullptr : wanted.write_to(item, slab_class);
}

template <class Locks>
Item* Cache<Locks>::look_and_take(unsigned slab_class, std::size_t bytes) {
  constexpr int kLooks = 50;
  const auto find_unused = [&](auto suits) {
    Item* item = lists_.tail(slab_class);
    for (int looks = kLooks; looks > 0 && item != nullptr; --looks, item = item->previous)
      if (item->references == 0 && suits(item)) return item;
    return static_cast<Item*>(nullptr);
  };
  const auto give_up = [&](Item* item) {
    unlink(item, hash_of(item->key_text()));
    free(item);
  };
  if (Item* const expired = find_unused([&](Item* item) { return has_expired(item); })) give_up(expired);
  if (Item* const item = take(slab_class, bytes)) return item;
  if (Item* const last = find_unused([](Item*) { return true; })) {
    count_eviction();
    give_up(last);
  }
  return take(slab_class, bytes);
}

template <class Locks>
Item* Cache<Locks>::allocate_outside(std::string_view key, std::uint32_t value_bytes) {
  constexpr int kTries = 10;
  const NewItem wanted(key, value_bytes);
  const unsigned slab_class = slabs_.class_of(wanted.bytes());
  for (int i = 0; i < kTries; ++i) {
    look_at_tail(slab_class, false);
    if (Item* const item = take(slab_class, wanted.bytes())) return wanted.write_to(item, slab_class);
    look_at_tail(slab_class, true);
  }
  return nullptr;
}

template <class Locks>
void Cache<Locks>::look_at_tail(unsigned slab_class, bool evict) {
  constexpr int kLooks = 5;
  Item* found = nullptr;
  Mutex* lock = nullptr;  // of `found`
  {
    const ListSection section(locks_, slab_class);
    Item* item = lists_.tail(slab_class);
    for (int looks = kLooks; looks > 0 && item != nullptr && found == nullptr;
         --looks, item = item->previous) {
      const std::uint32_t hash = hash_of(item->key_text());
      lock = &locks_.item(hash);
      if (!lock->try_lock()) continue;
      if (Locks::up(item->references) == 1) {
        found = item;
        if (!evict && !has_expired(item)) continue;
        if (evict) count_eviction();
        leave(item, hash);
        lists_.unlink(item);
      } else {
        Locks::down(item->references);
        lock->unlock();
      }
    }
  }
  if (found == nullptr) return;
  drop(found);
  lock->unlock();
}

}  // namespace workloads::cache_server
