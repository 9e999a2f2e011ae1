// SPDX-License-Identifier: Apache-2.0
// The timing model of one multicore: caches, coherence, hardware transactions, overlapping misses, store
// buffers. It knows no instruction set and no guest memory. It has no clock: time is an argument, and the
// caller (src/vm) decides in which order CPUs call.
//
// Contract with the caller:
//  1. Before begin(), begin_commit(), hold_written_lines() or abort() at time `now`, and before an access()
//     that may reach the machine (Reach), every other CPU whose clock is behind `now` has run up to it.
//  2. kNeedsOrder: other CPUs can notice the access, and the request did not allow that. Nothing has
//     happened. Call again when no CPU is behind.
//     kWait: nothing has happened. Call again, in order, at reply.clock. Either the line is on its way to
//     another CPU, or this CPU must stall first: its reorder window, fill buffers or store buffer are full,
//     or an atomic is behind loads and stores. The model may then answer kWait again.
//  3. When a request aborts another CPU's transaction, the model has already forgotten that transaction when
//     it calls AbortSink::on_abort. The sink restores the victim's memory and registers at once, before
//     access() returns. So it does with one line's memory in on_lost_line, after which the transaction goes
//     on.
//  4. reply.first_write_in_transaction: the caller must save the line's 64 bytes before the store.
//
// Freestanding, compiled with -mgeneral-regs-only, no allocation after the constructor. May be called with
// the guest's vector registers and thread pointer live.
#pragma once

#include "base/units.h"
#include "machine/description.h"
#include "machine/filter.h"

namespace elision::machine {

enum class AccessKind : std::uint8_t {
  kLoad,
  kStore,
  kAtomic,  // locked read-modify-write: waits for the store buffer, owns the line
};

/// Why the hardware aborted a transaction. The statistics count each cause. The program sees only the abort
/// status that src/vm derives from it, and the lock library classifies that status (abi::AbortCause).
enum class HardwareAbort : std::uint8_t {
  kNone,
  kExplicit,     // XABORT
  kConflict,     // another CPU's access, requester wins
  kCapacity,     // a written line left L1, or a read line left the last level
  kInstruction,  // an instruction that cannot run in a transaction, a system call, PAUSE
  kFault,
  kInterrupt,  // timer or other asynchronous event
  kSpurious,
  kNested,               // nesting too deep
  kCommitInAlwaysAbort,  // XEND inside an always-abort transaction
  kCount,
};

/// How far an access reaches.
enum class Reach : std::uint8_t {
  kL1,       // a hit in L1 that no other CPU can notice; costs nothing beyond the hit
  kCore,     // only caches of the CPU's own core; no other CPU can notice it
  kMachine,  // other CPUs can notice it: an ordered event
};

/// One access to one line.
struct Request {
  CpuId cpu;
  LineAddr line;
  AccessKind kind;
  Cycles now;            // the CPU's clock
  Cycles address_ready;  // when the address is known; a dependent load cannot start before. 0: long ago
  bool open = true;      // put the line into the CPU's filter, if that is allowed
  /// One instruction's access to bytes of this line alone. A load may then be told to use the value from
  /// before a store (Reply::hidden_by), and the caller keeps that value of a store (Reply::hides).
  bool in_one_line = false;
  bool is_prefetch = false;       // by the hardware: the program did not ask for the line
  bool is_early = false;          // the program has not asked for the line yet (early_requests.cc)
  std::uint64_t instruction = 0;  // address of the load instruction, for the stride prefetcher; 0: none
  /// The access may reach this far. If it would reach farther, the reply is kNeedsOrder.
  Reach most = Reach::kMachine;
  /// kMachine: treat the access as an ordered event even if no other CPU can notice it. The caller sets this
  /// after a kWait, when the access's turn has come.
  Reach least = Reach::kL1;
  /// The CPU's clock plus what it owes for sharing its core. An access beyond L1 happens no sooner.
  Cycles charged{0};
  /// No other CPU does anything before this time, so the model need not answer kWait for stalls of this CPU
  /// that end before it.
  Cycles first_until{0};
};

struct Reply {
  enum class Verdict : std::uint8_t {
    kDone,
    kNeedsOrder,  // see contract 2
    kWait,        // see contract 2
    kAborted,     // the requester's own transaction was aborted, for `cause`
  };
  Verdict verdict;
  HardwareAbort cause;
  bool first_write_in_transaction;
  bool busy = false;  // the reason for kWait is a line in flight, not this CPU
  Reach reach = Reach::kMachine;
  /// The CPU's clock after the access, stalls included. The caller charges a static cost for each
  /// instruction, which contains an L1 hit. An atomic that misses therefore costs its latency less L1's.
  Cycles clock;
  /// When the loaded value can be used: the full latency after the later of `now` and `address_ready`. Pass
  /// it as `address_ready` of an access that uses the value as its address. After Reach::kL1 it is the
  /// arrival of a line in flight, or 0; the caller then accounts for a late address itself, as after a hit in
  /// the filter.
  Cycles data_ready;
  /// After a store: loads of other CPUs may be answered with the line as it is now, before the store writes
  /// it.
  bool hides = false;
  /// After a load: it finds the line as it was before the last store of this CPU that `hides`; kNobody: as it
  /// is.
  std::uint16_t hidden_by = kNobody;
  static constexpr std::uint16_t kNobody = 0xffff;
  /// When the access took place, after the stalls for which the model did not answer kWait.
  Cycles performed{0};
};

/// An abort of another CPU's transaction by a request.
struct RemoteAbort {
  CpuId victim;
  HardwareAbort cause;
  LineAddr line;
  CpuId requester;
  bool by_prefetch;  // the requester's access was to another line
  bool by_early_request;
  bool writes;    // the request is for a store or an atomic
  Cycles now;     // of the conflict, when the victim's state is restored
  Cycles resume;  // the victim goes on
};

/// The engine's side of an access that concerns another CPU's transaction.
class AbortSink {
 public:
  /// The access aborts the transaction.
  virtual void on_abort(const RemoteAbort& abort) = 0;
  /// The access takes a line that the transaction has written, which goes on. The line must be as it was
  /// before the transaction.
  virtual void on_lost_line(CpuId victim, LineAddr line) = 0;

