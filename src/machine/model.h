// SPDX-License-Identifier: Apache-2.0
// The timing model of one multicore: caches, coherence, hardware transactions, overlap of misses,
// store buffers. It knows no instruction set and no guest memory, and it has no clock: time is an
// argument, and the caller (src/vm) decides in which order CPUs call.
//
// Contract with the caller:
//  1. Before begin(), commit() or abort() at time `now`, and before an access() that may reach the machine
//     (Reach), every other CPU whose clock is behind `now` has run up to it.
//  2. A reply of kNeedsOrder means that other CPUs can notice the access and that the request did not allow
//     that. Nothing happened: call again when no CPU is behind. A reply of kWait means "nothing happened;
//     call again, in order, at reply.clock": the line's data has not yet arrived where it is going, or the
//     CPU itself must stop first (reorder window, fill buffers or store buffer full; an atomic behind loads
//     and stores). The caller may be told to wait again.
//  3. When a request makes another CPU's transaction abort, the model has already forgotten that
//     transaction when it calls AbortSink::on_abort; the sink restores the victim's memory at once,
//     before access() returns, and its registers.
//  4. reply.first_write_in_transaction: the caller must save the line's 64 bytes before the store.
//
// Called from helpers: compiled with -mgeneral-regs-only, freestanding, no allocation after the
// constructor; may be called with the guest's vector registers and TLS live.
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

/// What made the hardware abort a transaction. The statistics count each by itself; the program sees only the
/// abort status that src/vm makes of it, and the lock library classifies that (abi::AbortCause).
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

/// How far an access reaches: who takes part in it.
enum class Reach : std::uint8_t {
  kL1,       // a hit in L1 that no other CPU can notice; costs nothing beyond the hit
  kCore,     // the caches of the CPU's own core; no other CPU can notice it
  kMachine,  // other CPUs can notice it: an event, which happens in order
};

/// One access to one line.
struct Request {
  CpuId cpu;
  LineAddr line;
  AccessKind kind;
  Cycles now;            // the CPU's clock
  Cycles address_ready;  // when the address is known (0: long ago): a dependent load cannot start before
  bool open = true;      // to the filter, if the line may be
  std::uint64_t instruction = 0;  // the address of the load, for the prefetcher that looks at it; 0: none
  /// How far it may reach: an access that would reach farther is answered by kNeedsOrder.
  Reach most = Reach::kMachine;
  /// kMachine: an event even if no other CPU could notice it. For an access that was told to wait in its
  /// turn.
  Reach least = Reach::kL1;
  /// The CPU's clock once it has paid for sharing its core: an access beyond L1 happens no sooner.
  Cycles charged{0};
  /// The CPU's own stalls up to this time need not be answered by kWait: nobody else does anything before.
  Cycles first_until{0};
};

struct Reply {
  enum class Verdict : std::uint8_t {
    kDone,
    kNeedsOrder,  // see contract 2
    kWait,        // see contract 2
    kAborted,     // the requester's own transaction was aborted (capacity); cause says why
  };
  Verdict verdict;
  HardwareAbort cause;
  bool first_write_in_transaction;
  bool busy = false;  // kWait: for a line, not for the CPU itself
  Reach reach = Reach::kMachine;
  /// The CPU's clock after the access, stalls found so far included. The static cost of an instruction,
  /// charged by the caller, contains an L1 hit: an atomic that misses is charged its latency less L1's.
  Cycles clock;
  /// When a loaded value can be used, counted in full from the later of `now` and `address_ready`; pass it as
  /// `address_ready` of an access whose address it is. With Reach::kL1, when a line that is on its way
  /// arrives, else 0: that the address came late is for the caller to pass on, as after a hit in the filter.
  Cycles data_ready;
  /// When the access took place, after the stalls that were not answered by kWait.
  Cycles performed{0};
};

/// What the model tells the engine about a CPU whose transaction was aborted by somebody else.
class AbortSink {
 public:
  virtual void on_abort(CpuId victim, HardwareAbort cause, LineAddr line, CpuId requester, Cycles now) = 0;

