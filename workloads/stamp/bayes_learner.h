// SPDX-License-Identifier: Apache-2.0
// The learner of STAMP's bayes (bayes.h): hill climbing in the space of networks, by threads that share a
// list of tasks. bayes.h describes its sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sections/plain.h"
#include "stamp/bayes_adtree.h"
#include "stamp/bayes_network.h"
#include "stamp/bayes_search.h"
#include "stamp/list.h"
#include "team.h"

namespace workloads::bayes {

enum class Operation : std::uint32_t { kInsert, kRemove, kReverse };

/// A change of the edge between two variables. The task belongs to the variable `to`. Each variable has at
/// most one task.
struct Task {
  Operation operation;
  Id from, to;
  double score;  // of the network with this change
};

/// Sorts tasks by score, the best one first.
struct CompareTasks {
  int operator()(const Task* one, const Task* other) const {
    if (one->score != other->score) return one->score > other->score ? -1 : 1;
    return one->to < other->to ? -1 : one->to > other->to ? 1 : 0;
  }
};

class Learner {
 public:
  Learner(const AdTree& tree, std::size_t variables, const Scoring& scoring, unsigned threads)
      : network_(variables),
        scoring_(scoring),
        threads_(threads),
        local_(new float[variables]()),
        task_of_(variables) {
    for (unsigned index = 0; index < threads; ++index)
      searches_.push_back(std::make_unique<Search>(tree, scoring, network_, local_.get()));
  }
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  /// The work of each thread.
  template <class Thread>
  void work(Thread& thread, unsigned index, TeamBarrier& barrier) {
    Search& search = *searches_[index];
    add_first_tasks(thread, index, search);
    barrier.wait();
    std::size_t steps = 0;
    for (Task task; take(thread, task);) {
      double change = 0;
      if (apply(thread, task, search)) change = update(thread, task, search);
      const double score = add_up(thread, change);
      if (++steps < kMostSteps) add_next(thread, task.to, score, search);
    }
  }

  // The result. For one thread.
  Network& network() { return network_; }
  double likelihood() const { return shared_.likelihood; }
  std::int64_t parents() const { return shared_.parents; }
  float local(Id id) const { return local_[id]; }
  bool has_tasks() const {
    sections::Plain plain;
    return tasks_.first(plain) != nullptr || tasks_.length(plain) != 0;
  }

 private:
  using Tasks = stamp::List<Task, CompareTasks>;

  static constexpr std::size_t kMostSteps = std::size_t{1} << 20;  // should changes run in a circle

  struct alignas(128) Shared {
    double likelihood = 0;     // the sum of local_
    std::int64_t parents = 0;  // of all variables
  };

  /// Sets likelihoods of variables without parents, and adds a task for each that a parent explains so much
  /// better that the score rises.
  template <class Thread>
  void add_first_tasks(Thread& thread, unsigned index, Search& search) {
    const Share share = share_of(network_.size(), index, threads_);
    const auto begin = static_cast<Id>(share.begin), end = static_cast<Id>(share.end);
    double sum = 0;
    for (Id id = begin; id < end; ++id) {
      local_[id] = static_cast<float>(search.likelihood_alone(id));
      sum += double{local_[id]};
    }
    thread.atomically([&](auto& transaction) {
      transaction.write(shared_.likelihood, transaction.read(shared_.likelihood) + sum);
    });
    for (Id id = begin; id < end; ++id) {
      const Best best = search.best_first(id);
      add(thread, {Operation::kInsert, best.from, id, best.gain});
    }
  }

  /// Puts a task on the list. A task from a variable to itself means no change and is left out.
  template <class Thread>
  void add(Thread& thread, const Task& next) {
    if (next.from == next.to) return;
    Task* const task = &task_of_[next.to];
    *task = next;
    thread.atomically([&, task](auto& transaction) { tasks_.insert(transaction, task); });
  }

  template <class Thread>
  bool take(Thread& thread, Task& task) {
    Task* taken = nullptr;
    thread.atomically([&](auto& transaction) {
      auto* const node = tasks_.first(transaction);
      taken = node == nullptr ? nullptr : tasks_.remove(transaction, node->data);
    });
    if (taken != nullptr) task = *taken;
    return taken != nullptr;
  }

