// SPDX-License-Identifier: Apache-2.0
// Reads files of `perf record` (perf.data). Pure. Rejects anything that is not perf.data. Of a file that is
// cut short or damaged, reads the records before that place.
//
// Sources: tools/perf/Documentation/perf.data-file-format.txt of Linux; perf_event_open(2).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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
  std::string name{};  // as the user of perf wrote it; empty: not known
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
  /// The kernel's records in order of time, without those that perf itself writes.
  const std::vector<Record>& records() const { return records_; }
  /// The number of samples of events that the file does not describe. They are in no record.
  std::uint64_t unknown_samples() const { return unknown_samples_; }
  /// The words of perf's command line; empty: not known.
  const std::vector<std::string>& command() const { return command_; }
  /// What the file lacks, as a clause: "it ends in the middle of a record". Empty: nothing.
  const std::string& damage() const { return damage_; }

 private:
  bool read_events(std::string_view bytes, std::uint64_t at, std::uint64_t size, std::uint64_t entry_bytes);
  void read_features(std::string_view bytes, std::uint64_t at, const std::uint64_t (&bits)[4]);
  void read_records(PerfBytes data);
  std::optional<std::size_t> event_of(PerfBytes record) const;

  std::vector<PerfFileEvent> events_;
  std::unordered_map<std::uint64_t, std::size_t> event_of_id_;  // by the ids in records
  std::vector<Record> records_;
  std::uint64_t unknown_samples_ = 0;
  std::vector<std::string> command_;
  std::string damage_;
  bool is_compressed_ = false;
};

}  // namespace elision::profile
