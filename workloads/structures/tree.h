// SPDX-License-Identifier: Apache-2.0
// The red-black tree of the ALE paper (section 3.1). The paper has 1,000,000 nodes and 20 % mutations.
// Sections read a path from the root; mutations write near its end. Nodes have the paper's padding of 16
// words.
#pragma once

#include <cstdint>

#include "stamp/red_black_tree.h"
#include "structures/set_program.h"

namespace workloads::tree {

inline constexpr const char* kDescription = "The ALE paper's red-black tree";

struct Options : structures::SetOptions {
  Options() : SetOptions{.team = {}, .size = 8192, .mutations = 20, .operations = 20000} {}
};

using structures::add_options;
using structures::complaint;

class Set {
 public:
  template <class Transaction>
  bool insert(Transaction& transaction, structures::Key key, std::uint32_t) {
    return tree_.insert(transaction, key, key);
  }
  template <class Transaction>
  bool contains(Transaction& transaction, structures::Key key) {
    return tree_.contains(transaction, key);
  }
  template <class Transaction>
  bool erase(Transaction& transaction, structures::Key key) {
    return tree_.erase(transaction, key);
  }
  template <class Transaction>
  void clear(Transaction& transaction) {
    tree_.clear(transaction);
  }
  bool check() const { return tree_.check(); }
  template <class Function>
  void for_each(Function function) const {
    tree_.for_each([&](structures::Key key, structures::Key) { function(key); });
  }

 private:
  stamp::RedBlackTree<structures::Key, structures::Key, 16> tree_;
};

template <class Sections>
int run(const Options& options) {
  Set set;
  return structures::run_set<Sections>(options, set);
}

}  // namespace workloads::tree
