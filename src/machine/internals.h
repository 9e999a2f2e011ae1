// SPDX-License-Identifier: Apache-2.0
// What the model is made of; for its own .cc files and nobody else.
//
//   model.cc         construction, time (drain, settle)
//   translation.cc   what an access waits for that needs a translation; huge pages
//   access.cc        an access from the look-ups to the reply: local hits, stalls, L1, L2
//   coherence.cc     an access that needs the directory: waits, conflicts, transfers, evictions
//   instruction_fetch.cc  L1I and what is behind it
//   prefetching.cc   lines that come before they are asked for
//   private_caches.cc  how lines enter and leave L1 and L2
//   transactions.cc  begin, commit, abort, membership in read and write sets
//   invariants.cc    the check for tests
#pragma once

#include "base/random.h"
#include "machine/cache.h"
#include "machine/cpu_mask.h"
#include "machine/directory.h"
#include "machine/fast_path.h"
#include "machine/miss_status_registers.h"
#include "machine/model.h"
#include "machine/numa.h"
#include "machine/prefetcher.h"
#include "machine/read_filter.h"
#include "machine/store_buffer.h"
#include "machine/tlb.h"

namespace elision::machine {

/// A running transaction of one CPU.
struct Transaction {
  bool active = false;
  bool always_abort = false;
  bool spurious = false;    // drawn at begin, reported once
  std::uint64_t begun = 0;  // transactions so far; the filter's epoch comes from it
  StoreBuffer::Mark stores{};
  std::uint32_t* lines = nullptr;  // indices of the ReadWriteSets it is in, each once
  std::uint32_t line_count = 0;
  ReadFilter read_filter;
};

struct Cpu;

struct Core {
  PrivateCache l1, l2, l1i;
  Tlb tlb;
  Cpu* thread[kMaxThreadsPerCore];  // the hardware threads in use
  unsigned threads;
};

/// What every access looks at comes first, and the long arrays last: the model shares the host's L1 with the
/// guest.
struct alignas(64) Cpu {
  unsigned id = 0;
  unsigned thread = 0;  // of the core
  unsigned socket = 0;
  Core* home = nullptr;
  Filter* filter = nullptr;
  Transaction transaction;
  CpuCounts counts{};
  MissStatusRegisters load_misses;
  StoreBuffer stores;
  // The page that was translated last, and when that was done: an access that has to come back finds it
  // translated, but still has to wait.
  std::uint64_t walked_page = 0;
  std::uint64_t walk_ready = 0;
  StridePrefetcher strides;

  /// A flag of cache.h as it stands for this hardware thread.
  std::uint16_t mine(std::uint16_t flag) const { return static_cast<std::uint16_t>(flag << thread); }
};

struct Model::Impl {
  Impl(const Description& description, unsigned cpus, std::uint64_t seed, Filter* const* filters,
       AbortSink& sink, Arena arena);

  // --- translation.cc ---
  Cycles translate(const Request& request, Cpu& cpu);
  void set_huge_pages(GuestAddr begin, GuestAddr end, bool huge);

  // --- access.cc ---
  /// Where a core's caches have a line, as far as that was looked up.
  struct Lookup {
    static constexpr std::uint32_t kNotSought = ~std::uint32_t{0} - 1;
    std::uint32_t l1_slot = kNotSought;
    std::uint32_t l2_slot = kNotSought;
  };
  Reply access(const Request& request);
  bool hits_l1_locally(const Request& request, const Cpu& cpu, std::uint32_t l1_slot) const;
  Reply hit_l1_locally(const Request& request, Cpu& cpu, std::uint32_t l1_slot);
  bool stays_in_core(const Request& request, const Cpu& cpu, Lookup& found) const;
  void open_to_filter(const Request& request, Cpu& cpu, std::uint32_t l1_slot);
  Reply perform(Request request, Cpu& cpu, Lookup found);
  std::uint64_t stalled_until(const Request& request, Cpu& cpu);
  Reply hit_l1(const Request& request, Cpu& cpu, std::uint32_t slot);
  Reply hit_l2(const Request& request, Cpu& cpu, std::uint32_t l2_slot);
  std::uint64_t arrival_of_miss(const Request& request, Cpu& cpu, std::uint64_t earliest,
                                std::uint64_t latency);
  Reply complete(const Request& request, Cpu& cpu, std::uint32_t l1_slot, std::uint32_t entry,
                 std::uint64_t ready);

