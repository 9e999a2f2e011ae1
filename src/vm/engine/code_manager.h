// SPDX-License-Identifier: Apache-2.0
// Decides where CPUs continue: translates code when a CPU first reaches it, links blocks, and invalidates
// translations when the guest changes its code.
//
// Invariant: a CPU never resumes at a host address that a flush has freed. flush() sends each CPU to its
// guest address.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "vm/code/code_cache.h"
#include "vm/decode/guest_code.h"
#include "vm/engine/engine_context.h"
#include "vm/engine/transactions.h"
#include "vm/engine/watched_code.h"
#include "vm/translate/translator.h"

namespace elision::vm {

class CodeManager {
 public:
  /// `refuse_watch`: ends the run, since a name to be watched is ambiguous.
  CodeManager(EngineContext& context, Transactions& transactions,
              std::function<void(const std::string&)> refuse_watch);

  /// Fills the stub table, with the timed stubs for a profile.
  void install_stubs(bool timed);
  /// From now on records the forms of translated instructions.
  void record_forms() { guest_code_.record_forms(); }
  const FormsMet* forms() const { return guest_code_.forms(); }

  /// Lets the CPU continue at `pc`. Returns false if it will not: the instruction there cannot be fetched, so
  /// the CPU will fault next, or translating it aborted the CPU's transaction.
  bool continue_at(Cpu& cpu, std::uint64_t pc);
  /// Lets the CPU continue after the instruction of `exit`. Records the host address in `exit`.
  void next_instruction(Cpu& cpu, Exit& exit);
  /// Handles a direct branch that is taken for the first time, or an indirect branch that missed in the
  /// table.
  void link(Cpu& cpu, Exit& exit);
  void indirect(Cpu& cpu, Exit& exit);
  /// When the CPU next runs, it loads its registers from its thread. Until then the kernel may change them.
  void resume_from_thread(Cpu& cpu);
  /// Lets the CPU repeat `exit`, an ordered one, when it is the earliest CPU.
  void repeat_in_order(Cpu& cpu, const Exit& exit);
  /// Repeats the instruction at `pc` after the guards that stopped it were lifted. If that invalidated its
  /// own translation, translates only this instruction and sets no guard. Translating the next one sets the
  /// guard again.
  void repeat_without_guard(Cpu& cpu, std::uint64_t pc);

  /// The host address of the translation of `pc` in this detail. If its first instruction cannot be fetched,
  /// the address of an exit with kFetchFault.
  std::uint64_t host_address(std::uint64_t pc, Detail detail);
  /// The block whose code contains the host address, or null.
  const Block* find_host(std::uint64_t host) const { return cache_.find_host(host); }
  /// As GuestCode::missing_byte().
  std::optional<std::uint64_t> missing_byte(std::uint64_t pc) { return guest_code_.missing_byte(pc); }

  /// Called before a write to [begin, end). Lifts the guards of pages there and invalidates their
  /// translations. Returns true if there were any. A CPU inside an invalidated block first runs to its end,
  /// as a real CPU may.
  bool code_changes(std::uint64_t begin, std::uint64_t end);
  /// Invalidates translations of code in [begin, end).
  void forget(std::uint64_t begin, std::uint64_t end) {
    watched_.forget(begin, end);
    invalidate(cache_.pages(begin, end));
  }
  /// From now on watches `places` (watched_code.h). No CPU is running.
  void watch(const std::vector<std::string>& places, std::uint64_t awaited);
  /// From now on translated code records these kinds of branches (BranchKind), and no others.
  void record_branches(std::uint32_t kinds);
  /// From now on translated code counts these accesses (CountedAccess), and no others.
  void count_accesses(std::uint32_t kinds);
  const WatchedCode& watched() const { return watched_; }
  /// Lets every CPU continue at its guest address, by a translation in its present detail.
  void restart_cpus();
  std::uint64_t flushes() const { return cache_.flushes(); }
  /// The guest address of the last translation.
  std::uint64_t last_translated() const { return last_translated_; }

 private:
  const Block* translate(std::uint64_t pc, Detail detail, std::size_t most = GuestCode::kMaxInstructions);
  void end_writers(std::uint64_t pc);
  void flush();
  void make_room();
  void invalidate(const std::vector<std::uint64_t>& pages);

  EngineContext& context_;
  Transactions& transactions_;
  CodeCache cache_;
  GuestCode guest_code_;
  WatchedCode watched_;
  std::uint64_t last_translated_ = 0;
  // Exits in the permanent part of the code region.
  std::uint64_t pending_stub_ = 0;
  std::uint64_t resolve_stub_ = 0;
  std::uint64_t attach_stub_ = 0;
  std::uint64_t fetch_fault_stub_ = 0;
};

}  // namespace elision::vm
