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

/// The instructions in front of the snapshot, if a run with so many threads has one that is worth its
/// process: it lies in front of all that is simulated, and a design may execute an eighth less than the look
/// did.
std::optional<std::uint64_t> snapshot_at(const Plan& plan, std::optional<unsigned> threads);

class Snapshots {
 public:
  /// A snapshot's process, which ends with the last user of it.
  class Process;

  Snapshots(const Plan& plan, const StopFlag& stop);
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  /// The snapshot from which the cell may run, to be kept until it has. Null: it runs from the program's
  /// start. Waits until the snapshot is there, or will never be.
  std::shared_ptr<const Process> of(const Cell& cell);
  static const std::filesystem::path& socket(const Process& process);

  /// A run could not be a copy, so no other is to be one. Returns true the first time.
  bool give_up();

 private:
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
