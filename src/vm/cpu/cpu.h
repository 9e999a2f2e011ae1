// SPDX-License-Identifier: Apache-2.0
// The state of one CPU. While guest code runs, gs points to its Cpu.
//
// Translated code and stubs.S use the fields of the first part. A CPU's clock is deadline_ticks minus its
// budget; translated code only subtracts from the budget. The clock counts ticks of a sixteenth of a cycle,
// so that block costs below a cycle add up. Budget and instruction count share one word, so that a block
// updates both with one addition.
//
// Helpers call these functions: none allocates or uses the host's TLS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "machine/branch_predictor.h"
#include "machine/filter.h"
#include "machine/model.h"
#include "vm/cpu/conflicts.h"
#include "vm/cpu/detail.h"
#include "vm/cpu/exit.h"
#include "vm/cpu/undo_log.h"
#include "vm/interface/access_counter.h"
#include "vm/interface/branch_record.h"
#include "vm/interface/guest_state.h"

namespace elision::vm {

struct Thread;

inline constexpr unsigned kTickShift = 4;
inline constexpr std::uint64_t kTicksPerCycle = 1u << kTickShift;
/// The largest budget. At most two instructions take one tick (issue width 16, fused compare and branch), so
/// the instructions of one budget fit their field.
inline constexpr std::int64_t kMaxBudgetTicks = 1 << 22;
/// Cpu::progress: the budget in the high bits; in the low bits, instructions since the engine last wrote it.
inline constexpr unsigned kBudgetShift = 24;

/// AC, ID and NT: the guest can set and read them, but they have no effect (alignment is not checked). They
/// must be clear on the host while the engine runs.
inline constexpr std::uint32_t kSystemFlags = 0x244000;

/// Progress of an XEND.
enum class CommitStep : std::uint8_t { kNone, kWaitsForLoads, kOpen, kHolds };

/// The registers that an abort restores.
struct Checkpoint {
  GuestState state;          // registers at XBEGIN; rip is the fallback address
  std::uint64_t resume = 0;  // host address of its translation
  std::uint64_t flags_slot = 0;
  std::uint8_t direction_flag = 0;
};

struct alignas(64) Cpu {
  // --- known to translated code and stubs.S ---
  Cpu* self = this;
  std::uint32_t system_flags = 0;   // the bits of kSystemFlags that the guest has set
  std::uint8_t in_transaction = 0;  // bit 0: inside; bit 1: always-abort
  std::uint8_t direction_flag = 0;  // the guest's DF; the engine runs with DF clear
  std::uint8_t x87_used = 0;        // the current thread's x87 state is in the host's registers
  std::int64_t progress = 0;        // see kBudgetShift; if the budget is negative, the CPU must leave
  std::uint64_t scratch[4] = {};    // spilled registers of the running access check; [3] jump target
  std::uint64_t flags_slot = 0;     // AH = SF ZF AF PF CF as LAHF has them, AL = OF
  std::uint64_t check_address = 0;  // guest address of the access on the slow path
  const AccessCheck* access_check = nullptr;  // description of that access
  Exit* exit = nullptr;                       // the last full exit
  std::uint64_t exit_value = 0;               // target of an indirect branch
  std::uint64_t resume = 0;                   // host address to continue at
  std::uint64_t chunk = 0;                    // elements in the running step of a string operation
  // Every slow access reads these; here they share host cache lines with the fields above.
  std::uint64_t deadline_ticks = 0;
  std::uint64_t latest_miss = 0;  // when the last of the missed loads below arrives
  CpuId id;
  std::uint64_t group[3] = {};            // offsets of filter entries that a check group has looked up
  std::uint64_t instructions_before = 0;  // instructions not counted in `progress`
  std::uint64_t branch = 0;  // branch to resolve: twice its index in the predictor, plus 1 if taken
  std::uint64_t misprediction_cost = 0;  // in the units of `progress`
  // Every access that reaches memory shared with other processes begins in these bytes.
  std::uint64_t shared_begin = 0;
  std::uint64_t shared_bytes = 0;
  GuestState state;
  machine::Filter filter;
  machine::BranchPredictor branches;
  std::uint64_t overwritten[kGprCount];     // see BlockBuilder::spill()
  const BranchSite* branch_site = nullptr;  // that is recorded next
  BranchRing branch_ring;
  AccessCounter accesses[kCountedAccesses];  // in the order of CountedAccess

