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
#include "cli/judge/interval.h"
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
  std::string end;             // kFailed: how the run ended, which `remark` says with the program's words
  bool has_exit_code = false;  // kFailed: a run ended with a wrong exit code
  unsigned runs = 0;           // with a result
  Range value;                 // seconds, or the metric
  double speedup = 0;          // over the reference design; 0: not known
  double cpu_seconds = 0;      // of the median run, as the counts are
  LockCounts locks;            // longest wait: of all runs
  bool best = false;
  std::optional<Why> why;  // nothing: not measured

  // By the number of the run; nothing if a run is missing or left out.
  std::vector<std::optional<double>> values;
  std::vector<std::optional<double>> ratios;    // speedups over the reference design in the same round
  std::vector<double> sections_an_instruction;  // of windows, under the reference design; 0: no result

  std::optional<Interval> interval;  // of the speedup, from two rounds on; not with variations of the machine
  // With variations of the machine, run i is variation i:
  Range ratio;         // of all variations; its median is the speedup
  unsigned leads = 0;  // number of variations in which no other design is better
};

enum class VerdictKind {
  kUse,          // a design is better than the reference by more than the smallest gain
  kOneRun,       // ... in the only run
  kKeep,         // the reference is best
  kNoGain,       // no design is better by more than the smallest gain
  kUnsettled,    // the runs do not show whether one is
  kNoOther,      // only the reference design has a result
  kNotInEvery,   // the leader does not win in every variation of the machine
  kNoLocks,      // the program takes no lock that we can replace
  kNoReference,  // the program fails under the reference design, or was never run under it
};

struct Verdict {
  VerdictKind kind = VerdictKind::kNoReference;
  std::string sentence;
  std::string design;  // that the sentence names; empty: none
};

/// A run that is not explained: it was too short, or never had two threads.
struct Unexplained {
  std::uint64_t samples = 0;
  double seconds = 0;  // of the run
  bool one_thread = false;
};

/// The results for one number of threads.
struct Block {
  std::optional<unsigned> threads;
  unsigned cold_rounds = 0;  // the first rounds, left out as warm-up
  std::vector<Row> rows;
  Verdict verdict;
  std::optional<profile::Diagnosis> diagnosis;  // nothing: not measured, or `unexplained`
  std::optional<Unexplained> unexplained;
};

/// Whether the verdict names a design in place of the program's own locks.
bool names_other_design(const Block& block);

/// No design is named that does not gain more than this, as a ratio. On a virtual machine it stands for what
/// the model leaves out, on a real CPU for what differs from one day to the next: the layout of memory, other
/// programs, heat.
inline constexpr double kSmallestVirtualGain = 1.10;
inline constexpr double kSmallestNativeGain = 1.03;

inline double smallest_gain(const Plan& plan) {
  return plan.model ? kSmallestVirtualGain : kSmallestNativeGain;
}

/// "was killed by Segmentation fault", "ended with exit code 3".
std::string describe_end(const Sample& sample);

/// Windows leave out the start and the end of a run, and what the caches hold from before the warm-up. On six
/// programs of bench-sampling that moved speedups by up to this factor. The other programs check it.
inline constexpr double kWindowsLeaveOut = 1.04;

/// The speedup of a design over another one, from the windows in which both and the reference design have a
/// result: the ratio of the sums of their times. Windows lie in equal shares of the program's instructions.
/// So a time of a section counts as often as the reference design has sections in an instruction there. The
/// interval is wider than that of the sums by what windows leave out. Nothing for fewer than two windows.
std::optional<Interval> interval_of_windows(const Row& row, const Row& reference);

/// The rows of one number of threads, without a verdict. On a real CPU cold rounds are left out.
Block block_of(const Plan& plan, const std::vector<Result>& results, std::optional<unsigned> threads);

/// `complete` is false if the comparison was stopped before every cell had run.
std::vector<Block> analyse(const Plan& plan, const std::vector<Result>& results, bool complete);

}  // namespace elision::cli::experiment
