// SPDX-License-Identifier: Apache-2.0
// Call paths with their weights, for all that exports or draws them: where time went, or where transactions
// aborted. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace elision::profile {

/// What the weight of a path is.
enum class Weight : std::uint8_t {
  kTime,    // of threads, in nanoseconds
  kCycles,  // that aborted transactions had taken
  kAborts,  // their number
};

/// How a weight is called and counted.
struct WeightStyle {
  const char* column;         // "ns"
  const char* type;           // "time"
  const char* unit;           // "nanoseconds"
  const char* unit_of_lines;  // of which a line for a flame graph has a whole number
  double weight_of_line_unit;
  bool has_threads;  // paths have threads and, if they are at one, locks
};
const WeightStyle& style_of(Weight weight);

/// What a thread did on a path: its state, or the cause of the abort.
struct PathKind {
  std::string name{};    // "waiting"
  std::string words{};   // "waiting for locks"
  std::string colour{};  // one of the Firefox Profiler's
  std::string frame{};   // "[waiting for {}]", where {} is the lock; empty: none
};

struct WeightedPath {
  std::uint32_t kind = 0;               // index in PathTable::kinds
  std::uint32_t lock = Path::kNoLock;   // index in PathTable::locks
  std::uint32_t thread = 0;             // index in PathTable::threads
  std::vector<std::uint32_t> frames{};  // indices in PathTable::frames, the outermost function first
  double weight = 0;
  double samples = 0;  // from which it is known
};

struct PathTable {
  Weight weight = Weight::kTime;
  std::vector<PathKind> kinds{};
  std::vector<std::string> locks{};  // their names
  std::vector<Thread> threads{};
  std::vector<Place> frames{};
  std::vector<WeightedPath> paths{};
  double wall_ns = 0;                  // of the run
  std::vector<std::string> remarks{};  // what a reader should know, a line each

  double sum() const;
};

/// The paths of a profile's time, by state.
PathTable paths_of_time(const Profile& profile);

/// The paths of a profile's aborts, by cause, of all threads together. A path leads to the transaction's
/// begin; then comes the frame kInTransaction, and behind it the calls in the transaction, as far as they are
/// known, and the instruction. Weights are cycles if any are known. Empty if there are no samples of aborts.
PathTable paths_of_aborts(const Profile& profile);
inline constexpr const char* kInTransaction = "[in a transaction]";

/// The name of the path's lock; empty: it is at none.
std::string lock_label(const PathTable& table, const WeightedPath& path);

/// "[waiting for queue_lock]", "[conflict]": a frame for tools that show nothing but stacks. Empty outside of
/// locks.
std::string kind_label(const PathTable& table, const WeightedPath& path);

/// The frames of `path`, the outermost first; one of unknown name if it has none. They live as long as
/// `table`.
std::vector<const Place*> stack_of(const PathTable& table, const WeightedPath& path);

/// Indices of paths: by thread, then by kind, then the largest weight first.
std::vector<std::size_t> order_by_thread(const PathTable& table);

/// The weight of a sample; 0: not known.
double weight_of_sample(const PathTable& table);

}  // namespace elision::profile
