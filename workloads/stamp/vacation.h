// SPDX-License-Identifier: Apache-2.0
// Vacation (STAMP): a travel agency's tables, which clients' tasks query and change. Written from STAMP's
// description (Cao Minh et al., IISWC 2008).
//
// One section a task. A reserving task searches for up to -n items, books the dearest of each kind, and adds
// the customer if it is new. A deleting task adds up a customer's bill and deletes the customer, which frees
// what was booked. An updating task adds and withdraws offers. Sections read the paths that they search in
// trees, a hundred lines of memory and more; they write a few records, and what insertions and removals
// change of a tree.
//
// The number of a task gives its operands, so that all numbers of threads run the same tasks.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "stamp/vacation_tables.h"
#include "support.h"

namespace workloads::vacation {

inline constexpr const char* kDescription = "STAMP's vacation: tasks over the tables of a travel agency";

struct Options {
  sections::TeamOptions team;
  unsigned queries = 4, queried_percent = 60, user_percent = 90;
  unsigned relations = 16384, tasks = 4096;
};

inline void add_options(CommandLine& line, Options& options) {
  line.add("-n,--queries", options.queries, "at most in a task: with 4, much contention; with 2, little")
      .within(1, 10000);
  line.add("-q,--queried", options.queried_percent, "percent of a table that tasks ask for: 60, or 90")
      .within(1, 100);
  line.add("-u,--users", options.user_percent, "percent of tasks that reserve: 90, or 98").within(0, 100);
  line.add("-r,--relations", options.relations, "in each table at first").within(1, 1 << 24);
  line.add("-t,--tasks", options.tasks, "of all threads").within(1, 1 << 30);
}

inline std::string complaint(const Options& /*options*/) { return {}; }

/// One of an item that a task asks for, or whose offer it changes.
struct Query {
  Kind kind;
  Number item;
  Number price;  // of an offer; below 0: withdraw it
};

enum class Action : std::uint32_t { kReserve, kDelete, kUpdate };

/// Operands of a section.
class Task {
 public:
  explicit Task(const Options& options)
      : options_(options), queried_(std::max(1u, percent(options.relations, options.queried_percent))) {}

  void draw(std::uint64_t number) {
    CheapRandom random(options_.team.seed + 0x9e3779b9ull * (number + 1));
    const std::uint32_t hundred = random.below(100);
    action = hundred < options_.user_percent ? Action::kReserve
             : random.below(2) == 0          ? Action::kDelete
                                             : Action::kUpdate;
    customer = id(random);
    queries.resize(action == Action::kDelete ? 0 : 1 + random.below(options_.queries));
    for (Query& query : queries) {
      query = {static_cast<Kind>(random.below(kKinds)), id(random), -1};
      if (action == Action::kUpdate && random.below(2) == 0) query.price = any_price(random);
    }
  }

  static Number any_price(CheapRandom& random) { return 50 + 10 * Number{random.below(5)}; }

  Action action = Action::kReserve;
  Number customer = 0;
  std::vector<Query> queries;

 private:
  static unsigned percent(unsigned of, unsigned percent) {
    return static_cast<unsigned>((std::uint64_t{of} * percent + 50) / 100);
  }
  Number id(CheapRandom& random) const { return 1 + Number{random.below(queried_)}; }

  const Options& options_;
  const unsigned queried_;
};

class Agency {
 public:
  explicit Agency(const Options& options) : options_(options), results_(options.team.threads + 1) {
    CheapRandom random(options.team.seed);
    sections::Plain plain;
    Changes& changes = results_.back().changes;
    for (const Kind kind : {kCar, kFlight, kRoom}) {
      for (const Number id : shuffled(random)) {
        const Number number = 100 * (1 + Number{random.below(5)});
        tables_.offer(plain, kind, id, number, Task::any_price(random), changes);
      }
    }
    for (const Number id : shuffled(random)) tables_.add_customer(plain, id, changes);
  }

