// SPDX-License-Identifier: Apache-2.0
// An AVL tree under one lock: searches, insertions and removals of random keys. Written from the TxSampler
// paper (Table 2, "elide read lock") and the arguments of HTMBench's runs: half of the keys are present at
// the start, and every operation is an insertion or a removal.
//
//   original   an operation is one section under a mutex. An insertion allocates in it, a removal frees
//   read-held  a reader-writer lock that counts readers under a mutex. So a library elides only writers.
//              An operation searches as a reader. If it must change the tree, it takes the lock again as
//              the writer and searches again
//   read-lock  the same with a reader-writer lock that a library may elide
//   upgrade    an elision::shared_mutex of libelision-api: an operation searches as a reader, and becomes
//              the writer only where it begins to write. If another thread reads, it takes the lock
//              again as the writer
//
// In the original, an operation that has fallen back to the lock stops all others, even while it only
// reads. With read-lock and upgrade, only writers do. In the tree (avl_tree.h) any two changes conflict.
//
// Check: key_set.h.
#include "case_studies/avl_tree.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "case_studies/key_set.h"
#include "command_line.h"
#include "elision/elision.hpp"
#include "support.h"

namespace {

using workloads::AvlTree;
using workloads::Operation;
using workloads::SetOptions;

// ---- An operation under each variant's lock. Each returns whether it changed the tree.

/// Inserts or erases the key at its place.
void change(AvlTree& tree, const AvlTree::Place& place, const Operation& operation) {
  operation.kind == Operation::Kind::kInsert ? tree.insert_at(place, operation.key) : tree.erase_at(place);
}

/// Call it while no other thread uses the tree.
bool search_and_change(AvlTree& tree, const Operation& operation) {
  const AvlTree::Place place = tree.find(operation.key);
  if (!operation.changes(place.is_there())) return false;
  change(tree, place, operation);
  return true;
}

class Original {
 public:
  bool run(AvlTree& tree, const Operation& operation) {
    const std::lock_guard lock(mutex_);
    return search_and_change(tree, operation);
  }

 private:
  std::mutex mutex_;
};

/// A lock for std::shared_lock and std::lock_guard, as std::shared_mutex. Writers hold the mutex. A waiting
/// writer takes the lock before readers that arrive later.
class CountedReaders {
 public:
  void lock_shared() {
    mutex_.lock();
    while (writers_waiting_ != 0) let_others_in();
    ++readers_;
    mutex_.unlock();
  }
  void unlock_shared() {
    const std::lock_guard lock(mutex_);
    --readers_;
  }
  void lock() {
    mutex_.lock();
    if (readers_ == 0) return;
    ++writers_waiting_;
    while (readers_ != 0) let_others_in();
    --writers_waiting_;
  }
  void unlock() { mutex_.unlock(); }

 private:
  void let_others_in() {
    mutex_.unlock();
    std::this_thread::yield();
    mutex_.lock();
  }

  std::mutex mutex_;
  std::uint32_t readers_ = 0, writers_waiting_ = 0;
};

template <class SharedMutex>
class ReadLock {
 public:
  bool run(AvlTree& tree, const Operation& operation) {
    {
      const std::shared_lock lock(mutex_);
      if (!operation.changes(tree.find(operation.key).is_there())) return false;
    }
    const std::lock_guard lock(mutex_);
    return search_and_change(tree, operation);
  }

 private:
  SharedMutex mutex_;
};

class Upgrade {
 public:
  bool run(AvlTree& tree, const Operation& operation) {
    mutex_.lock_shared();
    const AvlTree::Place place = tree.find(operation.key);
    bool changes = operation.changes(place.is_there());
    if (!changes) {
      mutex_.unlock_shared();
    } else if (mutex_.try_upgrade()) {
      change(tree, place, operation);
      mutex_.unlock();
    } else {
      mutex_.unlock_shared();
      const std::lock_guard lock(mutex_);
      changes = search_and_change(tree, operation);
    }
    return changes;
  }

 private:
  elision::shared_mutex mutex_;
};

/// The lock has lines of its own.
template <class Lock>
class TreeUnderLock {
 public:
  explicit TreeUnderLock(const SetOptions&) {}
  void load(const std::vector<std::int32_t>& keys) {
    for (const std::int32_t key : keys) tree_.insert_at(tree_.find(key), key);
  }
  bool run(const Operation& operation, workloads::CheapRandom&) { return lock_.run(tree_, operation); }
  bool check() const { return tree_.check(); }
  std::size_t size() const { return tree_.size(); }
  std::int64_t sum() const { return tree_.sum(); }

 private:
  alignas(128) AvlTree tree_;
  alignas(128) Lock lock_;
};

}  // namespace

int main(int argc, char** argv) {
  SetOptions options;
  workloads::CommandLine line("avl_tree", "An AVL tree under one lock");
  workloads::add_set_options(line, options, {"original", "read-held", "read-lock", "upgrade"});
  if (const auto code = line.parse(argc, argv)) return *code;
  if (options.common.variant == "read-held")
    return workloads::run_set<TreeUnderLock<ReadLock<CountedReaders>>>(options);
  if (options.common.variant == "read-lock")
    return workloads::run_set<TreeUnderLock<ReadLock<std::shared_mutex>>>(options);
  if (options.common.variant == "upgrade") return workloads::run_set<TreeUnderLock<Upgrade>>(options);
  return workloads::run_set<TreeUnderLock<Original>>(options);
}
