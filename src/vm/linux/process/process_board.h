// SPDX-License-Identifier: Apache-2.0
// What the processes of one run know of each other: each publishes its threads, its mappings and its program,
// and others show them in /proc/PID (shown_process.h). Shared memory that children inherit and that survives
// execve.
//
// A process writes only its own entry, and others read it at any moment: each part has a turn, which is odd
// while the part is being written. The state of a thread is one byte, written in place. An entry counts while
// the host's process with its number started when the entry says, so numbers may be used again. If the board
// is full, /proc shows the host's process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elision::vm {

class ProcessBoard {
 public:
  enum Part : unsigned { kThreads, kRegions, kProgram, kParts };
  static constexpr std::size_t kEntries = 1024;
  /// Room for a part: for tens of thousands of threads and of mappings, and for more arguments than execve
  /// takes.
  static constexpr std::uint64_t kPartBytes[kParts] = {2u << 20, 2u << 20, 12u << 20};

  /// Opens the board that this process had before execve. `inherited` is its descriptor, or negative if this
  /// process has had no board.
  explicit ProcessBoard(int inherited);

  /// Creates the board, before the first child.
  void make();
  bool exists() const { return entries_ != nullptr; }
  /// The descriptor to pass over execve; negative if there is no board.
  int descriptor_over_exec() const;

  /// Makes this process's entry the one that publish() writes. Its parts are empty, unless it is that of the
  /// image before this one. Returns whether there was room.
  bool claim(int host_pid);
  bool is_claimed() const { return own_ != nullptr; }
  /// This process ends: others no longer see its entry.
  void leave();

  /// Replaces a part. Returns where it lies, for bytes that change in place; null if it is too large, and
  /// then it is empty.
  char* publish(Part part, const std::string& bytes);

  /// Reads a part of the process with this host process ID. Returns nothing if it has no entry, or ended in
  /// the middle of a write.
  std::optional<std::string> read(int host_pid, Part part) const;
  /// Host numbers of all entries. Some may have ended.
  std::vector<int> host_pids() const;

 private:
  struct Entry;
  bool map();
  Entry* find(int host_pid) const;
  Entry* take(int host_pid);
  std::uint64_t place_of(const Entry& entry, Part part) const;

  int descriptor_ = -1;
  Entry* entries_ = nullptr;
  Entry* own_ = nullptr;
  char* window_ = nullptr;  // the parts of the own entry
};

}  // namespace elision::vm
