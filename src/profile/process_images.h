// SPDX-License-Identifier: Apache-2.0
// The memory maps of processes, as records of performance events tell them (perf_records.h): which files
// their code comes from. A process that executes another program has another map from then on, and the child
// of a fork has its parent's.
//
// Allocates and opens files. The kernel does not report what is unmapped: the newer of two mappings counts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profile/names.h"
#include "profile/perf_records.h"
#include "profile/unwinder.h"

namespace elision::profile {

/// The map of one program as one process, or as several that it has forked.
class ProcessImage {
 public:
  void add(const PerfMapping& mapping);

  /// As /proc/PID/maps shows it. Files of which records tell the code alone get the page that the code's
  /// offset promises at their begin, so that Names finds them.
  std::string memory_map() const;
  /// Of all mappings so far, by files of this machine. The reference holds until the next one is added.
  const Names& names();
  /// The same, by debuginfod servers, too.
  const Names& names_by_servers();
  /// Returns the calls that led to a sample, innermost first and at most `most`: by its copy of the stack if
  /// it has one, else by the kernel's walk along frame pointers. Empty if the sample has neither.
  std::vector<CallStep> calls_of(const PerfSample& sample, std::size_t most);
  /// Whether a part of [begin, end) is mapped.
  bool overlaps(std::uint64_t begin, std::uint64_t end) const;

 private:
  struct Range {
    std::uint64_t end = 0, offset = 0;
    bool is_code = false;
    std::string name;
  };
  void make_room(std::uint64_t begin, std::uint64_t end);

  std::map<std::uint64_t, Range> ranges_;  // by their begin; none overlap
  std::unique_ptr<Names> names_, names_by_servers_;
  std::unique_ptr<Unwinder> unwinder_;
};

class ProcessImages {
 public:
  /// So many processes and programs are told apart; all further ones have no map.
  static constexpr std::size_t kMost = 1 << 12;
  static constexpr std::size_t kMostMappings = 1 << 16;  // of all together

  /// Applies a record of a mapping, a fork or an execve. Returns false for any other record.
  bool add(PerfBytes record);

  /// Adds the mappings of a process that ran before its records began. `memory_map`: as /proc/PID/maps.
  void add_map(std::uint32_t process, const std::string& memory_map);

  /// The number of the process's image now.
  std::size_t number_of(std::uint32_t process);
  ProcessImage& operator[](std::size_t number) { return *images_[number]; }

 private:
  void map(const PerfMapping& mapping);
  std::size_t add_image();

  std::vector<std::unique_ptr<ProcessImage>> images_;
  std::map<std::uint32_t, std::size_t> of_process_;
  std::size_t mappings_ = 0;
};

}  // namespace elision::profile
