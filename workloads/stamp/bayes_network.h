// SPDX-License-Identifier: Apache-2.0
// The network of STAMP's bayes (bayes.h): variables, each with sorted lists of its parents and its
// children. An edge goes from a parent to a child and is in both lists.
//
// Operations take the transaction of the section. An edge is inserted or removed by two searches and two
// writes of lists (list.h). Searches for paths and descendants go breadth first along children, and read
// the lists of all variables they reach; what they note on the way is in a thread's Walk. Before threads
// start and after they end, the transaction is a sections::Plain. There is no destructor: call clear().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sections/plain.h"
#include "stamp/list.h"

namespace workloads::bayes {

using Id = std::uint32_t;  // of a variable

struct Variable;

/// Variables are in one array, in the order of their ids.
struct CompareVariables {
  int operator()(const Variable* one, const Variable* other) const {
    return one < other ? -1 : one > other ? 1 : 0;
  }
};

using Variables = stamp::List<Variable, CompareVariables>;

/// 144 bytes: the original allocates three blocks of 48 bytes for a variable and both lists.
struct Variable {
  std::uint64_t unused[6];
  Variables parents;
  std::uint64_t unused_too[4];
  Variables children;
  std::uint64_t unused_either[4];
};
static_assert(sizeof(Variable) == 144);

/// A thread's memory for searches: which variables it has seen, and those it has yet to visit.
class Walk {
 public:
  explicit Walk(std::size_t variables)
      : seen_(new std::uint64_t[variables]()), waiting_(new Id[variables]()) {}

  /// Begins a new walk without clearing memory: a memset that uses wide registers may abort a hardware
  /// transaction.
  void begin() {
    ++number_;
    next_ = end_ = 0;
  }
  void reach(Id id) {
    if (has_seen(id)) return;
    seen_[id] = number_;
    waiting_[end_++] = id;
  }
  bool is_done() const { return next_ == end_; }
  Id take() { return waiting_[next_++]; }
  bool has_seen(Id id) const { return seen_[id] == number_; }

 private:
  const std::unique_ptr<std::uint64_t[]> seen_;  // in which walk, last
  const std::unique_ptr<Id[]> waiting_;
  std::uint64_t number_ = 0;  // of the walk
  std::size_t next_ = 0, end_ = 0;
};

class Network {
 public:
  explicit Network(std::size_t variables) : variables_(variables) {}
  /// Removes all edges. Lists must be right.
  void clear() {
    sections::Plain plain;
    for (Variable& variable : variables_) {
      variable.parents.clear(plain);
      variable.children.clear(plain);
    }
  }

  std::size_t size() const { return variables_.size(); }

  template <class Transaction>
  bool has_edge(Transaction& transaction, Id from, Id to) {
    return at(to).parents.find(transaction, &at(from)) != nullptr;
  }

  template <class Transaction>
  std::size_t number_of_parents(Transaction& transaction, Id id) {
    return at(id).parents.length(transaction);
  }

  /// Writes a variable's parents to `ids`, at most `most`, and returns their number.
  template <class Transaction>
  std::size_t list_parents(Transaction& transaction, Id id, Id* ids, std::size_t most) {
    std::size_t number = 0;
    for (auto* node = at(id).parents.first(transaction); node != nullptr && number < most;
         node = Variables::next(transaction, node))
      ids[number++] = id_of(node->data);
    return number;
  }

  template <class Transaction>
  void insert_edge(Transaction& transaction, Id from, Id to) {
    at(to).parents.insert(transaction, &at(from));
    at(from).children.insert(transaction, &at(to));
  }

  template <class Transaction>
  void remove_edge(Transaction& transaction, Id from, Id to) {
    at(to).parents.remove(transaction, &at(from));
    at(from).children.remove(transaction, &at(to));
  }

  /// Adds a variable and all its descendants to `walk`.
  template <class Transaction>
  void find_descendants(Transaction& transaction, Id id, Walk& walk) {
    walk.begin();
    walk.reach(id);
    while (!walk.is_done()) visit(transaction, walk.take(), walk);
  }

  template <class Transaction>
  bool has_path(Transaction& transaction, Id from, Id to, Walk& walk) {
    walk.begin();
    walk.reach(from);
    while (!walk.is_done() && !walk.has_seen(to)) visit(transaction, walk.take(), walk);
    return walk.has_seen(to);
  }

  /// Returns whether there is a path beside the edge. As in the original, it removes the edge for the
  /// search.
  template <class Transaction>
  bool has_other_path(Transaction& transaction, Id from, Id to, Walk& walk) {
    remove_edge(transaction, from, to);
    const bool found = has_path(transaction, from, to, walk);
    insert_edge(transaction, from, to);
    return found;
  }

  /// Returns all variables, parents before children, or fewer if there is a cycle. For one thread.
  std::vector<Id> in_order() {
    sections::Plain plain;
    std::vector<std::size_t> missing(size());
    std::vector<Id> order;
    for (Id id = 0; id < size(); ++id) {
      missing[id] = number_of_parents(plain, id);
      if (missing[id] == 0) order.push_back(id);
    }
    for (std::size_t next = 0; next < order.size(); ++next) {
      for (auto* node = at(order[next]).children.first(plain); node != nullptr; node = node->next) {
        if (--missing[id_of(node->data)] == 0) order.push_back(id_of(node->data));
      }
    }
    return order;
  }

  /// Returns whether lists have the lengths they note, are in order, and agree with each other. For one
  /// thread.
  bool is_consistent() {
    std::size_t edges = 0;
    for (Id id = 0; id < size(); ++id) {
      if (!is_list(at(id).parents) || !is_list(at(id).children)) return false;
    }
    for (Id id = 0; id < size(); ++id) {
      sections::Plain plain;
      edges += at(id).children.length(plain) - at(id).parents.length(plain);
      for (auto* node = at(id).parents.first(plain); node != nullptr; node = node->next) {
        if (node->data->children.find(plain, &at(id)) == nullptr) return false;
      }
    }
    return edges == 0;
  }

 private:
  Variable& at(Id id) { return variables_[id]; }
  Id id_of(const Variable* variable) const { return static_cast<Id>(variable - variables_.data()); }

  template <class Transaction>
  void visit(Transaction& transaction, Id id, Walk& walk) {
    for (auto* node = at(id).children.first(transaction); node != nullptr;
         node = Variables::next(transaction, node))
      walk.reach(id_of(node->data));
  }

  static bool is_list(const Variables& list) {
    sections::Plain plain;
    std::size_t length = 0;
    const Variable* before = nullptr;
    for (auto* node = list.first(plain); node != nullptr; node = node->next, ++length) {
      if (before != nullptr && !(before < node->data)) return false;
      before = node->data;
    }
    return length == list.length(plain);
  }

  std::vector<Variable> variables_;
};

}  // namespace workloads::bayes