 protected:
  ~AbortSink() = default;
};

/// Per-CPU event counts; plain sums, read at the end of a run.
struct CpuCounts {
  std::uint64_t loads_slow, stores_slow, atomics;  // accesses that reached the model
  std::uint64_t l1_misses, l2_misses, l3_misses;
  std::uint64_t cache_to_cache, upgrades, invalidations_received;
  std::uint64_t begins, commits;
  std::uint64_t aborts[static_cast<unsigned>(HardwareAbort::kCount)];
  std::uint64_t always_abort_begins;
  std::uint64_t false_conflicts;  // among the aborts by conflict: the line only looked like one that was read
  std::uint64_t l1i_misses, fetch_stall_cycles;
  std::uint64_t tlb_misses, page_walks, prefetches;
  std::uint64_t store_buffer_stall_cycles, reorder_buffer_stall_cycles;
};

class Model {
 public:
  /// `filters[i]` belongs to CPU i. All memory is reserved here (mmap), none later.
  /// `seed` drives the jitter of latencies and the spurious aborts.
  Model(const Description& description, unsigned cpus, std::uint64_t seed, Filter* const* filters,
        AbortSink& sink);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Makes one access, as far as the request lets it reach. See the contract above.
  Reply access(const Request& request);

  /// For a CPU that was told to wait for a busy line: until when it has to go on waiting, or 0 if it may ask
  /// again. What access() would answer, without all that leads there.
  Cycles busy_until(const Request& request);

  /// Fetches a line of code that the CPU's filter does not know, as far as `most`. Of a reply of kDone, the
  /// clock counts.
  Reply fetch(CpuId cpu, LineAddr line, Cycles now, Reach most);

  /// When every store that `cpu` has executed up to `now` is visible to others.
  Cycles drain_time(CpuId cpu, Cycles now) const;
  /// The clock once no load of `cpu` is outstanding and the reorder window is resolved: what a serialising
  /// instruction waits for.
  Cycles settle(CpuId cpu, Cycles now);

  /// Starts a transaction (not nested: the caller counts depth). Returns the clock afterwards.
  Cycles begin(CpuId cpu, Cycles now, bool always_abort);
  /// A commit that begins at `now`, all loads being there (settle()), takes place at the returned time: after
  /// its cost, and not before the stores are drained. Until then the transaction can be aborted for what it
  /// has read; who wants what it has written waits. The caller lets the others run up to that time, and then,
  /// if the transaction still runs, calls finish_commit().
  Cycles commit_time(CpuId cpu, Cycles now);
  /// Commits. Never fails: a doomed transaction was aborted when it was doomed.
  void finish_commit(CpuId cpu);
  /// Ends `cpu`'s transaction without a commit, for a cause the caller found. Returns the clock
  /// afterwards (abort cost included). The caller restores memory and registers.
  Cycles abort(CpuId cpu, Cycles now, HardwareAbort cause);
  /// If the running transaction of `cpu` should end spuriously at `now`, true (drawn per transaction).
  bool spurious_abort_due(CpuId cpu, Cycles now);
  bool in_transaction(CpuId cpu) const;
  /// Something that is no CPU (the operating system for a thread that is on none, a device) is about to read
  /// or write the lines `first` to `last`: ends every transaction that conflicts. Moves no line, takes no
  /// time.
  void end_conflicting(LineAddr first, LineAddr last, bool write, Cycles now);
  bool always_abort(CpuId cpu) const;

  /// The clock of a victim after on_abort at `now`: now + the cost of an abort.
  Cycles abort_cost() const;

  /// From now on the program has pages of 2 MB in [begin, end), as far as they fit; or, with `huge` false, of
  /// 4 KB.
  void set_huge_pages(GuestAddr begin, GuestAddr end, bool huge);

  const CpuCounts& counts(CpuId cpu) const;
  /// Checks every invariant (inclusion, single writer, filter agrees with L1); for tests. Returns null or
  /// what is wrong.
  const char* check_invariants() const;

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace elision::machine