  // --- used only by C++ ---
  Cycles next_interrupt{0};   // the earlier of the next two
  Cycles next_tick{0};        // of the timer, or when a signal or another CPU wants this one
  Cycles next_look = kNever;  // at the counts of its thread (interface/thread_counts.h)
  Cycles slice_end{0};
  Thread* thread = nullptr;        // null: idle
  bool access_made = false;        // the engine has made the accesses of the next instruction
  Detail detail = Detail::kTimed;  // of the code that it runs
  bool in_heap = false;            // in the heap of Ordering, which must hear of changes of the clock
  bool waits_for_line = false;     // in the heap, and `awaited` is busy
  std::uint64_t asked_ticks = 0;  // when the waiting access first requested its busy line; 0: no access waits
  machine::AccessKind awaited_kind{};
  bool awaited_in_one_line = false;
  LineAddr awaited;
  std::uint64_t passes_watch_at = 0;         // the instruction has been counted, and follows
  std::uint64_t watched_in_transaction = 0;  // executions of watched code since the transaction began
  Exit deferred{};                           // an ordered exit that waits until this CPU is the earliest
  /// The last missed load into a register. Address and size tell its value from a later value in the
  /// register.
  struct MissedValue {
    std::uint64_t ready = 0;
    std::uint64_t address = 0;
    std::uint32_t size = 0;
  };
  static constexpr std::uint32_t kIncomparable = 16;  // a size: no register tells whether it has the value
  MissedValue register_miss[kGprCount];
  std::uint64_t overlaps_until = 0;  // see overlaps_for()
  /// Missed loads, hashed by access check, for addresses in the same block.
  struct MissedLoad {
    const AccessCheck* access_check = nullptr;
    std::uint64_t ready = 0;
  };
  static constexpr std::size_t kMissedLoads = 16;
  MissedLoad missed_loads[kMissedLoads];
  /// The last missed loads of pointers. An access near such a pointer depends on it, whatever copies,
  /// additions and calls lie between: registers are followed within a block alone.
  struct MissedPointer {
    std::uint64_t value = 0;
    std::uint64_t ready = 0;

    bool leads_to(std::uint64_t address) const {
      constexpr std::uint64_t kBefore = 256, kBehind = 4096;  // sizes of objects, and of headers before them
      return address - value + kBefore < kBefore + kBehind;
    }
  };
  static constexpr std::size_t kMissedPointers = 8;
  MissedPointer missed_pointers[kMissedPointers];
  unsigned oldest_pointer = 0;
  /// Two CPUs of one core share its issue width. While both run, the time since the last account is at least
  /// what the instructions since then need at one CPU's share of the width. Stalls count towards it.
  struct Sharing {
    Cpu* sibling = nullptr;  // null: one thread per core, or the other CPU of the core is not in use
    bool active = false;     // both CPUs run
    std::uint64_t ticks_per_256_instructions;  // at one CPU's share
    std::uint64_t since_ticks = 0;
    std::uint64_t since_instructions = 0;
  } sharing;
  /// A line as it was before this CPU's last store to it (machine::Reply::hides).
  struct HiddenLine {
    LineAddr line{0};
    std::uint64_t words[kLineBytes / 8];
  };
  HiddenLine hidden{};
  ConflictEvidence* evidence = nullptr;  // null: not wanted
  unsigned nesting = 0;
  CommitStep commit_step = CommitStep::kNone;
  std::uint64_t turn_end_ticks = 0;  // the deadline to which the end of a logged transaction returns
  machine::CpuCounts logged{};       // transactions in fast mode; the model counts the others
  Cycles transaction_began{0};
  std::uint64_t transaction_cycles = 0;  // in transactions that have ended
  std::uint64_t committed_cycles = 0;    // of these, in those that committed
  std::uint64_t aborts_to_look = 0;      // aborts until a look at the thread's counts; 0: none
  /// The abort at which `aborts_to_look` became 0.
  struct Aborted {
    bool is_new = false;
    machine::HardwareAbort cause{};
    std::uint32_t status = 0;
    std::uint64_t pc = 0;
    std::uint64_t cycles = 0;
  } aborted;
  bool always_abort() const { return (in_transaction & 2) != 0; }
  Checkpoint checkpoint;
  UndoLog undo;

  void set_interrupt() { next_interrupt = next_look < next_tick ? next_look : next_tick; }
  void look_at_counts(Cycles when) {
    next_look = when;
    set_interrupt();
  }
  /// Adds the cycles of a transaction that ends at `now`. Returns them.
  std::uint64_t end_transaction_cycles(Cycles now) {
    const std::uint64_t cycles = now > transaction_began ? (now - transaction_began).value : 0;
    transaction_cycles += cycles;
    return cycles;
  }

  /// Forgets missed loads: no register waits for a value.
  void forget_misses() {
    for (MissedValue& miss : register_miss) miss.ready = 0;
    for (MissedLoad& miss : missed_loads) miss.access_check = nullptr;
    for (MissedPointer& miss : missed_pointers) miss.ready = 0;
  }

