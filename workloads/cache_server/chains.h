// SPDX-License-Identifier: Apache-2.0
// The hash table: buckets of chained items. It has the size to which memcached's table grows with so many
// items: at least 65,536 buckets, and at most one and a half items a bucket.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "item.h"

namespace workloads::cache_server {

/// Jenkins' hash of 2006 ("lookup3") for keys of up to 12 bytes: the default of both versions of memcached.
inline std::uint32_t hash_of(std::string_view key) {
  std::uint32_t word[3] = {};
  std::memcpy(word, key.data(), key.size());
  const std::uint32_t begin = 0xdeadbeef + static_cast<std::uint32_t>(key.size());
  std::uint32_t a = begin + word[0], b = begin + word[1], c = begin + word[2];
  const auto mix = [](std::uint32_t& to, std::uint32_t from, int bits) {
    to = (to ^ from) - std::rotl(from, bits);
  };
  mix(c, b, 14);
  mix(a, c, 11);
  mix(b, a, 25);
  mix(c, b, 16);
  mix(a, c, 4);
  mix(b, a, 14);
  mix(c, b, 24);
  return c;
}

class Chains {
 public:
  explicit Chains(std::size_t items) {
    std::size_t buckets = kLeastBuckets;
    while (items > buckets + buckets / 2) buckets *= 2;
    buckets_.resize(buckets);
  }

  /// Returns the item of that key, or null if no chain has one.
  Item* find(std::string_view key, std::uint32_t hash) {
    Item* item = bucket(hash);
    while (item != nullptr && !item->has_key(key)) item = item->chained;
    return item;
  }

  void insert(Item* item, std::uint32_t hash) {
    item->chained = bucket(hash);
    bucket(hash) = item;
  }

  void remove(Item* item, std::uint32_t hash) {
    Item** at = &bucket(hash);
    while (*at != nullptr && !(*at)->has_key(item->key_text())) at = &(*at)->chained;
    if (*at != nullptr) *at = (*at)->chained;
    item->chained = nullptr;
  }

  /// Returns the number of items in all chains, or `most` + 1 if there are more or a chain has no end.
  std::size_t count(std::size_t most) const {
    std::size_t found = 0;
    for (const Item* item : buckets_)
      for (; item != nullptr && found <= most; item = item->chained) ++found;
    return found;
  }

 private:
  static constexpr std::size_t kLeastBuckets = 1 << 16;

  Item*& bucket(std::uint32_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }

  std::vector<Item*> buckets_;
};

}  // namespace workloads::cache_server
