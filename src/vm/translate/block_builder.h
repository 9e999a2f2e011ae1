// SPDX-License-Identifier: Apache-2.0
// The translation of one block. Its functions are in translator.cc (control flow), access_checks.cc and
// check_groups.cc (memory accesses), and special.cc (other instructions).
#pragma once

#include <cstdint>
#include <vector>

#include "vm/code/code_cache.h"
#include "vm/code/emitter.h"
#include "vm/cpu/stubs.h"
#include "vm/decode/guest_code.h"
#include "vm/interface/branch_record.h"
#include "vm/translate/block_cost.h"
#include "vm/translate/translator.h"

namespace elision::vm {

class BlockBuilder {
 public:
  /// As translate_block().
  BlockBuilder(CodeCache& cache, GuestCode& code, const machine::Description& machine, const Translation& how,
               std::uint64_t pc, std::size_t most);

  /// Emits the block and adds it to the cache. Returns null if its first instruction cannot be fetched.
  const Block* build();

 private:
  /// Two scratch registers of an access check. Live ones are spilled to Cpu::scratch.
  struct Scratch {
    int reg[2];
    bool spilled[2];
    int count = 2;  // the access check uses the first `count`
  };
  /// The slow path of an access check. Its code follows the block.
  struct SlowPath {
    std::uint8_t* patch = nullptr;  // the jump to it
    const AccessCheck* check = nullptr;
    MemoryOperand operand;
    Scratch scratch;
  };
  /// Consecutive instructions that share access checks (check_groups.cc).
  struct CheckGroup {
    /// Accesses whose addresses differ only in the displacement.
    struct Window {
      MemoryOperand first;  // the operand with the lowest displacement
      std::int64_t end;     // displacement after the last byte
      std::uint64_t tolerated;

      bool is_short() const;
    };
    static constexpr unsigned kMostWindows = 2;

    std::size_t end = 0;  // index after the last instruction
    unsigned accesses = 0;
    unsigned windows = 0;
    Window window[kMostWindows]{};

    bool add(const MemoryAccess& access, std::uint64_t tolerated, std::int64_t rsp);
    unsigned looks() const;
    /// Mask of the registers that the addresses use.
    std::uint16_t registers() const {
      std::uint16_t used = 0;
      for (unsigned w = 0; w < windows; ++w)
        used = static_cast<std::uint16_t>(used | window[w].first.registers());
      return used;
    }
    bool pays() const { return accesses > looks(); }
  };
  /// A second copy of a group, in which each instruction has its own access checks. It follows the block.
  struct SlowCopy {
    std::vector<std::uint8_t*> misses{};  // the jumps to it
    std::size_t begin, end;
    /// Where the copy continues: at the group's last instruction if that ends the block, else after the
    /// group.
    std::uint64_t resume = 0;
    bool flags_live;
    Scratch scratch;
    std::uint16_t overwritten = 0;  // overwritten_ after the group's look-ups
  };
  /// Out-of-line code of a branch edge for which the predictor is not saturated in the edge's direction.
  struct UnsureBranch {
    std::uint8_t* patch;
    std::uint32_t branch;
    bool taken;
    bool flags_live;       // if true, RCX is in Cpu::scratch[0]
    std::uint64_t resume;  // the edge's jump to its target
  };
  struct BudgetExit {
    std::uint8_t* patch;
    const AccessCheck* check;
  };
  struct LinkStub {
    std::uint8_t* patch;
    std::uint64_t target;
  };
  struct ExitStub {
    std::uint8_t* patch;
    const Exit* exit;
  };

  bool is_timed() const { return how_.detail == Detail::kTimed; }
  bool is_counted() const { return how_.detail == Detail::kCounted; }
  bool records(BranchKind kind) const { return (how_.recorded_branches & kind) != 0; }

  // translator.cc
  void prologue();
  void charge(std::uint32_t ticks, std::size_t instructions);
  void leave_if_out_of_budget(std::uint64_t pc);
  void call_watch();
  void instruction(std::size_t n);
  void out_of_line();
  void link(std::uint8_t* patch, std::uint64_t target);
  void conditional_jump(const Instruction& i);
  void edge(const Instruction& i, bool taken);
  void unsure_branch(const UnsureBranch& unsure);
  void predict_target(const Instruction& i);
  void check_fetched();
  void fetch();
  void misprediction();
  void record_branch(const Instruction& i, std::uint64_t to, BranchKind kind);
  void loop(const Instruction& i);
  void call(const Instruction& i);
  void indirect_branch(const Instruction& i);
  void return_(const Instruction& i);
  void push_return_address(std::uint64_t address);
  void jump_to_rcx(const Instruction& i);