  /// Changes the network, if that is still possible.
  template <class Thread>
  bool apply(Thread& thread, const Task& task, Search& search) {
    const Operation operation = task.operation;
    const Id from = task.from, to = task.to;
    bool valid = false;
    thread.atomically([&, operation, from, to](auto& transaction) {
      valid = is_valid(transaction, operation, from, to, search.walk());
      if (!valid) return;
      if (operation != Operation::kInsert) network_.remove_edge(transaction, from, to);
      if (operation == Operation::kInsert) network_.insert_edge(transaction, from, to);
      if (operation == Operation::kReverse) network_.insert_edge(transaction, to, from);
    });
    return valid;
  }

  template <class Transaction>
  bool is_valid(Transaction& transaction, Operation operation, Id from, Id to, Walk& walk) {
    const bool exists = network_.has_edge(transaction, from, to);
    if (operation == Operation::kInsert)
      return !exists && has_room(transaction, to) && !network_.has_path(transaction, to, from, walk);
    if (operation == Operation::kRemove || !exists) return exists;
    return has_room(transaction, from) && !network_.has_other_path(transaction, from, to, walk);
  }

  template <class Transaction>
  bool has_room(Transaction& transaction, Id id) {
    return network_.number_of_parents(transaction, id) < scoring_.most_parents;
  }

  /// Updates the variables of a task after its change. Returns how much their likelihoods rise.
  template <class Thread>
  double update(Thread& thread, const Task& task, Search& search) {
    const double change = update_local(thread, task.to, search);
    if (task.operation == Operation::kReverse) return change + update_local(thread, task.from, search);
    const std::int64_t more = task.operation == Operation::kInsert ? 1 : -1;
    thread.atomically([&](auto& transaction) {
      transaction.write(shared_.parents, transaction.read(shared_.parents) + more);
    });
    return change;
  }

  template <class Thread>
  double update_local(Thread& thread, Id id, Search& search) {
    thread.atomically([&](auto& transaction) { search.note_parents(transaction, id); });
    const auto now = static_cast<float>(search.likelihood_of_noted(id));
    double change = 0;
    thread.atomically([&](auto& transaction) {
      change = double{now} - double{transaction.read(local_[id])};
      transaction.write(local_[id], now);
    });
    return change;
  }

  /// Returns the score that the network has now.
  template <class Thread>
  double add_up(Thread& thread, double change) {
    double likelihood = 0;
    std::int64_t parents = 0;
    thread.atomically([&](auto& transaction) {
      likelihood = transaction.read(shared_.likelihood) + change;
      transaction.write(shared_.likelihood, likelihood);
      parents = transaction.read(shared_.parents);
    });
    return scoring_.of(likelihood, parents);
  }

  /// Adds a task for the best change of a variable's edges, if there is a good one.
  template <class Thread>
  void add_next(Thread& thread, Id to, double score, Search& search) {
    Best insert{}, remove{}, reverse{};
    thread.atomically([&](auto& transaction) { insert = search.best_insert(transaction, to); });
    thread.atomically([&](auto& transaction) { remove = search.best_remove(transaction, to); });
    thread.atomically([&](auto& transaction) { reverse = search.best_reverse(transaction, to); });
    Task task{Operation::kInsert, insert.from, to, insert.gain};
    if (remove.gain > task.score) task = {Operation::kRemove, remove.from, to, remove.gain};
    if (reverse.gain > task.score) task = {Operation::kReverse, reverse.from, to, reverse.gain};
    task.score += score;
    add(thread, task);
  }

  Network network_;
  const Scoring scoring_;
  const unsigned threads_;
  const std::unique_ptr<float[]> local_;  // how well a variable's parents explain it
  std::vector<Task> task_of_;             // each variable
  std::vector<std::unique_ptr<Search>> searches_;
  Shared shared_;
  alignas(128) Tasks tasks_;
};

}  // namespace workloads::bayes
