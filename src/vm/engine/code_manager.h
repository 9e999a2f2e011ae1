// SPDX-License-Identifier: Apache-2.0
// Where CPUs go on: translates what is reached for the first time, links blocks, and forgets translations of
// code that changes.
//
// Invariant: a CPU never resumes at a host address that a flush has freed. flush() sends each CPU to its
// guest address.
#pragma once

#include <cstdint>
#include <vector>

#include "vm/code/code_cache.h"
#include "vm/decode/guest_code.h"
#include "vm/engine/engine_context.h"
#include "vm/engine/transactions.h"
#include "vm/translate/translator.h"

namespace elision::vm {

class CodeManager {
 public:
  CodeManager(EngineContext& context, Transactions& transactions);

  /// Fills the table of stubs through which translated code leaves; `timed` ones serve a profile.
  void install_stubs(bool timed);
  /// Keeps the forms of all instructions that are translated from now on.
  void record_forms() { guest_code_.record_forms(); }
  const FormsMet* forms() const { return guest_code_.forms(); }

  /// The CPU goes on at `pc`. False if it does not: the instruction there cannot be fetched, which is the
  /// next thing that happens to the CPU, or what is to be executed ended its transaction.
  bool continue_at(Cpu& cpu, std::uint64_t pc);
  /// Goes on behind the instruction that made the exit; the place is remembered in the exit.
  void next_instruction(Cpu& cpu, Exit& exit);
  /// A direct branch is taken for the first time; an indirect one is not in the table.
  void link(Cpu& cpu, Exit& exit);
  void indirect(Cpu& cpu, Exit& exit);
  /// The CPU's registers are loaded from its thread when it next runs; until then the kernel may edit them.
  void resume_from_thread(Cpu& cpu);
  /// The CPU repeats `exit`, which takes place in virtual-time order, when it is the earliest.
  void repeat_in_order(Cpu& cpu, const Exit& exit);
  /// Executes the instruction at `pc` again, now that the guards are lifted that it came upon. One that is
  /// not translated any more, because it lies in such a page, is translated alone and without a guard: what
  /// follows it brings the guard back.
  void repeat_without_guard(Cpu& cpu, std::uint64_t pc);

  /// Where a CPU goes on that has reached `pc`: its translation, or, if its first instruction cannot be
  /// fetched, the exit that says so.
  std::uint64_t host_address(std::uint64_t pc);
  /// The block whose code contains the host address, or null.
  const Block* find_host(std::uint64_t host) const { return cache_.find_host(host); }
  /// As GuestCode::missing_byte().
  std::optional<std::uint64_t> missing_byte(std::uint64_t pc) { return guest_code_.missing_byte(pc); }

  /// Somebody is about to write to [begin, end). True if code had been translated from there, which is
  /// translated anew when it is next run; CPUs that are within it come to its end first, as real ones may.
  bool code_changes(std::uint64_t begin, std::uint64_t end);
  /// Translations made from [begin, end) are invalid.
  void forget(std::uint64_t begin, std::uint64_t end) { invalidate(cache_.pages(begin, end)); }
  std::uint64_t flushes() const { return cache_.flushes(); }
  /// The guest address that was translated last.
  std::uint64_t last_translated() const { return last_translated_; }

 private:
  void end_writers(std::uint64_t pc);
  void flush();
  void make_room();
  void invalidate(const std::vector<std::uint64_t>& pages);

  EngineContext& context_;
  Transactions& transactions_;
  CodeCache cache_;
  GuestCode guest_code_;
  std::uint64_t last_translated_ = 0;
  // Exits in the permanent part of the code region.
  std::uint64_t pending_stub_ = 0;
  std::uint64_t resolve_stub_ = 0;
  std::uint64_t attach_stub_ = 0;
  std::uint64_t fetch_fault_stub_ = 0;
};

}  // namespace elision::vm
