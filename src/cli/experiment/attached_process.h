// SPDX-License-Identifier: Apache-2.0
// A process that runs already, with the lock library: the place of its counters (abi/counters.h) in its
// memory, which is read from outside. The process is not stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace elision::cli::experiment {

class AttachedProcess {
 public:
  /// Throws UsageError, with the reason: no process has this id, this user may not read its memory, it does
  /// not have this version of the lock library, or the library does not note what its threads do.
  explicit AttachedProcess(std::uint32_t id);
  ~AttachedProcess();
  AttachedProcess(const AttachedProcess&) = delete;
  AttachedProcess& operator=(const AttachedProcess&) = delete;

  std::uint32_t id() const { return id_; }
  /// The process's memory as a file, and where the counters begin in it.
  int memory() const { return memory_; }
  std::uint64_t counters() const { return counters_; }
  /// As it was started.
  std::vector<std::string> command() const;
  /// The lock design in use.
  std::string design() const;
  bool has_ended() const;

 private:
  void find_counters();

  std::uint32_t id_;
  int memory_ = -1;
  std::uint64_t counters_ = 0;
};

}  // namespace elision::cli::experiment
