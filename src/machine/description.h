// SPDX-License-Identifier: Apache-2.0
// The description of one multicore: plain numbers and names, no behaviour.
//
// Freestanding; immutable once loaded. Every value comes from a machine file (machines/*.toml), which also
// gives its source and, if it is uncertain, an interval. description_toml.h keeps those; here is only the
// best guess.
//
// Cycles are core cycles. What lies outside the core (L3, memory, lines of other cores) keeps its time in
// nanoseconds when the core clock changes, so files give it in nanoseconds, and convert_uncore() computes the
// cycles with which the model works.
#pragma once

#include <cstdint>

#include "machine/topology.h"

namespace elision::machine {

inline constexpr unsigned kMaxCpus = 128;

/// Where lines that an aborted transaction wrote remain, owned and with the contents from before it. Lines
/// that it only read stay in L1.
enum class AbortedLines : std::uint8_t {
  kInL1,
  kInL2,
  kLost,  // nowhere in the core
};

/// Which eviction of a line that it has read aborts an always-abort transaction.
enum class ReadEviction : std::uint8_t {
  kL1,     // from L1 (proposed by the AAHTM paper, section VI)
  kL3,     // from the last level, as for ordinary transactions
  kNever,  // none
};

struct CacheDescription {
  std::uint32_t size_kb = 0;
  std::uint32_t ways = 0;
  std::uint32_t latency_cycles = 0;  // load to use

  constexpr std::uint32_t lines() const { return size_kb * 16; }  // of 64 bytes
  constexpr std::uint32_t sets() const { return lines() / ways; }
};

struct Description {
  char name[64] = {};

  struct {
    std::uint32_t family = 0, model = 0, stepping = 0;
    char brand[49] = {};  // CPUID leaves 0x80000002-4, with a terminating zero
  } cpuid;

  std::uint32_t frequency_mhz = 0;  // base; the time stamp counter runs at it
  std::uint32_t core_mhz = 0;       // the core clock of all cores, from base to turbo

  Topology topology;

  struct {
    std::uint32_t issue_width = 0;  // fused uops a cycle
    std::uint32_t reorder_buffer_uops = 0;
    std::uint32_t load_buffer_entries = 0;  // loads in flight, finished or not
    std::uint32_t fill_buffers = 0;         // outstanding L1 misses by loads
    std::uint32_t store_buffer_entries = 0;
    std::uint32_t outstanding_stores = 0;  // requests for ownership in flight at once
    std::uint32_t branch_misprediction_cycles = 0;
    /// The share of the issue width that a hardware thread has while its sibling runs.
    std::uint32_t sibling_issue_percent = 0;
  } core;

  CacheDescription l1d, l1i, l2, l3;  // the latency of l3 is converted from uncore
  std::uint32_t l3_slices = 0;
  bool l3_inclusive = true;

  /// Entries and ways of the TLB. Pages have 4 KB unless the program asked for huge ones.
  struct {
    std::uint32_t data_entries = 0, data_ways = 0;
    std::uint32_t huge_entries = 0, huge_ways = 0;  // data, pages of 2 MB
    std::uint32_t code_entries = 0, code_ways = 0;
    std::uint32_t shared_entries = 0, shared_ways = 0;  // second level, for all
    std::uint32_t shared_latency_cycles = 0;            // added by a hit in the second level
    std::uint32_t walk_cycles = 0;                      // added by a miss in both
  } tlb;

  /// The prefetchers that the machine has.
  struct {
    bool next_line = false;          // into L1: the line after a miss, if L1 has the line before it
    bool stride = false;             // into L1: by the address of the load instruction
    bool adjacent_line = false;      // into L2: the other line of an aligned pair
    std::uint32_t stream_lines = 0;  // into L2: so many lines ahead of accesses in one direction; 0: none
    bool snoops = false;  // prefetches fetch lines from other cores and abort transactions that wrote them
  } prefetch;

