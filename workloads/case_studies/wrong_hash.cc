// SPDX-License-Identifier: Apache-2.0
// A hash table whose hash maps all keys to few slots: dedup's table (TxSampler paper, section 8.1) on its
// own. Threads search for, insert and erase random keys, each operation in a section under one mutex.
//
//   wrong  2.2 % of the slots are used. A section walks a long chain, which other sections change
//   right  all slots are used
//
// Nodes are heap objects of 24 bytes. Insertions allocate and removals free in their sections. Check:
// key_set.h, and each key in its slot.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "case_studies/chained_table.h"
#include "case_studies/key_set.h"
#include "command_line.h"
#include "support.h"

namespace {

using workloads::Operation;
using workloads::SetOptions;
using workloads::SlotHash;

constexpr std::size_t kKeysPerSlot = 2;  // with the right hash, where half of the keys are there

struct Key {
  std::uint64_t number;
  bool operator==(const Key&) const = default;
  std::uint64_t code() const { return number; }
};

class Table {
 public:
  explicit Table(const SetOptions& options)
      : table_(options.range / (2 * kKeysPerSlot) + 1,
               options.common.variant == "wrong" ? SlotHash::kFew : SlotHash::kAll) {}

  void load(const std::vector<std::int32_t>& keys) {
    for (const std::int32_t key : keys) table_.insert({static_cast<std::uint64_t>(key)}, {});
  }

  bool run(const Operation& operation, workloads::CheapRandom&) {
    const Key key{static_cast<std::uint64_t>(operation.key)};
    const std::lock_guard lock(mutex_);
    if (operation.kind == Operation::Kind::kErase) return table_.erase(key);
    if (!operation.changes(table_.find(key) != nullptr)) return false;
    table_.insert(key, {});
    return true;
  }

  bool check() const {
    bool right = true;
    table_.for_each(
        [&](std::size_t slot, const Key& key, Nothing) { right = right && table_.slot_number(key) == slot; });
    return right;
  }
  std::size_t size() const {
    std::size_t number = 0;
    table_.for_each([&](std::size_t, const Key&, Nothing) { ++number; });
    return number;
  }
  std::int64_t sum() const {
    std::int64_t sum = 0;
    table_.for_each(
        [&](std::size_t, const Key& key, Nothing) { sum += static_cast<std::int64_t>(key.number); });
    return sum;
  }

 private:
  struct Nothing {};

  alignas(128) std::mutex mutex_;
  alignas(128) workloads::ChainedTable<Key, Nothing> table_;
};

}  // namespace

int main(int argc, char** argv) {
  SetOptions options;
  options.common.variant = "wrong";
  workloads::CommandLine line("wrong_hash", "A hash table whose hash maps all keys to few slots");
  workloads::add_set_options(line, options, {"wrong", "right"});
  if (const auto code = line.parse(argc, argv)) return *code;
  return workloads::run_set<Table>(options);
}
