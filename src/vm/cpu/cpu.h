// SPDX-License-Identifier: Apache-2.0
// One virtual CPU as translated code sees it: gs points at a Cpu while guest code runs on it.
//
// The fields in the first part are known to the emitter and to stubs.S. Time: the clock of a CPU is
// deadline_ticks less its budget; translated code only takes from the budget. A CPU's clock is kept in
// ticks, a sixteenth of a cycle, so that block costs below a cycle add up. Budget and instructions are two
// fields of one word, so that a block accounts for both with one addition.
//
// Called from helpers: no member function here allocates or touches host TLS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "machine/branch_predictor.h"
#include "machine/filter.h"
#include "machine/model.h"
#include "vm/cpu/exit.h"
#include "vm/cpu/undo_log.h"
#include "vm/interface/guest_state.h"

namespace elision::vm {

struct Thread;

inline constexpr unsigned kTickShift = 4;
inline constexpr std::uint64_t kTicksPerCycle = 1u << kTickShift;
/// The budget of a CPU that nothing limits. A tick is at least half an instruction, so that the instructions
/// of one budget fit their field.
inline constexpr std::int64_t kMaxBudgetTicks = 1 << 22;
/// Cpu::progress: instructions since the word was last written in the low bits, the budget above them.
inline constexpr unsigned kBudgetShift = 24;

/// AC, ID and NT are the guest's to set and to read, and mean nothing to the machine: alignment is not
/// checked. The host must not have them while the engine runs.
inline constexpr std::uint32_t kSystemFlags = 0x244000;

/// How far an XEND has come.
enum class CommitStep : std::uint8_t { kNone, kWaitsForLoads, kWaitsForStores };

/// What a transaction restores on abort.
struct Checkpoint {
  GuestState state;          // registers at XBEGIN; rip is the fallback address
  std::uint64_t resume = 0;  // where that address is translated
  std::uint64_t flags_slot = 0;
  std::uint8_t direction_flag = 0;
};

struct alignas(64) Cpu {
  // --- known to translated code and stubs.S ---
  Cpu* self = this;
  std::uint32_t system_flags = 0;   // those of kSystemFlags that the guest has set
  std::uint8_t in_transaction = 0;  // bit 0: inside; bit 1: always-abort
  std::uint8_t direction_flag = 0;  // the guest's DF; the engine runs with DF clear
  std::uint8_t x87_used = 0;        // the current thread's x87 state is in the host's registers
  std::int64_t progress = 0;        // see kBudgetShift; the budget may be negative: the CPU owes an exit
  std::uint64_t scratch[4] = {};    // spilled registers of the running access check; [3] jump target
  std::uint64_t flags_slot = 0;     // AH = SF ZF AF PF CF as LAHF has them, AL = OF
  std::uint64_t check_address = 0;  // guest address of the access on the slow path
  const AccessCheck* access_check = nullptr;  // and its description
  Exit* exit = nullptr;                       // why the full exit
  std::uint64_t exit_value = 0;               // target of an indirect branch
  std::uint64_t resume = 0;                   // host address to continue at
  std::uint64_t chunk = 0;                    // bytes or elements of the running string operation's step
  // Every slow access looks at these; here they share lines of the host with what precedes.
  std::uint64_t deadline_ticks = 0;
  std::uint64_t latest_miss = 0;  // of the missed loads below, none is ready later
  CpuId id;
  std::uint64_t group[3] = {};            // filter entries that the running group has looked at
  std::uint64_t instructions_before = 0;  // those that `progress` does not count
  std::uint64_t branch = 0;  // to be resolved: its number in the predictor, doubled, and whether it was taken
  std::uint64_t misprediction_cost = 0;  // as it is taken from `progress`
  GuestState state;
  machine::Filter filter;
  machine::BranchPredictor branches;
  std::uint64_t overwritten[kGprCount];  // see BlockBuilder::spill()

