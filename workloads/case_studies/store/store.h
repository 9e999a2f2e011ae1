// SPDX-License-Identifier: Apache-2.0
// A key-value store in memory with LevelDB's structure: writes go to a memtable, a full memtable becomes a
// table, and a version lists the tables that exist at one time. get() holds references to all three while
// it searches.
//
// There are two mutexes. One lets writers run one by one. The other, the lock of the store, guards the
// pointers, the last sequence number, and the reference counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "case_studies/store/tables.h"

namespace workloads::store {

class Store {
 public:
  /// `records`: the size of a full memtable. `split`: get() takes and gives back each reference in a
  /// section of its own.
  Store(std::size_t records, bool split) : records_(records), split_(split) {}
  ~Store() {
    delete memtable_;
    delete full_;
    delete version_;
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Returns false if the key was never written.
  bool get(std::uint64_t key, std::uint64_t& value) {
    View view;
    split_ ? take_one_by_one(view) : take_together(view);
    const bool found = view.memtable->get(key, view.sequence, value) ||
                       (view.full != nullptr && view.full->get(key, view.sequence, value)) ||
                       search_tables(view, key, value);
    split_ ? give_back_one_by_one(view) : give_back_together(view);
    return found;
  }

  void put(std::uint64_t key, std::uint64_t value) {
    const std::lock_guard writer(writers_);
    const std::uint64_t sequence = add(key, value);
    const std::lock_guard lock(mutex_);
    sequence_ = sequence;
  }

  /// Writes a record before threads start. Only making a table takes a section.
  void load(std::uint64_t key, std::uint64_t value) { sequence_ = add(key, value); }

  /// Returns the first error, or an empty text if each remaining object has the right number of references.
  /// Call it after all threads have ended.
  std::string complaint() const {
    if (memtable_->references != 1 || version_->references != 1 || full_ != nullptr)
      return "LOST references: " + std::to_string(memtable_->references) + " to the memtable and " +
             std::to_string(version_->references) + " to the version instead of 1";
    if (memtables_ == 1 && versions_ == 1) return {};
    return "LOST references: " + std::to_string(memtables_) + " memtables and " + std::to_string(versions_) +
           " versions instead of 1 are left";
  }

  /// Returns the number of memtables that became tables.
  std::uint64_t tables_made() const { return tables_made_; }

 private:
  static constexpr std::size_t kMostTables = 4;

  /// The objects that a search reads.
  struct View {
    std::uint64_t sequence = 0;
    Memtable *memtable = nullptr, *full = nullptr;
    Version* version = nullptr;
    bool has_seeked = false;
  };

  // ---- References. All under the lock.

  template <class Object>
  static Object* take(Object* object) {
    if (object != nullptr) ++object->references;
    return object;
  }
  void give_back(Memtable* memtable) {
    if (memtable == nullptr || --memtable->references != 0) return;
    --memtables_;
    delete memtable;
  }
  void give_back(Version* version) {
    if (--version->references != 0) return;
    --versions_;
    delete version;
  }

  void take_together(View& view) {
    const std::lock_guard lock(mutex_);
    view.sequence = sequence_;
    view.memtable = take(memtable_);
    view.full = take(full_);
    view.version = take(version_);
  }
  void give_back_together(View& view) {
    const std::lock_guard lock(mutex_);
    if (view.has_seeked) ++view.version->seeks;
    give_back(view.memtable);
    give_back(view.full);
    give_back(view.version);
  }

  /// Records move from the memtable to the full memtable and then to a version, so a search in this order
  /// misses no record. It takes the sequence number last, because a newer version may have only the newest
  /// record of a key.
  void take_one_by_one(View& view) {
    const auto in_section = [this](auto body) {
      const std::lock_guard lock(mutex_);
      body();
    };
    in_section([&] { view.memtable = take(memtable_); });
    in_section([&] { view.full = take(full_); });
    in_section([&] {
      view.version = take(version_);
      view.sequence = sequence_;
    });
  }
  void give_back_one_by_one(View& view) {
    const auto in_section = [this](auto body) {
      const std::lock_guard lock(mutex_);
      body();
    };
    if (view.has_seeked) in_section([&] { ++view.version->seeks; });
    in_section([&] { give_back(view.memtable); });
    if (view.full != nullptr) in_section([&] { give_back(view.full); });
    in_section([&] { give_back(view.version); });
  }

  static bool search_tables(View& view, std::uint64_t key, std::uint64_t& value) {
    std::size_t searched = 0;
    for (const auto& table : view.version->tables) {
      view.has_seeked = ++searched > 1;
      if (workloads::store::get(*table, key, view.sequence, value)) return true;
    }
    return false;
  }

  /// Called by the writer. Returns the record's sequence number.
  std::uint64_t add(std::uint64_t key, std::uint64_t value) {
    if (memtable_->size() == records_) make_table();
    memtable_->add({key, sequence_ + 1, value});
    return sequence_ + 1;
  }

  /// Called by the writer: the full memtable becomes a table of a new version.
  void make_table() {
    auto memtable = std::make_unique<Memtable>();
    {
      const std::lock_guard lock(mutex_);
      full_ = std::exchange(memtable_, memtable.release());
      ++memtables_;
    }
    auto version = std::make_unique<Version>();
    Table table;
    full_->for_each([&](const Record& record) { table.push_back(record); });
    version->tables.push_back(std::make_shared<const Table>(std::move(table)));
    version->tables.insert(version->tables.end(), version_->tables.begin(), version_->tables.end());
    if (version->tables.size() > kMostTables) version->tables = {merge(version->tables)};
    const std::lock_guard lock(mutex_);
    give_back(std::exchange(version_, version.release()));
    give_back(std::exchange(full_, nullptr));
    ++versions_;
    ++tables_made_;
  }

  const std::size_t records_;
  const bool split_;
  alignas(128) std::mutex writers_;
  alignas(128) std::mutex mutex_;
  // Guarded by mutex_; only a writer changes the pointers and the sequence number.
  alignas(128) std::uint64_t sequence_ = 0;
  Memtable* memtable_ = new Memtable;
  Memtable* full_ = nullptr;
  Version* version_ = new Version;
  std::uint32_t memtables_ = 1, versions_ = 1;
  std::uint64_t tables_made_ = 0;
};

}  // namespace workloads::store
