// SPDX-License-Identifier: Apache-2.0
// The memory of items: pages of 1 MB, each cut into chunks of one size. Sizes of slab classes grow by a
// quarter from 96 bytes, as memcached's. Callers hold the lock of all slabs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "item.h"

namespace workloads::cache_server {

class Slabs {
 public:
  static constexpr unsigned kMostClasses = 48;
  static constexpr std::size_t kPageBytes = 1 << 20;

  explicit Slabs(std::size_t memory_bytes)
      : pages_(memory_bytes / kPageBytes),
        memory_(static_cast<std::byte*>(::operator new(pages_* kPageBytes, kAlignment))) {
    std::size_t bytes = kLeastChunkBytes;
    for (; classes_ < kMostClasses && bytes <= kPageBytes / 2; ++classes_) {
      class_[classes_].chunk_bytes = bytes;
      bytes = (bytes + bytes / 4 + 7) / 8 * 8;
    }
  }

  /// Returns the class of items of that size, or kMostClasses if they are too large.
  unsigned class_of(std::size_t item_bytes) const {
    for (unsigned i = 0; i < classes_; ++i)
      if (item_bytes <= class_[i].chunk_bytes) return i;
    return kMostClasses;
  }

  /// Returns a chunk, or null if memory is full.
  Item* allocate(unsigned slab_class, std::size_t item_bytes) {
    Class& from = class_[slab_class];
    if (from.free.empty() && from.uncut == 0 && !take_page(from)) return nullptr;
    from.requested_bytes += item_bytes;
    if (!from.free.empty()) {
      Item* const item = from.free.back();
      from.free.pop_back();
      return item;
    }
    --from.uncut;
    ++from.cut;
    auto* const item = reinterpret_cast<Item*>(from.next_chunk);
    from.next_chunk += from.chunk_bytes;
    return item;
  }

  void release(Item* item) {
    Class& to = class_[item->slab_class];
    to.requested_bytes -= item->bytes();
    item->flags = kFree;
    to.free.push_back(item);
  }

  std::size_t requested_bytes(unsigned slab_class) const { return class_[slab_class].requested_bytes; }
  /// Returns the number of chunks that items use.
  std::size_t used_chunks(unsigned slab_class) const {
    return class_[slab_class].cut - class_[slab_class].free.size();
  }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  static constexpr std::size_t kLeastChunkBytes = 96;
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  struct Class {
    std::size_t chunk_bytes = 0;
    std::vector<Item*> free;
    std::byte* next_chunk = nullptr;  // of the last page
    std::size_t uncut = 0;            // chunks behind it
    std::size_t cut = 0;
    std::size_t requested_bytes = 0;
  };

  bool take_page(Class& to) {
    if (pages_taken_ == pages_) return false;
    to.next_chunk = memory_.get() + pages_taken_++ * kPageBytes;
    to.uncut = kPageBytes / to.chunk_bytes;
    return true;
  }

  std::size_t pages_, pages_taken_ = 0;
  std::unique_ptr<std::byte[], Free> memory_;
  unsigned classes_ = 0;
  std::array<Class, kMostClasses> class_;
};

}  // namespace workloads::cache_server
