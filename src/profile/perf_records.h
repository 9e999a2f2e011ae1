// SPDX-License-Identifier: Apache-2.0
// Records of perf_event_open: what the kernel writes into an event's ring buffer and `perf record` into its
// file. Pure. A record may hold anything: what does not fit together is refused.
//
// Layouts: perf_event_open(2).
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profile/call_rules.h"

namespace elision::profile {

using PerfBytes = std::span<const std::uint8_t>;

/// What an event's attributes say of the layout of its records.
struct PerfLayout {
  std::uint64_t sample_type = 0;  // PERF_SAMPLE_
  std::uint64_t read_format = 0;  // PERF_FORMAT_
  std::uint64_t branch_type = 0;  // PERF_SAMPLE_BRANCH_
  std::uint64_t registers = 0;    // of the user's code: a bit a register
  bool sample_id_all = false;     // records that are no samples end with a sample's ids

  explicit PerfLayout(const perf_event_attr& attr = {});
  bool operator==(const PerfLayout&) const = default;
};

/// A branch as the CPU has recorded it.
struct PerfBranch {
  std::uint64_t from = 0, to = 0;
  bool in_transaction = false;
  bool is_abort = false;
  std::uint8_t type = PERF_BR_UNKNOWN;  // PERF_BR_
};

struct PerfSample {
  std::uint64_t id = 0;  // of the event; 0: the records do not say
  std::uint64_t ip = 0;
  std::uint64_t time = 0;  // nanoseconds; 0: not known
  std::uint64_t address = 0;
  std::uint64_t period = 0;
  std::uint64_t weight = 0;       // of an abort: cycles since its transaction began
  std::uint64_t transaction = 0;  // PERF_TXN_
  std::uint32_t process = 0, thread = 0;
  bool is_exact = false;                // `ip` is the instruction that caused the event
  std::vector<std::uint64_t> calls;     // by frame pointers, of user code, innermost first
  std::vector<PerfBranch> branches;     // newest first
  bool has_calls_and_returns = false;   // `branches` has all of them
  std::optional<DwarfRegisters> state;  // registers of the user's code
  PerfBytes stack;                      // a copy from its stack pointer on, in the record
};

/// Parses a sample. `record` is a whole record with its header. Returns nothing if its fields do not fit.
std::optional<PerfSample> read_sample(PerfBytes record, const PerfLayout& layout);

/// A mapping of a file or of other memory (PERF_RECORD_MMAP and MMAP2).
struct PerfMapping {
  std::uint32_t process = 0;
  std::uint64_t begin = 0, size = 0, offset = 0;
  bool is_code = false;
  std::string name;
};
std::optional<PerfMapping> read_mapping(PerfBytes record);

/// A thread's name (PERF_RECORD_COMM).
struct PerfName {
  std::uint32_t process = 0, thread = 0;
  bool by_exec = false;  // the process executes another program
  std::string name;
};
std::optional<PerfName> read_name(PerfBytes record);

/// A thread or process begins (PERF_RECORD_FORK).
struct PerfFork {
  std::uint32_t process = 0, parent = 0;
};
std::optional<PerfFork> read_fork(PerfBytes record);

/// The number of records that were lost before this one (PERF_RECORD_LOST, LOST_SAMPLES).
std::optional<std::uint64_t> read_losses(PerfBytes record);

/// Returns the header of the record at the start of `bytes`, or nothing if the record is cut short.
std::optional<perf_event_header> read_header(PerfBytes bytes);

/// Returns the time of a record in nanoseconds, from its sample or from the ids at its end, or 0 if the
/// record has no time.
std::uint64_t time_of_record(PerfBytes record, const PerfLayout& layout);

}  // namespace elision::profile
