// SPDX-License-Identifier: Apache-2.0
// What a program does before it has a second thread is executed once for many cells of a comparison: in a
// process that runs up to there and then forks (`elision vm --serve-snapshot`). Every number of threads and
// variation of the machine has two such processes: one under glibc's locks, and one under locks of ours, from
// which a copy changes to its own design.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "cli/experiment/child.h"
#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

/// How many instructions lie in front of the snapshot of runs with so many threads. Returns nothing if that
/// is not worth a process. The snapshot lies in front of all that is simulated, also if a design executes an
/// eighth less than the look at the program did.
std::optional<std::uint64_t> snapshot_at(const Plan& plan, std::optional<unsigned> threads);

class Snapshots {
 public:
  Snapshots(const Plan& plan, const StopFlag& stop);
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  /// A snapshot that runs may use: its socket, and its process, which ends when nobody keeps it any more.
  struct Snapshot {
    std::filesystem::path socket;
    std::shared_ptr<const void> process;
  };

  /// The snapshot for a run of the cell, once it is there. Returns nothing if the run has to begin at the
  /// program's start.
  std::optional<Snapshot> of(const Cell& cell);

  /// To be called after a run that could not be a copy: no other is to be one. Returns true the first time.
  bool give_up();

 private:
  class Process;
  using Key =
      std::tuple<std::optional<unsigned>, std::uint32_t, bool>;  // threads, variation, of glibc's locks
  static Key key_of(const Cell& cell);
  std::shared_ptr<const Process> process_of(const Cell& cell);

  const Plan& plan_;
  const StopFlag& stop_;
  std::mutex mutex_;
  std::deque<std::pair<Key, std::shared_ptr<const Process>>> processes_;  // the last used last
  bool given_up_ = false;
};

}  // namespace elision::cli::experiment