  // --- the engine's own ---
  Cycles next_interrupt{0};
  Cycles slice_end{0};
  Thread* thread = nullptr;       // null: idle
  bool access_made = false;       // the engine made the accesses of the next instruction
  bool in_heap = false;           // waits in Ordering for its turn
  bool waits_for_line = false;    // in the heap until `awaited` is no longer busy
  std::uint64_t asked_ticks = 0;  // when the access that found its line busy first asked for it; 0: none did
  machine::AccessKind awaited_kind{};
  LineAddr awaited;
  Exit deferred{};  // an ordered exit that has to wait its turn
  /// The last missed load whose value went into a register: when it arrives, and where it was, so that
  /// a later value in the same register is not taken for it.
  struct MissedValue {
    std::uint64_t ready = 0;
    std::uint64_t address = 0;
    std::uint32_t size = 0;
  };
  MissedValue register_miss[kGprCount];
  /// Missed loads by access check (hashed), for addresses within the same block.
  struct MissedLoad {
    const AccessCheck* access_check = nullptr;
    std::uint64_t ready = 0;
  };
  static constexpr std::size_t kMissedLoads = 16;
  MissedLoad missed_loads[kMissedLoads];
  /// Two threads of a core share what it can issue in a cycle. While the sibling runs, work since the last
  /// account takes no less than its instructions do at the share of one; what the CPU waited meanwhile counts
  /// for both.
  struct Sharing {
    Cpu* sibling = nullptr;  // null: this machine has one thread a core, or the other is not in use
    bool active = false;     // both run
    std::uint64_t ticks_per_256_instructions;  // at a thread's share
    std::uint64_t since_ticks = 0;
    std::uint64_t since_instructions = 0;
  } sharing;
  unsigned nesting = 0;
  CommitStep commit_step = CommitStep::kNone;
  bool always_abort() const { return (in_transaction & 2) != 0; }
  Checkpoint checkpoint;
  UndoLog undo;

  /// Nothing is on its way to the registers any more.
  void forget_misses() {
    for (MissedValue& miss : register_miss) miss.ready = 0;
    for (MissedLoad& miss : missed_loads) miss.access_check = nullptr;
  }

  std::uint64_t instructions() const {
    return instructions_before + (static_cast<std::uint64_t>(progress) & ((1u << kBudgetShift) - 1));
  }
  std::uint64_t clock_ticks() const {
    return deadline_ticks - static_cast<std::uint64_t>(progress >> kBudgetShift);
  }
  Cycles clock() const { return Cycles(clock_ticks() >> kTickShift); }
  bool budget_exhausted() const { return progress < 0; }
  /// Moves the clock and the deadline at once; the budget follows.
  void set_time(std::uint64_t clock_ticks, std::uint64_t deadline) {
    std::int64_t budget = static_cast<std::int64_t>(deadline - clock_ticks);
    if (budget > kMaxBudgetTicks) budget = kMaxBudgetTicks;
    if (budget < -kMaxBudgetTicks) budget = -kMaxBudgetTicks;
    instructions_before = instructions();
    progress = budget << kBudgetShift;
    deadline_ticks = clock_ticks + static_cast<std::uint64_t>(budget);
  }
  void set_deadline(std::uint64_t deadline) { set_time(clock_ticks(), deadline); }
  /// Lets the clock stand at `cycles` if it is behind; whole cycles.
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
  /// The clock once the CPU has paid for what sharing has cost since the last account.
  std::uint64_t charged_ticks() const {
    const std::uint64_t now = clock_ticks();
    if (!sharing.active) return now;
    const std::uint64_t spent = now - sharing.since_ticks;
    const std::uint64_t needed =
        (instructions() - sharing.since_instructions) * sharing.ticks_per_256_instructions / 256;
    return needed > spent ? now + needed - spent : now;
  }
  /// Settles what sharing the core has cost since the last time. Only at events that the fast path does not
  /// swallow.
  void account_for_sibling() {
    if (!sharing.active) return;
    const std::uint64_t ticks = charged_ticks();
    if (ticks > clock_ticks()) set_time(ticks, deadline_ticks);
    restart_account();
  }
};

/// Offsets for the emitter; stub_offsets.cc has those for stubs.S.
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
inline constexpr int kOffsetFsBase = static_cast<int>(offsetof(Cpu, state.fs_base));
inline constexpr int kOffsetEpoch = static_cast<int>(offsetof(Cpu, filter.epoch));
inline constexpr int kOffsetFilter = static_cast<int>(offsetof(Cpu, filter.entry));
inline constexpr int kOffsetCode = static_cast<int>(offsetof(Cpu, filter.code));
inline constexpr int kOffsetBranches = static_cast<int>(offsetof(Cpu, branches));
inline constexpr int kOffsetOverwritten = static_cast<int>(offsetof(Cpu, overwritten));

}  // namespace elision::vm
