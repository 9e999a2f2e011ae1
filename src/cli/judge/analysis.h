// SPDX-License-Identifier: Apache-2.0
// From samples to rows and a verdict. Pure: opens nothing, prints nothing, reads no clock.
//
// Invariants: the reference design's row comes first. A row that is not kGood has a remark and is never the
// best. The best row is that of the design that the sentence names first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/experiment/range.h"
#include "cli/experiment/sample.h"
#include "cli/judge/why.h"

namespace elision::cli::experiment {

enum class RowState {
  kGood,
  kFailed,  // ended with another exit code than under the reference design, by a deadlock or by a signal; the
            // reference's own row: ended with an error
  kTimedOut,
  kDifferentOutput,  // printed a different output than under the reference design
  kNoMetric,         // printed nothing that the metric matches
  kNotRun,           // left out on purpose, or stopped before its turn
};

struct Row {
  std::string design;
  RowState state = RowState::kNotRun;
  std::string remark;          // why there is no result; empty if kGood
  bool has_exit_code = false;  // kFailed: a run ended with a wrong exit code
  unsigned runs = 0;           // with a result
  Range value;                 // seconds, or the metric
  double speedup = 0;          // over the reference design; 0: not known
  double cpu_seconds = 0;      // of the median run, as the counts are
  LockCounts locks;            // longest wait: of all runs
  bool best = false;
  std::optional<Why> why;  // nothing: not measured

  // With variations of the machine: by their number; nothing if a run is missing.
  std::vector<std::optional<double>> values;
  std::vector<std::optional<double>> ratios;  // speedups over the reference design in the same variation
  Range ratio;                                // of all variations; its median is the speedup
  unsigned leads = 0;                         // number of variations in which no other design is better
};

enum class VerdictKind {
  kUse,           // a design is better than the reference, and the runs show it
  kWithinModel,   // ... but by less than the model's error
  kOneRun,        // ... but the spread is not known
  kKeep,          // the reference is best
  kWithinSpread,  // the runs show no design to be better than the reference
  kNoOther,       // only the reference design has a result
  kNotInEvery,    // the leader does not win in every variation of the machine
  kNoLocks,       // the program takes no lock that we can replace
  kNoReference,   // the program fails under the reference design, or was never run under it
};

struct Verdict {
  VerdictKind kind = VerdictKind::kNoReference;
  std::string sentence;
  std::string design;  // that the sentence names; empty: none
};

/// The results for one number of threads.
struct Block {
  std::optional<unsigned> threads;
  std::vector<Row> rows;
  Verdict verdict;
  std::optional<Diagnosis> diagnosis;  // nothing: not measured
};

/// The error of the virtual machine's model, as a ratio. Not the spread of the runs.
inline constexpr double kModelError = 1.20;

/// On a model or in a single run, a smaller ratio does not count as a gain.
inline constexpr double kSmallestGain = 1.05;

/// `complete` is false if the comparison was stopped before every cell had run.
std::vector<Block> analyse(const Plan& plan, const std::vector<Result>& results, bool complete);

}  // namespace elision::cli::experiment