  /// Times outside the core in picoseconds; the members below have them in core cycles.
  struct {
    std::uint32_t l3_latency_ps = 0;
    std::uint32_t memory_latency_ps = 0;
    std::uint32_t hop_ps = 0;
    std::uint32_t dirty_transfer_ps = 0;
    std::uint32_t clean_transfer_ps = 0;
    std::uint32_t upgrade_ps = 0;
    std::uint32_t request_ps = 0;
    std::uint32_t l3_gigabytes_per_second = 0;      // to all cores of a socket, from L3 or from each other
    std::uint32_t memory_gigabytes_per_second = 0;  // to all cores of a socket
  } uncore;

  std::uint32_t memory_latency_cycles = 0;
  std::uint32_t hop_cycles = 0;  // added to a transfer between sockets
  /// 256ths of a cycle for each line (link.h).
  std::uint32_t l3_line_time = 0, memory_line_time = 0;

  struct {
    std::uint32_t dirty_transfer_cycles = 0;  // load of a line that another core has modified
    std::uint32_t clean_transfer_cycles = 0;  // load of a line that another core has exclusive, unmodified
    std::uint32_t upgrade_cycles = 0;         // store to a line that other cores share
    std::uint32_t request_cycles = 0;  // from a core's request until it arrives at the core that has the line
    std::uint32_t hot_window_cycles = 0;  // how long a line that moved between CPUs is hot
    /// A load takes a line that another core has modified, as a store does: it leaves that core, and the
    /// transaction there that has it in its read set aborts. The requester may write it. Else both read it.
    bool loads_take_modified = false;
  } coherence;

  struct {
    std::uint32_t latency_percent = 0;      // L3, memory and coherence latencies vary by plus or minus this
    std::uint32_t transaction_percent = 0;  // begin, commit and abort costs vary by plus or minus this
  } jitter;

  struct {
    std::uint32_t pause_cycles = 0;
    std::uint32_t locked_cycles = 0;  // locked read-modify-write that hits L1
    std::uint32_t mfence_cycles = 0;
    std::uint32_t lfence_cycles = 0;
    std::uint32_t rdtsc_cycles = 0;
    std::uint32_t cpuid_cycles = 0;
    std::uint32_t syscall_cycles = 0;  // entry and exit of an empty system call
  } instructions;

  struct {
    std::uint32_t context_switch_cycles = 0;
    std::uint32_t futex_wake_cycles = 0;  // from the waker's call to the woken thread's first instruction
    std::uint32_t timer_interrupt_cycles = 0;
    std::uint32_t page_fault_cycles = 0;  // of memory that nobody has touched, until the access begins anew
    std::uint32_t timer_hz = 0;
    std::uint32_t time_slice_us = 0;
  } system;

  struct {
    std::uint32_t begin_cycles = 0;
    std::uint32_t commit_cycles = 0;       // of an empty transaction
    std::uint32_t commit_line_cycles = 0;  // more for each line that it has written
    std::uint32_t commit_hold_cycles = 0;  // before the end of a commit, in which it holds its written lines
    std::uint32_t abort_cycles = 0;        // from its cause in the core to the first instruction after it
    std::uint32_t nesting_limit = 0;
    std::uint32_t spurious_aborts_per_million = 0;
    /// Log2 of the bits of the read filter (read_filter.h). 0: no filter, so no false conflicts.
    std::uint32_t read_filter_log2 = 0;
    bool vzeroupper_aborts = false;
    AbortedLines aborted_lines = AbortedLines::kInL1;
  } transactions;

  struct {
    ReadEviction abort_on_read_eviction = ReadEviction::kL3;
    /// False: other CPUs may write the lines that it has read (proposed by the AAHTM paper, section VI).
    bool detects_read_conflicts = true;
    /// False: other CPUs may take the lines that it has written, and find them as they were before it. It
    /// goes on without what it wrote there. Accesses of the kernel end it all the same.
    bool detects_write_conflicts = true;
  } always_abort;

  /// False: transactions never conflict. Not in machine files: with this, tests of isolation must fail.
  bool conflict_detection = true;
};

/// Computes the members in core cycles from those of `uncore`, to the nearest cycle.
void convert_uncore(Description& description);

}  // namespace elision::machine