  // --- coherence.cc ---
  /// How a line comes to the requester.
  struct LineTransfer {
    std::uint64_t latency_cycles;
    bool moved;       // between CPUs: the line is hot
    bool from_owner;  // another core's cache supplies the data
    bool dirty;       // and the last level does not have it
    bool exclusive;   // the requester may write
  };
  Reply coherent_access(const Request& request, Cpu& cpu, std::uint32_t l1_slot, std::uint32_t l2_slot);
  std::uint64_t note_transfer(const Request& request, std::uint32_t entry, const LineTransfer& transfer);
  void note_flight(Cpu& cpu, std::uint32_t entry, const LineTransfer& transfer, bool to_readers,
                   std::uint64_t now, std::uint64_t arrival);
  static void note_store(Directory::Entry& line, const Cpu& cpu, std::uint64_t when);
  void hear_of_stores(const Cpu& cpu, std::uint32_t entry, LineAddr line, std::uint64_t now);
  std::uint64_t busy_until(const Request& request);
  bool must_wait(const Request& request, Cpu& cpu, std::uint32_t entry, std::uint64_t& earliest);
  void resolve_conflicts(const Request& request, std::uint32_t entry);
  void resolve_false_conflicts(const Request& request);
  LineTransfer share(const Request& request, Cpu& cpu, std::uint32_t entry, std::uint64_t nearest_cycles);
  LineTransfer own(const Request& request, Cpu& cpu, std::uint32_t entry, std::uint64_t nearest_cycles,
                   bool local, std::uint32_t slot, std::uint32_t l2_slot);
  bool give_up_ownership(Cpu& owner, LineAddr line, std::uint64_t hot_until, bool& dirty);
  bool invalidate(Cpu& holder, LineAddr line, bool& dirty);
  std::uint32_t allocate_entry(const Request& request, Cpu& cpu);
  std::uint32_t replace_entry(LineAddr line, std::uint32_t entry);
  std::uint64_t fetch_cycles(const Cpu& cpu, LineAddr line, std::uint32_t entry, bool in_l3);
  std::uint64_t crossing_cycles(const Cpu& a, const Cpu& b) const {
    return a.socket == b.socket ? 0 : description.hop_cycles;
  }
  bool end_transactions_of_evicted(const Request& request, Cpu& cpu, std::uint32_t entry);

  // --- instruction_fetch.cc ---
  Reply fetch(Cpu& cpu, LineAddr line, std::uint64_t now, Reach most);
  bool fetch_within_core(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t& clock);
  Reply fetch_in_order(Cpu& cpu, LineAddr line, std::uint64_t now);
  std::uint64_t fetched(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t ready);
  std::uint64_t stand_still(Cpu& cpu, std::uint64_t now, std::uint64_t ready);
  void forget_code(Core& core, LineAddr line);
  void drop_code(Core& core, LineAddr line);

  // --- prefetching.cc ---
  bool prefetches_leave_core(const Request& request, const Cpu& cpu) const;
  void prefetch_after(const Request& request, Cpu& cpu, bool missed_l2);
  void fetch_early(Cpu& cpu, LineAddr line, std::uint64_t now, std::uint64_t start, bool into_l1);
  void raise_early(Cpu& cpu, LineAddr line, std::uint32_t l2_slot, std::uint64_t now);
  bool may_share_early(const Cpu& cpu, std::uint32_t entry, std::uint64_t now);
  std::uint32_t room_in_l1_without_loss(Cpu& cpu, LineAddr line);

  // --- private_caches.cc ---
  std::uint32_t l1_victim(Core& core, LineAddr line);
  std::uint32_t make_room_in_l1(const Request& request, Cpu& cpu);
  bool end_transactions_of_victim(const Request& request, Cpu& cpu, std::uint32_t slot);
  void evict_from_l1(Core& core, std::uint32_t slot);
  void note_read_lines(Core& core, LineAddr line, std::uint16_t flags);
  void write_back_to_l2(Core& core, LineAddr line, const WayState& state);
  std::uint32_t insert_into_l2(Core& core, LineAddr line, WayState state);
  void forget_in_filters(Core& core, LineAddr line, std::uint32_t slot);

