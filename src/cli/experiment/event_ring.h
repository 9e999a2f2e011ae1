// SPDX-License-Identifier: Apache-2.0
// One event of perf_event_open with its ring buffer.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <vector>

#include "profile/perf_records.h"

namespace elision::cli::experiment {

/// What an event has counted.
struct EventCount {
  std::uint64_t count = 0;
  std::uint64_t enabled_ns = 0;
  std::uint64_t running_ns = 0;  // of it: the event was on the CPU
};

class Event {
 public:
  Event() = default;
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  /// Opens the event for `process` on `cpu` (-1 for any CPU), at most as precise as `attr` says. Returns 0 or
  /// the errno.
  int open(perf_event_attr attr, int process, int cpu);
  /// Maps a ring as large as the kernel allows, at most 512 KB. Returns 0 or the errno.
  int map_ring();
  int descriptor() const { return descriptor_; }
  /// Lets the event write its records into the ring of `other`, which is one of the same CPU. Returns 0 or
  /// the errno.
  int write_to(const Event& other) const;
  /// Starts and stops counting, in threads that have inherited the event, too.
  void enable() const;
  void disable() const;
  /// The number by which its samples and those of threads that have inherited it name it
  /// (PERF_SAMPLE_IDENTIFIER), or 0.
  std::uint64_t id() const;
  /// Whether its samples have the instruction that caused them.
  bool is_precise() const { return is_precise_; }
  /// The layout of its records.
  const profile::PerfLayout& layout() const { return layout_; }

  /// Appends the records that are new to `bytes`, each whole.
  void take(std::vector<std::uint8_t>& bytes);
  EventCount count() const;

 private:
  int descriptor_ = -1;
  profile::PerfLayout layout_;
  bool is_precise_ = false;
  perf_event_mmap_page* page_ = nullptr;
  std::uint64_t ring_bytes_ = 0;  // of data
};

}  // namespace elision::cli::experiment
