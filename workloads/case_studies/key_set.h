// SPDX-License-Identifier: Apache-2.0
// The run that the case studies with a set of keys share: threads search for, insert and erase random keys.
// The caller's `Set` is the data structure with its lock.
//
//   explicit Set(const SetOptions&)
//   void load(const std::vector<std::int32_t>& keys)
//                                              inserts distinct keys, in this order, before threads start
//                                              and without a section
//   bool run(const Operation&, CheapRandom&)   runs the operation in its sections. Returns whether it
//                                              changed the set. Some operations draw random numbers
//   bool check() const, std::size_t size() const, std::int64_t sum() const
//                                              after the run: return whether the structure is right, the
//                                              number of its keys, and their sum
//
// At the end the structure must be right, and the number of keys and their sum must be those that the
// operations left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "case_studies/case_study.h"
#include "command_line.h"
#include "support.h"
#include "team.h"

namespace workloads {

struct SetOptions {
  CaseOptions common;
  std::uint32_t range = 4096;
  unsigned filled = 50;    // percent
  unsigned updates = 100;  // percent
  std::uint32_t operations = 20000;
};

inline void add_set_options(CommandLine& line, SetOptions& options,
                            const std::vector<std::string>& variants) {
  add_case_options(line, options.common, variants);
  line.add("--range", options.range, "keys are below it").within(1, 1 << 24);
  line.add("--filled", options.filled, "percent of the keys that are there at the start").within(0, 100);
  line.add("--updates", options.updates, "percent of the operations that insert or erase, in equal parts")
      .within(0, 100);
  line.add("--operations", options.operations, "of all threads together").within(1, 1 << 30);
}

/// A thread draws an operation before its section.
struct Operation {
  enum class Kind { kFind, kInsert, kErase } kind;
  std::int32_t key;

  /// Returns whether the operation changes the set. `present`: whether the set has its key.
  bool changes(bool present) const { return kind != Kind::kFind && present == (kind == Kind::kErase); }
};

inline Operation draw_operation(const SetOptions& options, CheapRandom& random) {
  const std::uint32_t chance = random.below(200);
  const auto kind = chance >= 2 * options.updates ? Operation::Kind::kFind
                    : chance % 2 == 0             ? Operation::Kind::kInsert
                                                  : Operation::Kind::kErase;
  return {kind, static_cast<std::int32_t>(random.below(options.range))};
}

/// How a thread's operations changed the number of keys and their sum.
struct alignas(128) SetChange {
  std::int64_t keys = 0, sum = 0;
  void add(const Operation& operation) {
    const int sign = operation.kind == Operation::Kind::kInsert ? 1 : -1;
    keys += sign;
    sum += sign * std::int64_t{operation.key};
  }
};

/// Returns distinct keys in random order, as many as the options say.
inline std::vector<std::int32_t> draw_keys(const SetOptions& options) {
  CheapRandom random(options.common.seed);
  std::vector<std::int32_t> keys(options.range);
  std::iota(keys.begin(), keys.end(), 0);
  const std::uint64_t wanted = std::uint64_t{options.range} * options.filled / 100;
  for (std::uint32_t i = 0; i < wanted; ++i) std::swap(keys[i], keys[i + random.below(options.range - i)]);
  keys.resize(wanted);
  return keys;
}

/// Inserts the keys. Returns the change of the set.
template <class Set>
SetChange load(Set& set, const std::vector<std::int32_t>& keys) {
  set.load(keys);
  return {static_cast<std::int64_t>(keys.size()), std::accumulate(keys.begin(), keys.end(), std::int64_t{0})};
}

/// Returns the first error, or an empty text if all is right.
template <class Set>
std::string complaint(const Set& set, const std::vector<SetChange>& changes) {
  if (!set.check()) return "WRONG structure";
  SetChange expected;
  for (const SetChange& change : changes) {
    expected.keys += change.keys;
    expected.sum += change.sum;
  }
  const auto keys = static_cast<std::int64_t>(set.size()), sum = set.sum();
  if (keys == expected.keys && sum == expected.sum) return {};
  return "LOST updates: " + std::to_string(keys) + " keys with sum " + std::to_string(sum) + " instead of " +
         std::to_string(expected.keys) + " with sum " + std::to_string(expected.sum);
}

/// Returns the exit code.
template <class Set>
int run_set(const SetOptions& options) {
  const unsigned threads = options.common.threads;
  const auto set = std::make_unique<Set>(options);
  std::vector<SetChange> changes(threads + 1);
  changes.back() = load(*set, draw_keys(options));
  const std::uint64_t run_ns = run_team(
      threads, !options.common.no_pin,
      [&](unsigned thread) { return CheapRandom(options.common.seed * 1000003u + thread); },
      [&](unsigned thread, CheapRandom& random, TeamBarrier&) {
        SetChange change;
        const auto [begin, end] = share_of(options.operations, thread, threads);
        for (std::size_t i = begin; i < end; ++i) {
          const Operation operation = draw_operation(options, random);
          if (set->run(operation, random)) change.add(operation);
        }
        changes[thread] = change;
      });
  print_throughput("operations", options.operations, run_ns);
  return exit_code(complaint(*set, changes));
}

}  // namespace workloads
