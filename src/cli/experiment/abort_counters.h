// SPDX-License-Identifier: Apache-2.0
// The events that count the aborts of a program's threads, and sample them into one ring a CPU.
//
// The kernel has no event of a whole process, only of a thread and of what it starts, and no ring for such an
// event of all CPUs. So each thread has an event on each CPU, and those on one CPU share a ring. Of commits
// and cycles, which are counted alone, each thread has one event.
//
// Source: perf_event_open(2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/experiment/event_ring.h"
#include "cli/host/perf_event.h"
#include "profile/abort_account.h"

namespace elision::cli::experiment {

/// The counts of one thread's event on each CPU, as those of one event. The kernel takes an event of one CPU
/// as enabled while its thread runs on any CPU, so together those of all CPUs run as long as each is enabled.
/// They are enabled one after the other: the result's `enabled_ns` is the least of all, and `running_ns` may
/// exceed it. Events that were never enabled, or could not be read, do not count.
EventCount over_cpus(std::span<const EventCount> cpus);

class AbortCounters {
 public:
  /// One sample in `period` aborts of a thread. `access_period`: and one in so many loads, and in so many
  /// stores, into the same rings; 0: none. A CPU has few counters: beside them, cycles are not counted.
  AbortCounters(const TransactionEvents& events, std::uint64_t period, std::uint64_t access_period)
      : events_(events), period_(period), access_period_(access_period) {}

  /// Opens the events for `process`, which they count from its next execve on. Returns "", or why the kernel
  /// does not allow it: a clause.
  std::string open(pid_t process);
  /// The same for a process that runs already. It is counted when enable() is called.
  std::string attach(std::uint32_t process);
  void enable() const { for_each_event(&Event::enable); }
  void disable() const { for_each_event(&Event::disable); }

  /// What the event with this id samples.
  enum class Sampled { kAborts, kLoads, kStores };
  Sampled sampled_by(std::uint64_t event) const {
    const auto access = accesses_.find(event);
    return access != accesses_.end() ? access->second : Sampled::kAborts;
  }

  /// The layout of the records of samples.
  const profile::PerfLayout& layout() const { return threads_.front().aborts.front().event.layout(); }
  /// Ready when there is much to take.
  std::vector<int> sampling_descriptors() const;
  /// Appends the records that are new, ring by ring.
  void take(std::vector<std::uint8_t>& bytes);
  profile::AbortCounts counts() const;

 private:
  struct OfCpu {
    int cpu;
    Event event;
    std::vector<Event> accesses{};  // loads and stores, or empty
  };
  /// Of a thread and of what it starts.
  struct ThreadEvents {
    std::vector<OfCpu> aborts;
    Event commits, cycles, committed_cycles;
  };

  int open_threads(const std::vector<std::uint32_t>& ids);
  int open_each(const std::vector<std::uint32_t>& ids);
  bool has_one_layout() const;
  int open_thread(pid_t id, ThreadEvents& thread);
  int open_accesses(pid_t id, OfCpu& one);
  std::string why_refused(int error, std::size_t threads) const;
  std::string map_rings();
  void for_each_event(void (Event::*act)() const) const;

  const TransactionEvents events_;
  const std::uint64_t period_, access_period_;
  bool from_exec_ = false;     // they count from the next execve on
  bool with_branches_ = true;  // samples have branch records, if the CPUs have some
  bool counts_cycles_ = access_period_ == 0 && events_.cycles && events_.committed_cycles;
  std::vector<ThreadEvents> threads_;
  std::map<std::uint64_t, Sampled> accesses_;  // by event id
};

}  // namespace elision::cli::experiment
