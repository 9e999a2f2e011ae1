// SPDX-License-Identifier: Apache-2.0
// The state of one translation, and the pieces from which it is put together. Used by translator.cc
// (control flow), access_checks.cc (memory accesses) and special.cc (everything else).
#pragma once

#include <cstdint>
#include <vector>

#include "vm/code/code_cache.h"
#include "vm/code/emitter.h"
#include "vm/cpu/stubs.h"
#include "vm/decode/guest_code.h"
#include "vm/translate/block_cost.h"

namespace elision::vm {

class BlockBuilder {
 public:
  BlockBuilder(CodeCache& cache, GuestCode& code, const machine::Description& machine, std::uint64_t pc,
               std::size_t most);

  /// Emits everything; returns the finished block, or null if nothing can be fetched.
  const Block* build();

 private:
  /// Two registers for an access check's own use: dead ones, or their values lie in Cpu::scratch.
  struct Scratch {
    int reg[2];
    bool spilled[2];
    int count = 2;  // how many of them the access check uses
  };
  /// An access check's jump, to be continued out of line, behind the block.
  struct SlowPath {
    std::uint8_t* patch = nullptr;
    const AccessCheck* check = nullptr;
    MemoryOperand operand;
    Scratch scratch;
  };
  /// Accesses of several instructions that are checked together (check_groups.cc).
  struct CheckGroup {
    /// Accesses that differ in their displacement alone.
    struct Window {
      MemoryOperand first;  // with the lowest displacement
      std::int64_t end;     // displacement behind the last byte
      std::uint64_t tolerated;

      bool is_short() const;
    };
    static constexpr unsigned kMostWindows = 2;

    std::size_t end = 0;  // behind the last instruction
    unsigned accesses = 0;
    unsigned windows = 0;
    Window window[kMostWindows]{};

    bool add(const MemoryAccess& access, std::uint64_t tolerated, std::int64_t rsp);
    unsigned looks() const;
    /// Registers that the addresses rest on.
    std::uint16_t registers() const {
      std::uint16_t used = 0;
      for (unsigned w = 0; w < windows; ++w)
        used = static_cast<std::uint16_t>(used | window[w].first.registers());
      return used;
    }
    bool pays() const { return accesses > looks(); }
  };
  /// The instructions of a group once more, each with its own access checks, behind the block.
  struct SlowCopy {
    std::vector<std::uint8_t*> misses{};  // jumps to it
    std::size_t begin, end;
    std::uint64_t resume = 0;  // in front of a last instruction that ends the block, else behind the group
    bool flags_live;
    Scratch scratch;
    std::uint16_t overwritten = 0;  // as it is when the group's looks are done
  };
  /// A branch that went another way than the predictor is sure of, or none: out of line.
  struct UnsureBranch {
    std::uint8_t* patch;
    std::uint32_t branch;
    bool taken;
    bool flags_live;       // RCX is in Cpu::scratch[0] then
    std::uint64_t resume;  // in front of the jump to where it goes
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

  // translator.cc
  void prologue();
  void charge(std::uint32_t ticks, std::size_t instructions);
  void leave_if_out_of_budget(std::uint64_t pc);
  void instruction(std::size_t n);
  void out_of_line();
  void link(std::uint8_t* patch, std::uint64_t target);
  void conditional_jump(const Instruction& i);
  void edge(const Instruction& i, bool taken);
  void unsure_branch(const UnsureBranch& unsure);
  void predict_target(const Instruction& i);
  void check_fetched();
  void misprediction();
  void loop(const Instruction& i);
  void call(const Instruction& i);
  void indirect_branch(const Instruction& i);
  void return_(const Instruction& i);
  void push_return_address(std::uint64_t address);
  void jump_to_rcx(const Instruction& i);

  // access_checks.cc
  /// All access checks of instruction n, in front of it.
  void access_checks(std::size_t n);
  void access_check(std::size_t n, unsigned access, std::uint64_t retry);
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
  DecodedBlock code_block_;
  std::vector<DataFlow> flow_;
  std::vector<AccessCheck*> checks_;  // two an instruction
  // Registers that nobody reads before they are written, and that access checks have used meanwhile: a fault
  // shows what they held. A slow copy may use no others, since the code behind it does not know.
  std::uint16_t overwritten_ = 0, may_overwrite_ = 0xffff;
  bool checked_ = false;  // the instructions that are being emitted need no access checks
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
