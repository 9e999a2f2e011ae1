// SPDX-License-Identifier: Apache-2.0
// A hash table of a fixed number of slots with a chain of nodes each, and the two hashes of the case
// studies. Callers hold a lock. A search reads one slot and the nodes of its chain, each a heap object;
// insert() and erase() also allocate or free a node and write one link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace workloads {

/// How the table maps a key's hash code to a slot.
enum class SlotHash {
  kFew,  // 2.2 % of the slots, as dedup's hash did (TxSampler paper, section 8.1)
  kAll,  // all slots alike
};

inline std::size_t slot_of(std::uint64_t code, SlotHash hash, std::size_t slots) {
  // A bijection (the finaliser of SplitMix64): keys that differ little get slots far apart.
  code = (code ^ (code >> 30)) * 0xbf58476d1ce4e5b9u;
  code = (code ^ (code >> 27)) * 0x94d049bb133111ebu;
  code ^= code >> 31;
  if (hash == SlotHash::kAll) return code % slots;
  const std::size_t used = slots * 22 / 1000;
  return code % (used == 0 ? 1 : used) * slots / (used == 0 ? 1 : used);
}

/// `Key`: has == and a member code() that returns the same number for equal keys.
template <class Key, class Value>
class ChainedTable {
 public:
  struct Node {
    Node* next;
    Key key;
    Value value;
  };

  ChainedTable(std::size_t slots, SlotHash hash) : slots_(slots), hash_(hash) {}
  ~ChainedTable() {
    for (Node* node : slots_)
      while (node != nullptr) delete std::exchange(node, node->next);
  }
  ChainedTable(const ChainedTable&) = delete;
  ChainedTable& operator=(const ChainedTable&) = delete;

  /// Returns the key's value, or null if the table does not have the key.
  Value* find(const Key& key) const {
    for (Node* node = slot(key); node != nullptr; node = node->next)
      if (node->key == key) return &node->value;
    return nullptr;
  }

  /// Adds a new key at the front of its chain. The value does not move until erase().
  Value& insert(const Key& key, const Value& value) {
    Node*& first = slot(key);
    first = new Node{first, key, value};
    return first->value;
  }

  /// Returns false if the table does not have the key.
  bool erase(const Key& key) {
    Node** link = &slot(key);
    while (*link != nullptr && !((*link)->key == key)) link = &(*link)->next;
    if (*link == nullptr) return false;
    Node* const node = *link;
    *link = node->next;
    delete node;
    return true;
  }

  /// Calls `function(slot number, key, value)` for each node.
  template <class Function>
  void for_each(Function function) const {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      for (const Node* node = slots_[i]; node != nullptr; node = node->next)
        function(i, node->key, node->value);
  }

  std::size_t slot_number(const Key& key) const { return slot_of(key.code(), hash_, slots_.size()); }

  /// Returns the share of the slots that have nodes.
  double used_percent() const {
    std::size_t used = 0;
    for (const Node* node : slots_) used += node != nullptr ? 1 : 0;
    return 100.0 * static_cast<double>(used) / static_cast<double>(slots_.size());
  }

 private:
  Node*& slot(const Key& key) { return slots_[slot_number(key)]; }
  Node* slot(const Key& key) const { return slots_[slot_number(key)]; }

  std::vector<Node*> slots_;
  const SlotHash hash_;
};

}  // namespace workloads