  // --- transactions.cc ---
  Cycles begin(Cpu& cpu, Cycles now, bool always_abort);
  Cycles commit_time(Cpu& cpu, Cycles now);
  void finish_commit(Cpu& cpu);
  void hold_written_lines(Cpu& cpu, std::uint64_t until);
  void abort_own(Cpu& cpu, HardwareAbort cause);
  Reply aborted_for_room(const Request& request, Cpu& cpu);
  void abort_other(Cpu& victim, HardwareAbort cause, LineAddr line, CpuId requester, Cycles now);
  void end_conflicting(LineAddr first, LineAddr last, bool write, Cycles now);
  LineAddr conflicting_line(const Cpu& cpu, LineAddr first, LineAddr last, bool write) const;
  void end_transaction(Cpu& cpu, bool aborted);
  void drop_aborted_line(Cpu& cpu, std::uint32_t slot);
  bool join_sets(Cpu& cpu, LineAddr line, std::uint32_t slot, std::uint32_t entry, bool write);
  bool aborts_on_eviction_of_read_line(const Cpu& cpu, ReadEviction level) const;
  void leave_sets(Cpu& cpu, ReadWriteSets& sets);
  Cycles abort_cost();

  // --- invariants.cc ---
  const char* check_caches() const;
  const char* check_transactions() const;
  const char* check_filters() const;

  /// `cycles` plus or minus at most `percent` of it.
  std::uint64_t vary(std::uint64_t cycles, std::uint32_t percent) {
    const std::uint64_t most = cycles * percent / 100;
    return most == 0 ? cycles : cycles - most + random.below(2 * most + 1);
  }
  std::uint64_t vary_latency(std::uint64_t cycles) {
    return vary(cycles, description.jitter.latency_percent);
  }

  /// The slot that was found before something happened that may have taken the line from it.
  static std::uint32_t if_still_there(const PrivateCache& cache, std::uint32_t slot, LineAddr line) {
    return slot != kNoSlot && cache.holds(slot, line) ? slot : kNoSlot;
  }

  template <class Action>
  [[gnu::always_inline]] static void for_each_thread(Core& home, Action action) {
    for (unsigned i = 0; i < home.threads; ++i) action(*home.thread[i]);
  }

  /// Every access of another CPU that the transaction of `one` could notice ends it.
  bool conflicts_end(const Cpu& one) const {
    return one.transaction.active && description.conflict_detection &&
           (!one.transaction.always_abort || description.always_abort.detects_read_conflicts);
  }

  std::uint64_t hot_until(const Directory::Entry& entry) const {
    return entry.moved ? entry.last_transfer + description.coherence.hot_window_cycles : 0;
  }

  // What every access looks at, together.
  Cpu* cpu;
  unsigned cpu_count;
  Directory directory;
  Random random;
  Numa numa;

  HugePages huge_pages;
  CpuMask read_filters_in_use;
  unsigned active_transactions = 0;

  Description description;
  Arena arena;
  AbortSink& sink;
  Core* core;
  unsigned core_count;  // those that have a CPU in use
};

inline Reply done(std::uint64_t clock, std::uint64_t data_ready, Reach reach = Reach::kMachine) {
  return {.verdict = Reply::Verdict::kDone,
          .cause = HardwareAbort::kNone,
          .first_write_in_transaction = false,
          .reach = reach,
          .clock = Cycles(clock),
          .data_ready = Cycles(data_ready)};
}
inline Reply wait_until(std::uint64_t clock, bool busy = false) {
  return {.verdict = Reply::Verdict::kWait,
          .cause = HardwareAbort::kNone,
          .first_write_in_transaction = false,
          .busy = busy,
          .clock = Cycles(clock),
          .data_ready = Cycles(clock)};
}
inline Reply needs_order(Cycles now) {
  return {.verdict = Reply::Verdict::kNeedsOrder,
          .cause = HardwareAbort::kNone,
          .first_write_in_transaction = false,
          .clock = now,
          .data_ready = now};
}

}  // namespace elision::machine
