// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/code_manager.h"

#include "vm/code/emitter.h"
#include "vm/cpu/profile.h"
#include "vm/cpu/stubs.h"
#include "vm/linux/kernel.h"

namespace elision::vm {
namespace {

/// Emits code that leaves with `permanent`, an Exit that survives flushes. Returns its host address.
std::uint64_t emit_permanent_exit(Emitter& out, Exit& permanent, ExitReason reason) {
  permanent.reason = reason;
  const std::uint64_t entry = out.address();
  emit_exit(out, &permanent);
  return entry;
}

}  // namespace

CodeManager::CodeManager(EngineContext& context, Transactions& transactions,
                         std::function<void(const std::string&)> refuse_watch)
    : context_(context),
      transactions_(transactions),
      guest_code_([this](std::uint64_t pc) { return context_.kernel->executable_end(pc); },
                  [this](std::uint64_t pc) { return context_.kernel->is_writable(pc); }),
      watched_([this] { return context_.kernel->memory_map(); }, std::move(refuse_watch)) {
  guest_code_.stop_at(watched_.addresses());
}

void CodeManager::watch(const std::vector<std::string>& places, std::uint64_t awaited) {
  watched_.watch(places, awaited);
  flush();
}

void CodeManager::record_branches(std::uint32_t kinds) {
  if (kinds == context_.recorded_branches) return;
  context_.recorded_branches = kinds;
  for (Cpu* cpu : context_.cpus) {
    cpu->branch_ring.clear();
    cpu->branch_ring.kinds = kinds;
  }
  flush();
}

void CodeManager::count_accesses(std::uint32_t kinds) {
  if (kinds == context_.counted_accesses) return;
  context_.counted_accesses = kinds;
  flush();
}

void CodeManager::install_stubs(bool timed) {
  auto* table = reinterpret_cast<std::uint64_t*>(kStubTable);
  const auto set = [&](Stub stub, void (*entry)()) {
    table[static_cast<unsigned>(stub)] = reinterpret_cast<std::uint64_t>(entry);
  };
  set(Stub::kSlowAccess, timed ? elision_timed_stub_slow_access : elision_stub_slow_access);
  set(Stub::kBudget, timed ? elision_timed_stub_budget : elision_stub_budget);
  set(Stub::kString, timed ? elision_timed_stub_string : elision_stub_string);
  set(Stub::kExit, timed ? elision_timed_stub_exit : elision_stub_exit);
  set(Stub::kFetch, timed ? elision_timed_stub_fetch : elision_stub_fetch);
  set(Stub::kBranch, elision_stub_branch);
  set(Stub::kRecordBranch, elision_stub_record_branch);
  auto* exits = reinterpret_cast<Exit*>(kPermanentExits);
  Emitter out(CodeCache::permanent());
  pending_stub_ = emit_permanent_exit(out, exits[0], ExitReason::kPending);
  resolve_stub_ = emit_permanent_exit(out, exits[1], ExitReason::kResolve);
  attach_stub_ = emit_permanent_exit(out, exits[2], ExitReason::kAttach);
  fetch_fault_stub_ = emit_permanent_exit(out, exits[3], ExitReason::kFetchFault);
}

const Block* CodeManager::translate(std::uint64_t pc, Detail detail, std::size_t most) {
  watched_.examine(pc);
  const Translation how{detail,
                        context_.account != nullptr,
                        context_.watches_part_markers,
                        watched_.contains(pc),
                        context_.recorded_branches,
                        context_.counted_accesses};
  return translate_block(cache_, guest_code_, context_.machine, how, pc, most);
}

std::uint64_t CodeManager::host_address(std::uint64_t pc, Detail detail) {
  if (const Block* known = cache_.find(pc, detail)) return known->host;
  make_room();
  const ProfileScope scope(Work::kTranslation);
  end_writers(pc);
  const bool conservative = guest_code_.flags_live_everywhere();
  const Block* block = translate(pc, detail);
  if (guest_code_.flags_live_everywhere() != conservative) {
    flush();  // earlier translations assumed that flags are dead
    block = translate(pc, detail);
  }
  if (block == nullptr) return fetch_fault_stub_;
  last_translated_ = pc;
  context_.kernel->guard_code(block->pc, block->end_pc);
  return block->host;
}

bool CodeManager::continue_at(Cpu& cpu, std::uint64_t pc) {
  cpu.state.rip = pc;
  const bool inside = cpu.in_transaction != 0;
  const std::uint64_t host = host_address(pc, cpu.detail);
  if (inside && cpu.in_transaction == 0) return false;  // rolled back: `resume` is the fallback address
  cpu.resume = host;
  return host != fetch_fault_stub_;
}

void CodeManager::next_instruction(Cpu& cpu, Exit& exit) {
  cpu.state.rip = exit.pc + exit.length;
  if (exit.next_host != 0) {
    cpu.resume = exit.next_host;
    return;
  }
  if (exit.reason == ExitReason::kComplexAccess) {  // the cache was flushed
    continue_at(cpu, exit.pc);
    return;
  }
  const std::uint64_t flushes = cache_.flushes();
  const bool remembers = &exit != &cpu.deferred;
  const bool goes_on = continue_at(cpu, exit.pc + exit.length);
  if (goes_on && remembers && cache_.flushes() == flushes) exit.next_host = cpu.resume;
}

void CodeManager::link(Cpu& cpu, Exit& exit) {
  const std::uint64_t flushes = cache_.flushes();
  const std::uint64_t target = exit.pc;
  std::uint8_t* patch = exit.patch;
  if (continue_at(cpu, target) && cache_.flushes() == flushes) Emitter::patch(patch, cpu.resume);
}

void CodeManager::indirect(Cpu& cpu, Exit& exit) {
  const std::uint64_t target = cpu.exit_value;
  const bool flags_passed = exit.detail != 0;
  if (!flags_passed && guest_code_.reads_incoming_flags(target)) {
    guest_code_.assume_flags_live();
    flush();
  }
  if (continue_at(cpu, target)) CodeCache::remember_branch(target, cpu.detail, cpu.resume);
}

void CodeManager::resume_from_thread(Cpu& cpu) {
  cpu.resume = attach_stub_;
  cpu.x87_used = 0;
}

void CodeManager::repeat_in_order(Cpu& cpu, const Exit& exit) {
  cpu.deferred = exit;
  cpu.resume = pending_stub_;
  cpu.state.rip = exit.pc;
}

void CodeManager::repeat_without_guard(Cpu& cpu, std::uint64_t pc) {
  if (cache_.find(pc, cpu.detail) == nullptr) {
    make_room();
    translate(pc, cpu.detail, 1);
  }
  continue_at(cpu, pc);
}

/// Before the block at `pc` is translated, aborts transactions that have written to it, the running CPU's too
/// ("self-modifying code transactionally may also cause transactional aborts", SDM volume 1, 17.3.9.2). So a
/// roll-back never changes translated code.
void CodeManager::end_writers(std::uint64_t pc) {
  constexpr std::uint64_t kLongest = 15, kLongestBlock = GuestCode::kMaxInstructions * kLongest;
  const auto end_of = [pc](std::uint64_t bytes) { return pc > ~bytes ? ~std::uint64_t{0} : pc + bytes; };
  if (!transactions_.any_writer(pc, end_of(kLongestBlock))) return;
  const DecodedBlock block = guest_code_.block(pc);
  const Instruction* last = block.instructions.empty() ? nullptr : &block.instructions.back();
  transactions_.end_writers(pc, end_of(last != nullptr ? last->pc + last->looked_at - pc : kLongest));
}

void CodeManager::make_room() {
  if (cache_.nearly_full()) flush();
}

void CodeManager::flush() {
  cache_.flush();
  guest_code_.forget();
  restart_cpus();
}

void CodeManager::restart_cpus() {
  for (Cpu* cpu : context_.cpus) {
    if (cpu->resume != pending_stub_ && cpu->resume != attach_stub_) cpu->resume = resolve_stub_;
    cpu->checkpoint.resume = resolve_stub_;
    cpu->deferred.next_host = 0;
    cpu->forget_misses();  // they name access checks
  }
}

bool CodeManager::code_changes(std::uint64_t begin, std::uint64_t end) {
  const std::vector<std::uint64_t> pages = context_.kernel->lift_guards(begin, end);
  if (pages.empty()) return false;
  invalidate(pages);
  return true;
}

void CodeManager::invalidate(const std::vector<std::uint64_t>& pages) {
  guest_code_.forget();
  for (const std::uint64_t page : pages) {
    make_room();
    cache_.invalidate(page);
  }
}

}  // namespace elision::vm
