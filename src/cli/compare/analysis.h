// SPDX-License-Identifier: Apache-2.0
// From samples to rows and a verdict. Pure: opens nothing, prints nothing, reads no clock.
//
// Invariants: the reference design's row comes first; a row that is not kGood has a remark and never
// is the best; the best row is the one with the best median among the good ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/compare/sample.h"

namespace elision::cli::compare {

enum class RowState {
  kGood,
  kFailed,  // ended otherwise than under the reference design
  kTimedOut,
  kDifferentOutput,  // printed something else than under the reference design
  kNoMetric,         // printed nothing that the metric matches
  kNotRun,           // left out on purpose, or stopped before its turn
};

/// Several runs' results: the median and the extremes.
struct Range {
  double median = 0;
  double low = 0;
  double high = 0;

  /// The distance of the extremes as a share of the median, 0.05 for 5 %.
  double spread() const { return median > 0 ? (high - low) / median : 0; }
  bool overlaps(const Range& other) const { return low <= other.high && other.low <= high; }
};

struct Row {
  std::string design;
  RowState state = RowState::kNotRun;
  std::string remark;      // why it has no result; empty if kGood
  unsigned runs = 0;       // that count
  Range value;             // seconds, or the metric
  double speedup = 0;      // over the reference design; 0: not known
  double cpu_seconds = 0;  // of the median run, as the counts are
  LockCounts locks;        // longest wait: of all runs
  bool best = false;
};

enum class VerdictKind {
  kUse,           // a design is better than the reference by more than the spread
  kWithinModel,   // ... but by less than a model can promise
  kOneRun,        // ... but nobody knows the spread
  kKeep,          // the reference is best
  kWithinSpread,  // no design differs from the reference by more than the spread
  kNoLocks,       // the program takes no lock that we can replace
  kNoReference,   // the program fails under the reference design, or was never run under it
};

struct Verdict {
  VerdictKind kind = VerdictKind::kNoReference;
  std::string sentence;
};

/// The results for one number of threads.
struct Block {
  std::optional<unsigned> threads;
  std::vector<Row> rows;
  Verdict verdict;
};

/// What a virtual machine cannot tell apart, as a ratio: the model's own error, not the runs' spread.
inline constexpr double kModelError = 1.20;

/// `complete` is false if the comparison was stopped before every cell had run.
std::vector<Block> analyse(const Plan& plan, const std::vector<Result>& results, bool complete);

}  // namespace elision::cli::compare
