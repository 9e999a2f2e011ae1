// SPDX-License-Identifier: Apache-2.0
// The locks of two versions of memcached. Both versions have one lock for all slabs and one for the
// statistics of items.
//
//   Coarse  1.4.5: one lock around every operation on items. A get is three sections: find the item and
//           count a reference, move it in its list if it has aged, give back the reference. The first
//           section also computes the hash.
//   Fine    1.4.36: striped locks for items, chosen by the hash, and one lock for the list of each slab
//           class. A get is two sections. Atomic instructions count references.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "chains.h"
#include "slabs.h"

namespace workloads::cache_server {

struct Mutex {
  void lock() { pthread_mutex_lock(&mutex); }
  bool try_lock() { return pthread_mutex_trylock(&mutex) == 0; }
  void unlock() { pthread_mutex_unlock(&mutex); }
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};
using Guard = std::lock_guard<Mutex>;

/// The locks that both versions have, each on lines of its own.
struct CommonLocks {
  alignas(128) Mutex slabs;
  alignas(128) Mutex statistics;
};

class Coarse : public CommonLocks {
 public:
  static constexpr bool kGetBumps = false, kAllocatesInside = true;

  explicit Coarse(unsigned) {}

  class ItemSection {
   public:
    ItemSection(Coarse& locks, std::string_view key) : guard_(locks.cache), key_(key) {}
    std::uint32_t hash() const { return hash_of(key_); }

   private:
    const Guard guard_;
    const std::string_view key_;
  };
  /// Does nothing: the caller already holds the lock of all items.
  struct ListSection {
    ListSection(Coarse&, unsigned) {}
  };

  static std::uint16_t up(std::uint16_t& references) { return ++references; }
  static std::uint16_t down(std::uint16_t& references) { return --references; }
  /// A number that all threads change, under the lock of all items.
  class alignas(64) Counter {
   public:
    std::uint64_t add(std::int64_t number) { return value_ += static_cast<std::uint64_t>(number); }

   private:
    std::uint64_t value_ = 0;
  };

  alignas(128) Mutex cache;
};

class Fine : public CommonLocks {
 public:
  static constexpr bool kGetBumps = true, kAllocatesInside = false;

  explicit Fine(unsigned threads)
      : item_locks_(threads < 3    ? 1024
                    : threads == 3 ? 2048
                    : threads == 4 ? 4096
                                   : 8192),
        items_(std::make_unique<Mutex[]>(item_locks_)) {}

  class ItemSection {
   public:
    ItemSection(Fine& locks, std::string_view key) : hash_(hash_of(key)), guard_(locks.item(hash_)) {}
    std::uint32_t hash() const { return hash_; }

   private:
    const std::uint32_t hash_;
    const Guard guard_;
  };
  class ListSection {
   public:
    ListSection(Fine& locks, unsigned slab_class) : guard_(locks.lists_[slab_class]) {}

   private:
    const Guard guard_;
  };

  static std::uint16_t up(std::uint16_t& references) { return ++std::atomic_ref(references); }
  static std::uint16_t down(std::uint16_t& references) { return --std::atomic_ref(references); }
  /// A number that all threads change, under its own lock.
  class alignas(64) Counter {
   public:
    std::uint64_t add(std::int64_t number) {
      const Guard guard(lock_);
      return value_ += static_cast<std::uint64_t>(number);
    }

   private:
    Mutex lock_;
    std::uint64_t value_ = 0;
  };

  Mutex& item(std::uint32_t hash) { return items_[hash & (item_locks_ - 1)]; }

 private:
  const std::size_t item_locks_;
  const std::unique_ptr<Mutex[]> items_;
  alignas(128) Mutex lists_[Slabs::kMostClasses];
};

}  // namespace workloads::cache_server
