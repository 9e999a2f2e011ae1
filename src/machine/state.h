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
  std::uint64_t commit_end = 0;    // when it commits; 0 before XEND has begun
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
  AccessKind kind = AccessKind::kLoad;
};

/// The first lines that a transaction and its repetitions touched, in that order.
struct FirstLines {
  static constexpr unsigned kMost = 8;
  struct Touch {
    LineAddr line = kNoLine;
    std::uint64_t after = 0;  // cycles of work since the begin
    bool written = false;
  };
  Touch touches[kMost];
  unsigned count = 0;
  std::uint64_t begin_work = 0;  // of the try that runs
  bool again = false;            // a try was aborted, and the next transaction is taken for another one
};

/// A request that travels while no access waits for it (early_requests.cc).
struct EarlyRequest {
  LineAddr line = kNoLine;
  AccessKind kind = AccessKind::kLoad;
  std::uint64_t due = 0;  // when it gets there
  std::uint64_t spent = 0;
};

struct EarlyRequests {
  static constexpr unsigned kMost = FirstLines::kMost;
  unsigned count = 0;
  EarlyRequest requests[kMost];

  EarlyRequest* find(LineAddr line) {
    for (unsigned i = 0; i < count; ++i)
      if (requests[i].line == line) return &requests[i];
    return nullptr;
  }
  void remove(EarlyRequest& request) { request = requests[--count]; }
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

/// The last wait of a CPU for an atomic or a commit. A real core goes on meanwhile: within its reorder window
/// it fetches the lines that the loads and atomics behind need, and does work that needs no memory (measured:
/// early_loads in repro/silicon). The model waits, and takes the wait off the latency of what follows
/// closely.
struct LastWait {
  std::uint64_t end = 0;
  std::uint64_t length = 0;
  std::uint64_t work = 0;  // that this wait and those that it overlaps have behind them
  bool commit = false;
};

/// A store that has executed but waits in the store buffer, to a line that has moved between CPUs lately. A
/// load of another core that arrives meanwhile finds the value from before the store, and takes the line
/// along: the store must get it back. Without this, such a load would wait for the store and get the line
/// ahead of whatever its core does next; an atomic behind the store would nearly always lose to it.
///
/// That core may have made later stores, which memory shows at once. A CPU that has seen one of them must not
/// see the older value. So the record is forgotten when the core gives any line to another one.
struct UnseenStore {
  LineAddr line = kNoLine;
  std::uint64_t executed = 0;
  std::uint64_t arrival = 0;  // of the line
  std::uint64_t visible = 0;
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
  UnseenStore unseen;
  LastWait last_wait;
  std::uint64_t settling_since = 0;  // when the CPU reached the instruction that waits for its loads
  // The atomic that waits for its turn: when the CPU reached it, since when its line has been fetched, and
  // when it comes back.
  LineAddr atomic_line = kNoLine;
  std::uint64_t atomic_reached = 0, atomic_since = 0, atomic_due = 0;
  StridePrefetcher strides;
  EarlyRequests early;
  FirstLines first_lines;

  /// How long before `now` the core has begun what it does now: as long as it has waited, if it waited within
  /// the reorder window.
  std::uint64_t overlap(std::uint64_t now) const {
    const bool close = now >= last_wait.end && last_wait.work + (now - last_wait.end) <= load_misses.window();
    return close ? last_wait.length : 0;
  }

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
    return vary_by(cycles, cycles * percent / 100);
  }
  std::uint64_t vary_latency(std::uint64_t cycles) {
    return vary(cycles, description.jitter.latency_percent);
  }
  /// A part of a latency, as if parts varied independently and their variances added up to that of the whole:
  /// it varies by the root of its share of what the whole does.
  std::uint64_t vary_part(std::uint64_t cycles, std::uint64_t whole) {
    const std::uint64_t most = whole * description.jitter.latency_percent / 100;
    if (cycles >= whole) return vary_latency(cycles);
    std::uint64_t root = most;  // of most^2 * cycles / whole, by Newton's method from above
    const std::uint64_t square = most * most * cycles / whole;
    while (root != 0 && root > square / root) root = (root + square / root) / 2;
    return vary_by(cycles, std::min(root, cycles));
  }
  std::uint64_t vary_by(std::uint64_t cycles, std::uint64_t most) {
    return most == 0 ? cycles : cycles - most + random.below(2 * most + 1);
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
  bool stores_are_unseen = false;  // a CPU may have an UnseenStore
  unsigned active_transactions = 0;
  CpuMask early_requesters;  // CPUs that have an EarlyRequest
  Cycles next_arrival = kNever;

  Description description;
  Arena arena;
  AbortSink& sink;
  Core* cores;
  unsigned core_count;  // those that have a CPU in use
};

}  // namespace elision::machine
