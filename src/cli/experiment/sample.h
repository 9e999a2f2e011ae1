// SPDX-License-Identifier: Apache-2.0
// The data types of a comparison: what to run (Plan, Cell) and the result of one run (Sample).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/tm_counters.h"
#include "cli/host/program_file.h"
#include "cli/options/lock_options.h"
#include "cli/options/region_options.h"
#include "machine/variation.h"
#include "profile/profile.h"

namespace elision::cli::experiment {

inline constexpr const char* kPthread = "pthread";  // the design of locks that others are compared with
inline constexpr unsigned kMostRuns = 1000;         // of each design

/// What a plan compares.
enum class Subject {
  kLocks,                // options/designs.h
  kTransactionalMemory,  // options/tm_modes.h
};

/// Numbers of rounds: at first, and at most while designs are undecided.
struct Rounds {
  unsigned first = 0;
  unsigned most = 0;
};

/// Without a number from the user. A virtual machine's runs differ less than a real CPU's and take longer.
inline constexpr Rounds kVirtualRounds{3, 12}, kNativeRounds{5, 30};

/// One run of the program.
struct Cell {
  std::optional<unsigned> threads;  // the value of {threads}; nothing if the program's words lack it
  std::string design;
  unsigned run = 0;                   // 0-based
  std::uint64_t seed = 1;             // virtual machine only, as the variation is
  std::uint32_t variation = 0;        // of the machine
  bool explains = false;              // its sample has a profile of the locks; its time does not count
  bool previews = false;              // virtual machine only: in fast mode, and its statistics are kept
  std::uint64_t look_length = 0;      // of a preview: it ends after so many instructions with several threads
  double look_ms = 4;                 // if it explains, on a real CPU: the mean distance of the looks at it
  std::optional<unsigned> process{};  // the first run of its process, which simulates several windows

  unsigned first_of_process() const { return process.value_or(run); }
};

struct Sample;

/// What every run starts. "{threads}" in the program's words is replaced by the cell's number.
struct Launch {
  Program program;
  Subject subject = Subject::kLocks;
  LockOptions lock;
  std::string tm_retry;  // empty: the library's default
  // For the virtual machine only:
  std::vector<std::string> vm_words;  // more options of `elision vm`
  bool keep_statistics = false;       // in the samples
};

/// Instructions of a run in fast mode.
struct Preview {
  std::uint64_t alone = 0;  // before the second thread
  std::uint64_t all = 0;    // that were seen
  bool is_cut = false;      // the program goes on behind them
  double host_seconds = 0;  // of the look

  friend bool operator==(const Preview&, const Preview&) = default;
};

/// Which part of the program's run is simulated in detail.
struct Part {
  enum class Kind {
    kAsAsked,           // by the user's options; without any, the whole run
    kFromSecondThread,  // all but what the program does before it starts one
    kWindows,  // short parts, of which round i simulates the i-th; the result is the time of a section
  };

  Kind kind = Kind::kAsAsked;
  std::vector<Preview> seen{};  // if not as asked: one for each number of threads
  unsigned windows = 0;         // of each design and number of threads
  unsigned places = 0;          // equal shares of the part, in whose middles windows may lie
  unsigned together = 1;        // windows that one process simulates
  std::uint64_t length_ns = 0;  // of a window, in virtual time
};

/// By number of threads and round.
using Windows = std::map<std::optional<unsigned>, std::vector<vm::RunRegion>>;

/// What to run and how to read results.
struct Plan {
  Launch launch;
  Part part;
  Windows windows;                   // of the part, if it has windows
  std::string where;                 // "native" or the machine's name
  bool model = false;                // true: virtual time from a model, false: a real CPU's clock
  std::vector<std::string> designs;  // the reference first
  std::vector<std::optional<unsigned>> thread_counts;
  unsigned runs = 3;        // of each design, or rounds: run i of all designs is round i
  unsigned most_runs = 0;   // while designs are undecided, rounds are added up to so many; 0: none are added
  std::vector<Cell> cells;  // exactly these, as in a comparison that is repeated; empty: rounds as above
  double budget_seconds = 0;     // real time for the comparison; 0: as long as it takes
  double rounds_seconds = 0;     // of the budget, what is left for the rounds
  bool shares_beginning = true;  // what runs do before a second thread, in one process for many (snapshots.h)
  double precision = 0;  // of each speedup, for which rounds are added; 0: until all designs are judged
  std::uint64_t first_seed = 1;  // of run 0; the others count up
  std::string metric;            // regular expression whose first group is the result; empty: time
  bool lower_is_better = false;  // of the metric; of time it always is
  bool compare_output = true;
  bool ignore_failure = false;  // an exit code other than 0 under the reference is the program's normal end
  // Why no lock of the program can be replaced. Empty: some can, or it is not known.
  std::string why_no_locks;
  std::map<std::string, std::string> not_run;  // design -> why it is left out
  std::string command = "elision";             // as the user calls it, for commands to repeat
  std::vector<std::string> options;            // of this comparison, as the user wrote them