  // access_checks.cc
  /// Emits all access checks of instruction n.
  void access_checks(std::size_t n);
  void access_check(std::size_t n, unsigned access, std::uint64_t retry);
  void count_accesses(std::size_t n);
  void count_access(const Instruction& i, const MemoryAccess& access, CountedAccess kind);
  void shared_memory_check(std::size_t n, unsigned access, std::uint64_t retry);
  std::uint8_t* look(const MemoryOperand& m, std::uint32_t size, std::uint64_t tolerated,
                     const Scratch& scratch);
  void mark_used(int index);
  void always_slow_check(std::size_t n, unsigned access, std::uint64_t retry);
  void continue_slowly(SlowPath slow, std::size_t n, unsigned access, std::uint64_t retry);
  std::uint64_t tolerated(std::size_t n, unsigned access) const;
  const AccessCheck* check_of_load(std::size_t n) const;
  const AccessCheck* new_check(std::size_t n, unsigned access, std::uint64_t retry);
  void address_to(int reg, const MemoryOperand& m);
  Scratch pick_scratch(std::size_t n, std::uint16_t addresses) const;
  void spill(const Scratch& scratch);
  void note_writes(const Instruction& i) {
    overwritten_ = static_cast<std::uint16_t>(overwritten_ & ~i.gpr_kill);
  }
  void reload(const Scratch& scratch);
  void save_flags();
  void restore_flags();
  bool flags_live(std::size_t n) const { return code_block_.live_flags[n] != 0; }
  void slow_path(const SlowPath& s);

  // check_groups.cc
  CheckGroup group_at(std::size_t n) const;
  void group(std::size_t n, const CheckGroup& g);
  void slow_copy(const SlowCopy& slow);

  // special.cc
  void special(std::size_t n);
  void copy(const Instruction& i);
  void copy_far_relative(const Instruction& i);
  void full_exit(const Instruction& i, ExitReason reason, std::uint16_t detail = 0, std::uint64_t target = 0);
  Exit* new_exit(const Instruction& i, ExitReason reason, std::uint16_t detail = 0, std::uint64_t target = 0);
  void exit_if_in_transaction(std::size_t n);
  void exit_if_direction_changes(std::size_t n);
  void pop_flags(const Instruction& i);
  void add_system_flags();
  bool aborts_transaction(const Instruction& i) const;
  void transaction_test(unsigned bit);
  void part_marker(const Instruction& i);
  void start_x87(std::size_t n);
  void start_x87_if_chosen(std::size_t n);
  void start_x87_unless_used();
  void string(std::size_t n);
  void string_by_steps(std::size_t n);
  void state_save(std::size_t n);
  void note_fs_base(const Instruction& i);
  void range(const Instruction& i, int spilled = -1);

  CodeCache& cache_;
  GuestCode& code_;
  const machine::Description& machine_;
  const Translation how_;
  DecodedBlock code_block_;
  std::vector<DataFlow> flow_;
  std::vector<AccessCheck*> checks_;  // two for each instruction
  // Dead registers that access checks have overwritten. Their guest values lie in Cpu::overwritten for a
  // signal handler to see.
  std::uint16_t overwritten_ = 0;
  // Dead registers that access checks may overwrite. In a slow copy only those that the group has
  // overwritten, because the host ranges of the code after it list no others.
  std::uint16_t may_overwrite_ = 0xffff;
  bool checked_ = false;  // the instructions being emitted belong to a group and need no access checks
  std::vector<SlowCopy> slow_copies_;
  Block block_;
  Emitter out_;
  std::vector<SlowPath> slow_paths_;
  std::vector<LinkStub> links_;
  std::vector<ExitStub> exits_;
  std::vector<UnsureBranch> unsure_branches_;
  std::vector<std::uint8_t*> fetch_patches_;
  const AccessCheck* fetch_check_ = nullptr;
  std::vector<BudgetExit> budget_exits_;
  bool x87_started_ = false;
};

}  // namespace elision::vm