 protected:
  ~AbortSink() = default;
};

/// Event counts of one CPU.
struct CpuCounts {
  std::uint64_t loads_slow, stores_slow, atomics;  // accesses that reached the model
  std::uint64_t l1_misses, l2_misses, l3_misses;
  std::uint64_t cache_to_cache, upgrades, invalidations_received;
  std::uint64_t begins, commits;
  std::uint64_t aborts[static_cast<unsigned>(HardwareAbort::kCount)];
  std::uint64_t always_abort_begins;
  std::uint64_t false_conflicts;  // of the aborts by conflict: false positives of the read filter
  std::uint64_t l1i_misses, fetch_stall_cycles;
  std::uint64_t tlb_misses, page_walks, page_faults, prefetches;
  std::uint64_t store_buffer_stall_cycles, reorder_buffer_stall_cycles;
};

class Model {
 public:
  /// `filters[i]` belongs to CPU i. `seed` drives the jitter of latencies and the spurious aborts. Reserves
  /// all memory (mmap); if the host has too little, has_memory() is false and nothing else may be called.
  Model(const Description& description, unsigned cpus, std::uint64_t seed, Filter* const* filters,
        AbortSink& sink);
  ~Model();
  bool has_memory() const { return impl_ != nullptr; }
  /// As if the model had been made with this seed, from now on.
  void seed(std::uint64_t seed);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Makes one access, unless it reaches farther than the request allows. See the contract above.
  Reply access(const Request& request);

  /// For a CPU that waits for a busy line: the time until which it must go on waiting, or 0 if it may make
  /// its access again. A cheap form of access() that repeats only the check for a busy line.
  Cycles busy_until(const Request& request);