  // With --vary: the uncertain values of each variation; run i has variation i. Else empty.
  std::vector<std::vector<machine::DrawnValue>> variations;
  // False: the plan does not compare designs, so a run without locks or a failing program does not stop it.
  bool judges_designs = true;

  /// The design that others are compared with.
  const std::string& reference() const { return designs.front(); }
  bool compares_locks() const { return launch.subject == Subject::kLocks; }
  /// Whether this run under the reference shows the program's normal behaviour.
  bool accepts(const Sample& reference) const;

  /// The program's name as the user wrote it.
  const std::string& program() const { return launch.program.words.front(); }
  bool uses_metric() const { return !metric.empty(); }
  bool varies() const { return !variations.empty(); }
  /// Whether results are of the same amount of work, however much the program does.
  bool compares_rates() const { return uses_metric() || samples(); }
  bool samples() const { return part.kind == Part::Kind::kWindows; }
  /// The cell of that design and round. Windows of one process have its seed.
  Cell cell_of(std::optional<unsigned> threads, std::string design, unsigned round, unsigned process) const {
    return {.threads = threads,
            .design = std::move(design),
            .run = round,
            .seed = first_seed + process,
            .variation = varies() ? round : 0,
            .process = process};
  }
  bool starts_at_second_thread() const { return part.kind == Part::Kind::kFromSecondThread; }
  const Rounds& default_rounds() const { return model ? kVirtualRounds : kNativeRounds; }
};

enum class Outcome {
  kEnded,     // with an exit code
  kKilled,    // by a signal
  kTimedOut,  // did not end in the time allowed
};

/// The lock library's counts over all processes and threads of a run; or those of libelision-tm, whose
/// acquisitions are transactions, and whose fallbacks are those that did not commit in hardware.
struct LockCounts {
  /// A lock that the library can replace was taken; or a transaction ran, or may have.
  bool locks_seen = false;
  std::uint64_t acquisitions = 0;
  std::uint64_t commits = 0;
  std::map<std::string, std::uint64_t> aborts;  // by cause, zeros left out
  std::uint64_t fallbacks = 0;
  std::uint64_t speculations = 0;
  double longest_wait_seconds = 0;
  std::optional<abi::TmCounters> tm;  // if libelision-tm ran
};

struct Sample {
  /// Whether the program ended with its own exit code. After a deadlock the code is the engine's.
  bool ended() const { return outcome == Outcome::kEnded && !deadlocked; }

  Outcome outcome = Outcome::kEnded;
  bool deadlocked = false;  // every thread of a process waited for another; virtual machine only
  std::string start_error;  // why the virtual machine could not start the program; empty: it started
  std::string
      missed_part;       // why no process reached the part to simulate; empty: one did, or all is simulated
  int status = 0;        // exit code or signal number
  int left_running = 0;  // a process of the program that could not be ended; 0: none
  double seconds = 0;    // virtual or wall, as the plan says; if it samples, divided by the sections entered
  bool ends_in_window = false;  // of a window: the program ended before it did
  bool has_no_section = false;  // of a window: for that reason, or since the program took no lock in it
  double sections_an_instruction = 0;  // of a window: how much of the program's work an instruction is
  bool is_copy = false;                // of a snapshot (snapshots.h)
  double cpu_seconds = 0;              // virtual or real
  double host_seconds = 0;             // real time of the run, for the estimate
  double wait_seconds = 0;             // real time before it, until its snapshot was there
  double most_seconds = 0;             // real time that the run was allowed
  LockCounts locks;
  std::optional<profile::Profile> profile;  // if the cell explains
  std::string output;                       // standard output
  std::string error_output;                 // standard error
  // The virtual machine's statistics, one object per process in start order, if the launch or the cell keeps
  // them.
  std::vector<nlohmann::json> processes;
};

inline bool Plan::accepts(const Sample& reference) const {
  return reference.ended() && (reference.status == 0 || ignore_failure);
}

/// A cell that was run.
struct Result {
  Cell cell;
  Sample sample;
};

}  // namespace elision::cli::experiment
