// SPDX-License-Identifier: Apache-2.0
// Checks the cache after all threads have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cache.h"
#include "client.h"

namespace workloads::cache_server {

/// The number of sets of each client. They determine which stamps a value may have.
using Sets = std::vector<std::uint64_t>;

inline bool was_written(std::uint64_t stamp, const Sets& sets) {
  const std::uint64_t writer = stamp >> 48, number = stamp & ((std::uint64_t{1} << 48) - 1);
  return writer < sets.size() && number >= 1 && number <= sets[writer];
}

template <class Locks>
class Check {
 public:
  Check(Cache<Locks>& cache, const Traffic& traffic, const Sets& sets)
      : cache_(cache), traffic_(traffic), sets_(sets) {}

  /// Returns the first error, or null if all is right. `stored`: the number of sets that the cache did not
  /// refuse.
  const char* complaint(std::uint64_t stored) {
    for (unsigned slab_class = 0; slab_class < Slabs::kMostClasses; ++slab_class)
      if (const char* const wrong = complaint_of_list(slab_class)) return wrong;
    const ItemStatistics& statistics = cache_.statistics();
    if (statistics.linked != stored) return "statistics: sets and linked items differ";
    if (statistics.items != items_) return "statistics: not the number of items in the lists";
    if (statistics.bytes != bytes_) return "statistics: not the bytes of the items in the lists";
    if (cache_.chains().count(items_) != items_) return "hash table: not as many items as in the lists";
    return nullptr;
  }

 private:
  const char* complaint_of_list(unsigned slab_class) {
    const LruLists& lists = cache_.lists();
    const std::size_t size = lists.size(slab_class);
    std::size_t found = 0;
    const Item* before = nullptr;
    for (Item* item = lists.head(slab_class); item != nullptr; before = item, item = item->next) {
      if (++found > size) return "list: more items than its size";
      if (item->previous != before) return "list: not the same from both ends";
      if (item->slab_class != slab_class) return "list: an item of another class";
      if (const char* const wrong = complaint_of_item(item)) return wrong;
    }
    if (found != size || lists.tail(slab_class) != before) return "list: fewer items than its size";
    if (cache_.slabs().used_chunks(slab_class) != size) return "memory: a chunk neither in use nor free";
    if (cache_.slabs().requested_bytes(slab_class) != bytes_ - bytes_before_) return "memory: bytes in use";
    bytes_before_ = bytes_;
    return nullptr;
  }

  const char* complaint_of_item(Item* item) {
    ++items_;
    bytes_ += item->bytes();
    if (item->flags != kLinked) return "item: in a list but not linked";
    if (item->references != 0) return "item: a reference that nobody has";
    const std::string_view key = item->key_text();
    if (cache_.chains().find(key, hash_of(key)) != item) return "hash table: another item of this key";
    const auto index =
        static_cast<std::uint32_t>(std::strtoul(std::string(item->key_text()).c_str(), nullptr, 16));
    if (!was_written(stamp_in({item->value(), traffic_.value_bytes}, index), sets_))
      return "value: one that nobody set";
    return nullptr;
  }

  Cache<Locks>& cache_;
  const Traffic traffic_;
  const Sets& sets_;
  std::uint64_t items_ = 0, bytes_ = 0, bytes_before_ = 0;
};

}  // namespace workloads::cache_server