  /// What each thread does.
  template <class Thread>
  void work(Thread& thread, unsigned index) {
    Task task(options_);
    Result result{};
    for (std::uint64_t number = first_task(index); number < first_task(index + 1); ++number) {
      task.draw(number);
      Changes changes{};
      switch (task.action) {
        case Action::kReserve:
          reserve(thread, task, changes);
          break;
        case Action::kDelete:
          delete_customer(thread, task, changes);
          break;
        case Action::kUpdate:
          update(thread, task, changes);
          break;
      }
      result.changes.add(changes);
      ++result.tasks[static_cast<std::size_t>(task.action)];
    }
    results_[index] = result;
  }

  /// Prints how many tasks of each kind there were, or what is wrong. Returns the exit code.
  int end() {
    Result sum{};
    for (const Result& result : results_) {
      sum.changes.add(result.changes);
      for (std::size_t action = 0; action < kActions; ++action) sum.tasks[action] += result.tasks[action];
    }
    const Check check(tables_, sum.changes, options_.relations);
    if (sections::is_wrong(check.wrong())) return 1;
    std::printf("reserving: %" PRIu64 "\ndeleting: %" PRIu64 "\nupdating: %" PRIu64 "\n", sum.tasks[0],
                sum.tasks[1], sum.tasks[2]);
    tables_.clear();
    return 0;
  }

 private:
  static constexpr std::size_t kActions = 3;
  static constexpr Number kOffered = 100;  // of an item, in an update

  struct alignas(128) Result {
    Changes changes;
    std::uint64_t tasks[kActions];
  };

  /// All numbers of a table's rows.
  std::vector<Number> shuffled(CheapRandom& random) const {
    std::vector<Number> ids(options_.relations);
    std::iota(ids.begin(), ids.end(), 1);
    for (std::size_t left = ids.size(); left > 1; --left)
      std::swap(ids[left - 1], ids[random.below(static_cast<std::uint32_t>(left))]);
    return ids;
  }

  std::uint64_t first_task(unsigned thread) const {
    return std::uint64_t{options_.tasks} * thread / options_.team.threads;
  }

  template <class Thread>
  void reserve(Thread& thread, const Task& task, Changes& changes) {
    const Query* const queries = task.queries.data();
    const std::size_t number = task.queries.size();
    const Number customer = task.customer;
    thread.atomically([&, queries, number, customer](auto& transaction) {
      changes = {};
      Number dearest[kKinds] = {}, prices[kKinds] = {-1, -1, -1};
      bool found = false;
      for (std::size_t i = 0; i < number; ++i) {
        const Kind kind = queries[i].kind;
        const Item* const item = tables_.find(transaction, kind, queries[i].item);
        if (item == nullptr) continue;
        const Number price = transaction.read(item->price);
        if (price <= prices[kind]) continue;
        prices[kind] = price;
        dearest[kind] = queries[i].item;
        found = true;
      }
      if (found) tables_.add_customer(transaction, customer, changes);
      for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
        if (dearest[kind] != 0)
          tables_.book(transaction, customer, static_cast<Kind>(kind), dearest[kind], changes);
      }
    });
  }

  template <class Thread>
  void delete_customer(Thread& thread, const Task& task, Changes& changes) {
    const Number customer = task.customer;
    thread.atomically([&, customer](auto& transaction) {
      changes = {};
      if (tables_.bill(transaction, customer) >= 0) tables_.delete_customer(transaction, customer, changes);
    });
  }

  template <class Thread>
  void update(Thread& thread, const Task& task, Changes& changes) {
    const Query* const queries = task.queries.data();
    const std::size_t number = task.queries.size();
    thread.atomically([&, queries, number](auto& transaction) {
      changes = {};
      for (std::size_t i = 0; i < number; ++i) {
        const Query& query = queries[i];
        if (query.price >= 0)
          tables_.offer(transaction, query.kind, query.item, kOffered, query.price, changes);
        else
          tables_.withdraw(transaction, query.kind, query.item, kOffered, changes);
      }
    });
  }

  const Options& options_;
  Tables tables_;
  std::vector<Result> results_;  // of each thread, and of the tables at first
};

template <class Sections>
int run(const Options& options) {
  const auto shared = std::make_unique<Sections>();
  Agency agency(options);
  sections::run_sections(*shared, options.team,
                         [&](auto& thread, unsigned index, TeamBarrier&) { agency.work(thread, index); });
  return agency.end();
}

}  // namespace workloads::vacation
