// SPDX-License-Identifier: Apache-2.0
// Reads files of `perf record` (perf.data). Pure. A file may hold anything: what is no such file is refused,
// and of one that is cut short or damaged further on, the records before that are read.
//
// Sources: tools/perf/Documentation/perf.data-file-format.txt of Linux; perf_event_open(2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/perf_records.h"

namespace elision::profile {

/// An event that was recorded.
struct PerfFileEvent {
  PerfLayout layout;
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  bool is_frequency = false;
  std::uint64_t frequency_or_period = 0;
  std::string name{};                // as the user of perf wrote it; empty: not known
  std::vector<std::uint64_t> ids{};  // of its records
};

class PerfFile {
 public:
  /// Parses `bytes`, which must outlive the result. The error is a part of a sentence: "is ...".
  static Result<PerfFile> parse(std::string_view bytes);

  struct Record {
    PerfBytes bytes;
    std::size_t event = 0;  // in events()
    std::uint64_t time = 0;
  };

  const std::vector<PerfFileEvent>& events() const { return events_; }
  /// Of the kernel, in the order of time. Those of perf itself are left out.
  const std::vector<Record>& records() const { return records_; }
  /// The words of perf's command line; empty: not known.
  const std::vector<std::string>& command() const { return command_; }
  /// What the file lacks, as a clause: "it ends in the middle of a record". Empty: nothing.
  const std::string& damage() const { return damage_; }

 private:
  bool read_events(std::string_view bytes, std::uint64_t at, std::uint64_t size, std::uint64_t entry_bytes);
  void read_features(std::string_view bytes, std::uint64_t at, const std::uint64_t (&bits)[4]);
  void read_records(PerfBytes data);
  std::size_t event_of(PerfBytes record) const;

  std::vector<PerfFileEvent> events_;
  std::vector<Record> records_;
  std::vector<std::string> command_;
  std::string damage_;
  bool is_compressed_ = false;
};

}  // namespace elision::profile
