// SPDX-License-Identifier: Apache-2.0
// Memory for objects of one type. A thread takes objects from a cache of its own, which exchanges magazines
// with a zone that all threads share (Bonwick and Adams, USENIX 2001; FreeBSD's zones do the same with
// "buckets").
//
// A section takes a magazine from the zone or puts one there. It may lie inside of another section, because
// a thread may make packets while it holds a socket's lock. An empty zone grows. Its destructor returns the
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "network/locking.h"

namespace workloads::network {

inline constexpr std::uint32_t kMagazine = 32;  // objects

/// `Item` must have `next` and `next_magazine`.
template <class Item>
class Zone {
 public:
  /// `magazines`: how many full magazines the zone has at first.
  explicit Zone(unsigned magazines = 1) {
    for (; magazines != 0; --magazines) put(grow());
  }

  /// Returns a full magazine, whose items are linked by `next`.
  Item* take() {
    const std::lock_guard lock(mutex_);
    if (full_ == nullptr) return grow();
    return std::exchange(full_, full_->next_magazine);
  }
  void give(Item* magazine) {
    const std::lock_guard lock(mutex_);
    put(magazine);
  }

 private:
  void put(Item* magazine) {
    magazine->next_magazine = full_;
    full_ = magazine;
  }
  Item* grow() {
    Item* const items = slabs_.emplace_back(new Item[kMagazine]).get();
    for (std::uint32_t i = 0; i + 1 < kMagazine; ++i) items[i].next = &items[i + 1];
    return items;
  }

  Mutex mutex_;
  alignas(128) Item* full_ = nullptr;
  std::vector<std::unique_ptr<Item[]>> slabs_;
};

/// The cache of one thread.
template <class Item>
class Cache {
 public:
  explicit Cache(Zone<Item>& zone) : zone_(zone) {}

  Item* take() {
    if (current_.items == nullptr) {
      std::swap(current_, spare_);
      if (current_.items == nullptr) current_ = {zone_.take(), kMagazine};
    }
    --current_.number;
    return std::exchange(current_.items, current_.items->next);
  }
  void give(Item* item) {
    if (current_.number == kMagazine) {
      if (spare_.number == kMagazine) zone_.give(spare_.items);
      spare_ = std::exchange(current_, {});
    }
    item->next = current_.items;
    current_.items = item;
    ++current_.number;
  }

 private:
  struct Magazine {
    Item* items = nullptr;
    std::uint32_t number = 0;
  };

  Zone<Item>& zone_;
  Magazine current_, spare_;
};

}  // namespace workloads::network
