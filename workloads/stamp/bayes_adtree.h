// SPDX-License-Identifier: Apache-2.0
// Records of binary variables, and a tree of their counts: an ADtree (Moore, Lee: "Cached Sufficient
// Statistics for Efficient Machine Learning with Large Datasets", JAIR 1998), which STAMP's bayes (bayes.h)
// asks how many records have some values of some variables.
//
// A node stands for the values on the path to it and has the number of records with them. Below are the
// variables behind the last one of the path, and below each of these a node for the rarer value. The node
// of the more common value is left out: its counts are differences. As in the original, a node, a variable
// below it and its array of these are blocks of memory of their own, of 40 bytes, 32 bytes and a pointer
// for each. The tree is only as deep as queries are long; the original's has all variables.
//
// Nothing changes the tree, so sections read it without their transaction. A query reads a node, a vector's
// slot and a variable for each of its values, and that again for each value which is the more common one.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "stamp/bayes_network.h"

namespace workloads::bayes {

/// The records: a value of each variable.
class Records {
 public:
  Records(std::size_t records, std::size_t variables)
      : records_(records), variables_(variables), values_(records * variables) {}

  std::size_t size() const { return records_; }
  std::size_t variables() const { return variables_; }
  char& value(std::size_t record, Id variable) { return values_[record * variables_ + variable]; }
  char value(std::size_t record, Id variable) const { return values_[record * variables_ + variable]; }

 private:
  std::size_t records_, variables_;
  std::vector<char> values_;
};

/// A value that a variable has in the records that are counted.
struct Query {
  std::int64_t variable, value;
};

class AdTree {
 public:
  /// `longest`: how many variables a query may have.
  AdTree(const Records& records, std::size_t longest) : records_(records) {
    std::vector<std::uint32_t> all(records.size());
    for (std::uint32_t record = 0; record < all.size(); ++record) all[record] = record;
    root_ = make_node(0, all, longest);
  }

  std::size_t records() const { return records_.size(); }

  /// Returns how many records match all queries. Queries must be in the order of variables.
  std::int64_t count(const Query* const* queries, std::size_t number) const {
    return count(root_.get(), queries, number);
  }

 private:
  struct Node;
  struct Choice {
    std::int64_t variable, most_common;
    std::unique_ptr<Node> values[2];  // that of the more common one is null
  };
  struct Node {
    std::int64_t first;  // variable below it
    std::int64_t count;  // of records
    std::vector<std::unique_ptr<Choice>> choices;
  };
  using Rows = std::vector<std::uint32_t>;

  std::unique_ptr<Node> make_node(Id first, const Rows& rows, std::size_t depth) const {
    auto node = std::make_unique<Node>();
    node->first = first;
    node->count = static_cast<std::int64_t>(rows.size());
    if (depth == 0) return node;
    node->choices.reserve(records_.variables() - first);
    for (Id variable = first; variable < records_.variables(); ++variable)
      node->choices.push_back(make_choice(variable, rows, depth));
    return node;
  }

  std::unique_ptr<Choice> make_choice(Id variable, const Rows& rows, std::size_t depth) const {
    Rows with[2];
    for (const std::uint32_t row : rows) with[records_.value(row, variable) != 0 ? 1 : 0].push_back(row);
    auto choice = std::make_unique<Choice>();
    choice->variable = variable;
    choice->most_common = with[1].size() > with[0].size() ? 1 : 0;
    const std::int64_t rare = 1 - choice->most_common;
    if (!with[rare].empty()) choice->values[rare] = make_node(variable + 1, with[rare], depth - 1);
    return choice;
  }

  static std::int64_t count(const Node* node, const Query* const* queries, std::size_t number) {
    if (node == nullptr) return 0;
    if (number == 0) return node->count;
    const Query* const query = queries[0];
    const Choice* const choice = node->choices[static_cast<std::size_t>(query->variable - node->first)].get();
    const std::int64_t rare = count(choice->values[1 - choice->most_common].get(), queries + 1, number - 1);
    if (query->value != choice->most_common) return rare;
    return count(node, queries + 1, number - 1) - rare;
  }

  const Records& records_;
  std::unique_ptr<Node> root_;
};

/// A function of its argument alone, which a transaction may call as it is.
#ifndef __clang__
[[gnu::transaction_pure]]
#endif
inline double
natural_logarithm(double x) {
  return std::log(x);
}

/// Computes how well parents explain a variable. For one thread, because it has memory for a query.
class Likelihood {
 public:
  Likelihood(const AdTree& tree, std::size_t variables)
      : tree_(tree),
        queries_(new Query[variables + 1]()),
        with_(new Query*[variables + 1]()),
        without_(new Query*[variables + 1]()) {}

  /// Returns the mean logarithm, over all records, of the probability of a variable's value, given its
  /// parents' values. Counts records of all combinations of values.
  double of(Id variable, const Id* parents, std::size_t number) {
    set_up(variable, parents, number);
    double sum = 0;
    for (std::size_t values = 0; values >> number == 0; ++values) {
      for (std::size_t i = 0; i < number; ++i) queries_[i + 1].value = (values >> i & 1) != 0 ? 1 : 0;
      const std::int64_t all = tree_.count(without_.get(), number);
      if (all == 0) continue;
      sum += of_value(0, number, all) + of_value(1, number, all);
    }
    return sum / static_cast<double>(tree_.records());
  }

 private:
  /// Sorts queries for the variable and its parents, and for its parents alone, by variable.
  void set_up(Id variable, const Id* parents, std::size_t number) {
    queries_[0].variable = variable;
    for (std::size_t i = 0; i < number; ++i) {
      queries_[i + 1].variable = parents[i];
      insert(without_.get(), i, &queries_[i + 1]);
    }
    for (std::size_t i = 0; i < number; ++i) with_[i] = without_[i];
    insert(with_.get(), number, &queries_[0]);
  }

  static void insert(Query** sorted, std::size_t number, Query* query) {
    std::size_t at = number;
    for (; at != 0 && sorted[at - 1]->variable > query->variable; --at) sorted[at] = sorted[at - 1];
    sorted[at] = query;
  }

  double of_value(std::int64_t value, std::size_t number, std::int64_t all) {
    queries_[0].value = value;
    const std::int64_t count = tree_.count(with_.get(), number + 1);
    if (count == 0) return 0;
    return static_cast<double>(count) *
           natural_logarithm(static_cast<double>(count) / static_cast<double>(all));
  }

  const AdTree& tree_;
  const std::unique_ptr<Query[]> queries_;  // the variable's first
  const std::unique_ptr<Query*[]> with_, without_;
};

}  // namespace workloads::bayes
