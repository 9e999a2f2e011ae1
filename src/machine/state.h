// SPDX-License-Identifier: Apache-2.0
// What the parts of the model work on: hardware threads, cores with their caches, the directory.
//
// The parts are classes, each derived from the one below it, so they share one object and a call between them
// costs no indirection. A part calls what the parts below it have public or protected:
//
//   State <- CoreCaches <- Transactions <- Coherence <- Prefetching <- InstructionFetch <- Access
//
// Freestanding.
#pragma once

#include "base/random.h"
#include "machine/arena.h"
#include "machine/cache.h"
#include "machine/directory.h"
#include "machine/link.h"
#include "machine/miss_status_registers.h"
#include "machine/model.h"
#include "machine/numa.h"
#include "machine/prefetcher.h"
#include "machine/read_filter.h"
#include "machine/store_buffer.h"
#include "machine/streamer.h"
#include "machine/tlb.h"
#include "machine/untouched_pages.h"

namespace elision::machine {

inline constexpr LineAddr kNoLine{~std::uint64_t{0}};

/// A running transaction of one CPU.
struct Transaction {
  bool active = false;
  bool always_abort = false;
  bool spurious = false;    // is to abort spuriously; drawn at begin, reported once
  std::uint64_t begun = 0;  // transactions so far, for the filter's epoch
  StoreBuffer::Mark stores{};
  std::uint64_t commit_end = 0;    // when it commits, once XEND has begun
  std::uint32_t* lines = nullptr;  // indices of its ReadWriteSets, each once
  std::uint32_t line_count = 0;
  std::uint32_t written_lines = 0;  // of them
  ReadFilter read_filter;
};

/// A request for a line that another core has. It travels to the home of the line (its part of L3), where it
/// waits while the line is in flight, and from there to the core, where it waits while a commit holds the
/// line. Each is half the way.
struct Journey {
  enum class At : std::uint8_t { kNowhere, kHome, kCore };
  LineAddr line = kNoLine;
  std::uint64_t begin = 0;
  std::uint64_t due = 0;    // when it gets there, or asks again because the line is busy
  std::uint64_t spent = 0;  // on the way that counts as a part of the line's transfer
  At at = At::kNowhere;
};

struct Cpu;

/// A physical core.
struct Core {
  PrivateCache l1, l2, l1i;
  Tlb tlb;
  Cpu* threads[kMaxThreadsPerCore];  // the hardware threads in use
  unsigned thread_count;
  Streamer streamer;

  template <class Action>
  [[gnu::always_inline]] void for_each_thread(Action action) {
    for (unsigned i = 0; i < thread_count; ++i) action(*threads[i]);
  }
};

/// A hardware thread. What every access reads comes first, and the long arrays last, because the model shares
/// the host's L1 with the guest.
struct alignas(64) Cpu {
  unsigned id = 0;
  unsigned thread = 0;  // its number in the core
  unsigned socket = 0;
  Core* core = nullptr;
  Filter* filter = nullptr;
  Transaction transaction;
  CpuCounts counts{};
  MissStatusRegisters load_misses;
  StoreBuffer stores;
  // The page that was translated last, and when its translation is done. An access that is told to wait finds
  // the page translated when it comes back, but must not use it sooner.
  std::uint64_t walked_page = 0;
  std::uint64_t walk_ready = 0;
  Journey journey;
  StridePrefetcher strides;

  /// A flag of cache.h for this hardware thread.
  std::uint16_t mine(std::uint16_t flag) const { return static_cast<std::uint16_t>(flag << thread); }
};

struct State {
  State(const Description& description, unsigned cpu_count, std::uint64_t seed, Filter* const* filters,
        AbortSink& sink, Arena arena);

  /// Room for everything at its largest. Pages that are not used are not touched.
  static std::size_t bytes(const Description& description, unsigned cpu_count);

  void set_huge_pages(GuestAddr begin, GuestAddr end, bool huge);

  /// `cycles` plus or minus at most `percent` of it.
  std::uint64_t vary(std::uint64_t cycles, std::uint32_t percent) {
    const std::uint64_t most = cycles * percent / 100;
    return most == 0 ? cycles : cycles - most + random.below(2 * most + 1);
  }
  std::uint64_t vary_latency(std::uint64_t cycles) {
    return vary(cycles, description.jitter.latency_percent);
  }

  // What every access reads, together.
  Cpu* cpus;
  unsigned cpu_count;
  Directory directory;
  Random random;
  Numa numa;

  Link l3_link[Numa::kMostSockets];      // what a socket's cores get from L3 and from each other
  Link memory_link[Numa::kMostSockets];  // what they get from memory

  HugePages huge_pages;
  UntouchedPages untouched_pages;
  CpuMask read_filters_in_use;
  unsigned active_transactions = 0;

  Description description;
  Arena arena;
  AbortSink& sink;
  Core* cores;
  unsigned core_count;  // those that have a CPU in use
};

}  // namespace elision::machine
