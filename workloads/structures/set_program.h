// SPDX-License-Identifier: Apache-2.0
// The run that these programs share, the micro-benchmark of the ALE paper (section 3.1): threads search a
// set of keys, insert keys and remove keys.
//
// The program fills a set to its size. Then each operation draws a key below twice the size. A given
// percentage of the operations mutates the set: half of these insert and half remove. An operation is one
// section. `Set` has
//
//   insert(transaction, key, draw), erase(transaction, key)   return whether they changed the set, or what
//                                                             they changed (Change). `draw`: a random number
//   contains(transaction, key), clear(transaction)
//   check(), for_each(function)                               while no threads run: return whether the
//                                                             structure is right; call function(key) for
//                                                             all keys
//
// Check: at the end the structure is right, and the number of keys and their sum are those that the
// operations left.
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "support.h"

namespace workloads::structures {

using Key = std::uint64_t;

struct SetOptions {
  sections::TeamOptions team;
  std::uint32_t size;
  unsigned mutations;  // percent
  std::uint32_t operations;
};

inline void add_options(CommandLine& line, SetOptions& options) {
  line.add("--size", options.size, "keys at the start").within(1, 1 << 26);
  line.add("--mutations", options.mutations, "percent of the operations that put or remove").within(0, 100);
  line.add("--operations", options.operations, "of all threads together").within(1, 1 << 30);
}

inline std::string complaint(const SetOptions&) { return {}; }

/// How operations changed the number of keys and their sum.
struct alignas(128) Change {
  std::uint64_t keys = 0, sum = 0;  // modulo 2^64
  bool operator==(const Change& other) const { return keys == other.keys && sum == other.sum; }
  Change& operator+=(const Change& other) {
    keys += other.keys;
    sum += other.sum;
    return *this;
  }
};

inline Change if_inserted(bool inserted, Key key) { return inserted ? Change{1, key} : Change(); }
inline Change if_inserted(const Change& change, Key) { return change; }
inline Change if_erased(bool erased, Key key) {
  return erased ? Change{0 - std::uint64_t{1}, 0 - key} : Change();
}

/// Inserts random keys until the set has the size that the options say.
template <class Set>
Change fill(Set& set, const SetOptions& options) {
  CheapRandom random(options.team.seed);
  sections::Plain plain;
  Change change;
  while (change.keys < options.size) {
    const Key key = random.below(2 * options.size);
    change += if_inserted(set.insert(plain, key, random.below(UINT32_MAX)), key);
  }
  return change;
}

/// Runs a thread's operations.
template <class Set, class Thread>
Change operate(Set& set, Thread& thread, const SetOptions& options, unsigned index) {
  CheapRandom random(options.team.seed * 1000003u + index);
  Change change;
  const Share share = share_of(options.operations, index, options.team.threads);
  for (std::size_t i = share.begin; i < share.end; ++i) {
    const std::uint32_t chance = random.below(200), draw = random.below(UINT32_MAX);
    const Key key = random.below(2 * options.size);
    const bool mutates = chance < 2 * options.mutations, puts = chance % 2 == 0;
    Change one;
    thread.atomically([&](auto& transaction) {
      one = Change();
      if (!mutates)
        (void)set.contains(transaction, key);
      else if (puts)
        one = if_inserted(set.insert(transaction, key, draw), key);
      else
        one = if_erased(set.erase(transaction, key), key);
    });
    change += one;
  }
  return change;
}

/// Returns the exit code.
template <class Set>
int check(const Set& set, const std::vector<Change>& changes) {
  if (sections::is_wrong(set.check() ? nullptr : "structure")) return 1;
  Change expected, found;
  for (const Change& change : changes) expected += change;
  set.for_each([&](Key key) { found += {1, key}; });
  if (sections::is_wrong(found == expected ? nullptr : "keys")) return 1;
  std::printf("keys: %" PRIu64 "\n", found.keys);
  return 0;
}

template <class Sections, class Set>
int run_set(const SetOptions& options, Set& set) {
  std::vector<Change> changes(options.team.threads + 1);
  changes.back() = fill(set, options);
  const auto shared = std::make_unique<Sections>();
  sections::run_sections(*shared, options.team, [&](auto& thread, unsigned index, TeamBarrier&) {
    changes[index] = operate(set, thread, options, index);
  });
  const int code = check(set, changes);
  sections::Plain plain;
  if (code == 0) set.clear(plain);
  return code;
}

}  // namespace workloads::structures