  /// Fetches a line of code that is not in the CPU's filter, unless that reaches farther than `most`. After
  /// kDone, only reply.clock matters.
  Reply fetch(CpuId cpu, LineAddr line, Cycles now, Reach most);

  /// Loads are no longer answered with values from before stores. To be called before anything but an access
  /// reads or writes memory, or orders accesses.
  void forget_unseen_stores();

  /// When all stores that `cpu` has executed up to `now` are visible to others.
  Cycles drain_time(CpuId cpu, Cycles now) const;
  /// The clock of `cpu` once all its loads are finished, which is when a serialising instruction executes.
  Cycles settle(CpuId cpu, Cycles now);

  /// The clock of `cpu`, which is about to start a transaction, without the work since its last commit that a
  /// core does during the commit: at most `now`.
  Cycles begin_of_work(CpuId cpu, Cycles now);
  /// Starts a transaction (not nested: the caller counts depth). Returns the clock afterwards.
  Cycles begin(CpuId cpu, Cycles now, bool always_abort);
  /// Starts a commit at `now`, after settle(). It takes place after its cost, and not before the stores are
  /// drained. Returns the time from which it holds the written lines. The caller lets the others run up to
  /// that time, and then calls hold_written_lines() if the transaction still runs.
  Cycles begin_commit(CpuId cpu, Cycles now);
  /// From now on until the commit, other CPUs wait for lines of the write set; they can still abort the
  /// transaction by writing a line of its read set. Returns the time of the commit. The caller lets the
  /// others run up to it, and then calls finish_commit() if the transaction still runs.
  Cycles hold_written_lines(CpuId cpu);
  /// Commits. Never fails, because a conflict aborts at once.
  void finish_commit(CpuId cpu);
  /// Aborts `cpu`'s transaction. Returns the clock afterwards, abort cost included. The caller restores
  /// memory and registers.
  Cycles abort(CpuId cpu, Cycles now, HardwareAbort cause);

  /// The time at which the next early request (early_requests.cc) arrives, or kNever. The reference lives as
  /// long as the model.
  const Cycles& next_arrival() const;
  /// Serves that request, which may abort transactions. The caller runs all CPUs up to next_arrival() first,
  /// and calls this before it does anything of contract 1 at a later time.
  void arrive();
  /// The next transaction of `cpu` is no other try of an earlier one: another thread runs there.
  void forget_tries(CpuId cpu);
  /// The same for all CPUs, whose early requests are dropped: CPUs are put aside, the process is a new one,
  /// or the model has missed what its CPUs did.
  void forget_tries();

  /// True, once, if the running transaction of `cpu` is to abort spuriously. Drawn at its begin.
  bool spurious_abort_due(CpuId cpu, Cycles now);
  bool in_transaction(CpuId cpu) const;
  /// Aborts every transaction that conflicts with a read or write of the lines `first` to `last` by something
  /// other than a CPU: a device, or the operating system on behalf of a thread that is not running. Moves no
  /// line, takes no time.
  void end_conflicting(LineAddr first, LineAddr last, bool write, Cycles now);
  bool always_abort(CpuId cpu) const;

  /// The cost of an abort that the CPU itself causes.
  Cycles abort_cost() const;

  /// From now on the whole pages of 2 MB in [begin, end) are huge; or, if `huge` is false, no page there is.
  void set_huge_pages(GuestAddr begin, GuestAddr end, bool huge);

  /// From now on nobody has touched the pages of 4 KB in [begin, end), or somebody has touched them all. The
  /// first access to an untouched page takes a page fault; in a transaction it aborts, and the page stays
  /// untouched. No transaction may have lines of the pages in its sets.
  void set_untouched(GuestAddr begin, GuestAddr end, bool untouched);

  /// No cache has the line any more (CLFLUSH). Transactions that have it in their sets abort. Takes no time.
  void flush(LineAddr line, Cycles now);

  const CpuCounts& counts(CpuId cpu) const;
  /// The invariant that does not hold, in words, or null. For tests.
  const char* check_invariants() const;

 private:
  struct Impl;
  Impl* impl_ = nullptr;
};

}  // namespace elision::machine
