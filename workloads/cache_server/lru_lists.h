// SPDX-License-Identifier: Apache-2.0
// A list of items for each slab class, the newest at the head. As in memcached, heads, tails and sizes are
// three arrays.
#pragma once

#include <array>
#include <cstddef>

#include "item.h"
#include "slabs.h"

namespace workloads::cache_server {

class LruLists {
 public:
  void link(Item* item) {
    Item *&head = heads_[item->slab_class], *&tail = tails_[item->slab_class];
    item->previous = nullptr;
    item->next = head;
    if (item->next != nullptr) item->next->previous = item;
    head = item;
    if (tail == nullptr) tail = item;
    ++sizes_[item->slab_class];
  }

  void unlink(Item* item) {
    if (heads_[item->slab_class] == item) heads_[item->slab_class] = item->next;
    if (tails_[item->slab_class] == item) tails_[item->slab_class] = item->previous;
    if (item->next != nullptr) item->next->previous = item->previous;
    if (item->previous != nullptr) item->previous->next = item->next;
    --sizes_[item->slab_class];
  }

  Item* head(unsigned slab_class) const { return heads_[slab_class]; }
  Item* tail(unsigned slab_class) const { return tails_[slab_class]; }
  std::size_t size(unsigned slab_class) const { return sizes_[slab_class]; }

 private:
  std::array<Item*, Slabs::kMostClasses> heads_{}, tails_{};
  std::array<std::size_t, Slabs::kMostClasses> sizes_{};
};

}  // namespace workloads::cache_server