  std::uint64_t instructions() const {
    return instructions_before + (static_cast<std::uint64_t>(progress) & ((1u << kBudgetShift) - 1));
  }
  std::uint64_t clock_ticks() const {
    return deadline_ticks - static_cast<std::uint64_t>(progress >> kBudgetShift);
  }
  Cycles clock() const { return Cycles(clock_ticks() >> kTickShift); }
  /// For so many cycles loads may have begun before the clock (machine::LastWait).
  void overlaps_for(std::uint64_t cycles) { overlaps_until = clock().value + cycles; }
  bool budget_exhausted() const { return progress < 0; }
  /// Sets the clock and the deadline, and so the budget.
  void set_time(std::uint64_t clock_ticks, std::uint64_t deadline) {
    std::int64_t budget = static_cast<std::int64_t>(deadline - clock_ticks);
    if (budget > kMaxBudgetTicks) budget = kMaxBudgetTicks;
    if (budget < -kMaxBudgetTicks) budget = -kMaxBudgetTicks;
    instructions_before = instructions();
    progress = budget << kBudgetShift;
    deadline_ticks = clock_ticks + static_cast<std::uint64_t>(budget);
  }
  void set_deadline(std::uint64_t deadline) { set_time(clock_ticks(), deadline); }
  /// Moves the clock forward to `cycles` if it is behind.
  void advance_to(Cycles cycles) {
    const std::uint64_t ticks = cycles.value << kTickShift;
    if (ticks > clock_ticks()) set_time(ticks, deadline_ticks);
  }
  void rewind_to(Cycles cycles) {
    set_time(cycles.value << kTickShift, deadline_ticks);
    restart_account();
  }
  void restart_account() {
    sharing.since_ticks = clock_ticks();
    sharing.since_instructions = instructions();
  }
  /// The clock after charging the cost of sharing the core since the last account.
  std::uint64_t charged_ticks() const {
    const std::uint64_t now = clock_ticks();
    if (!sharing.active) return now;
    const std::uint64_t spent = now - sharing.since_ticks;
    const std::uint64_t needed =
        (instructions() - sharing.since_instructions) * sharing.ticks_per_256_instructions / 256;
    return needed > spent ? now + needed - spent : now;
  }
  /// Charges the cost of sharing the core since the last account. Called only at events that happen with and
  /// without the fast path.
  void account_for_sibling() {
    if (!sharing.active) return;
    const std::uint64_t ticks = charged_ticks();
    if (ticks > clock_ticks()) set_time(ticks, deadline_ticks);
    restart_account();
  }
};

/// Offsets for the emitter. stub_offsets.cc has those for stubs.S.
inline constexpr int kOffsetInTransaction = static_cast<int>(offsetof(Cpu, in_transaction));
inline constexpr int kOffsetSelf = static_cast<int>(offsetof(Cpu, self));
inline constexpr int kOffsetSystemFlags = static_cast<int>(offsetof(Cpu, system_flags));
inline constexpr int kOffsetDirection = static_cast<int>(offsetof(Cpu, direction_flag));
inline constexpr int kOffsetX87Used = static_cast<int>(offsetof(Cpu, x87_used));
inline constexpr int kOffsetProgress = static_cast<int>(offsetof(Cpu, progress));
inline constexpr int kOffsetScratch = static_cast<int>(offsetof(Cpu, scratch));
inline constexpr int kOffsetFlags = static_cast<int>(offsetof(Cpu, flags_slot));
inline constexpr int kOffsetCheckAddress = static_cast<int>(offsetof(Cpu, check_address));
inline constexpr int kOffsetAccessCheck = static_cast<int>(offsetof(Cpu, access_check));
inline constexpr int kOffsetExit = static_cast<int>(offsetof(Cpu, exit));
inline constexpr int kOffsetExitValue = static_cast<int>(offsetof(Cpu, exit_value));
inline constexpr int kOffsetChunk = static_cast<int>(offsetof(Cpu, chunk));
inline constexpr int kOffsetGroup = static_cast<int>(offsetof(Cpu, group));
inline constexpr int kOffsetBranch = static_cast<int>(offsetof(Cpu, branch));
inline constexpr int kOffsetBranchSite = static_cast<int>(offsetof(Cpu, branch_site));
inline constexpr int kOffsetSharedBegin = static_cast<int>(offsetof(Cpu, shared_begin));
inline constexpr int kOffsetSharedBytes = static_cast<int>(offsetof(Cpu, shared_bytes));
inline constexpr int kOffsetFsBase = static_cast<int>(offsetof(Cpu, state.fs_base));
inline constexpr int kOffsetEpoch = static_cast<int>(offsetof(Cpu, filter.epoch));
inline constexpr int kOffsetFilter = static_cast<int>(offsetof(Cpu, filter.entry));
inline constexpr int kOffsetCode = static_cast<int>(offsetof(Cpu, filter.code));
inline constexpr int kOffsetAccesses = static_cast<int>(offsetof(Cpu, accesses));
inline constexpr int kOffsetBranches = static_cast<int>(offsetof(Cpu, branches));
inline constexpr int kOffsetOverwritten = static_cast<int>(offsetof(Cpu, overwritten));

}  // namespace elision::vm
