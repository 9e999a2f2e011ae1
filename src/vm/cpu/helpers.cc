// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/helpers.h"

#include "vm/cpu/stubs.h"

namespace elision::vm {

HelperContext helper_context;

namespace {

/// The exit of a CPU whose budget is used up when an interrupt or timer is due.
Exit interrupt_exit{.reason = ExitReason::kInterrupt};
Exit watched_code_exit{.reason = ExitReason::kWatchedCode};

constexpr std::uint64_t kReloadVectors = 1;  // tag on the returned CPU: see stubs.S
constexpr std::uint64_t kCheckBytes = 64;    // distance between the access checks of a block
static_assert(sizeof(AccessCheck) > 48 && sizeof(AccessCheck) <= kCheckBytes);
constexpr std::uint64_t kStringStepBytes = 4096;
constexpr std::uint64_t kStringBytesPerCycle = 32;

/// The status that an abort leaves in EAX (SDM volume 1, 17.3.5).
std::uint64_t abort_status(machine::HardwareAbort cause, unsigned immediate, bool nested) {
  constexpr std::uint64_t kExplicit = 1, kRetry = 2, kConflict = 4, kCapacity = 8, kDebug = 16, kNested = 32;
  const std::uint64_t depth = nested ? kNested : 0;
  switch (cause) {
    case machine::HardwareAbort::kExplicit:
      return kExplicit | depth | (std::uint64_t{immediate & 0xff} << 24);
    case machine::HardwareAbort::kConflict:
      return kConflict | kRetry | depth;
    case machine::HardwareAbort::kCapacity:
      return kCapacity | depth;
    case machine::HardwareAbort::kFault:
      return immediate == kDebugFault ? kDebug
                                      : depth;  // only bit 4, even if nested (measured: Sapphire Rapids)
    default:
      return depth;
  }
}

void restore_registers(Cpu& cpu) {
  const Checkpoint& saved = cpu.checkpoint;
  for (unsigned i = 0; i < kGprCount; ++i) cpu.state.gpr[i] = saved.state.gpr[i];
  cpu.state.rip = saved.state.rip;
  cpu.state.mxcsr = saved.state.mxcsr;
  const auto* from = reinterpret_cast<const std::uint64_t*>(saved.state.ymm);
  auto* to = reinterpret_cast<std::uint64_t*>(cpu.state.ymm);
  for (unsigned i = 0; i < sizeof cpu.state.ymm / 8; ++i) to[i] = from[i];
  cpu.flags_slot = saved.flags_slot;
  cpu.direction_flag = saved.direction_flag;
}

[[gnu::always_inline]] inline Cpu::MissedLoad& missed_load(Cpu& cpu, const AccessCheck* check) {
  return cpu.missed_loads[reinterpret_cast<std::uint64_t>(check) / kCheckBytes % Cpu::kMissedLoads];
}

/// True if the register still holds the value that the missed load brought, as far as can be told.
bool still_holds(std::uint64_t value, const Cpu::MissedValue& miss) {
  std::uint64_t line[kLineBytes / 8];
  const std::uint64_t offset = miss.address & (kLineBytes - 1);
  if (offset + miss.size > kLineBytes || miss.size > 8) return true;
  if (miss.size == 8) {
    std::uint64_t word;
    return elision_copy_word(&word, reinterpret_cast<const void*>(miss.address)) == 0 && word == value;
  }
  if (elision_copy_line(line, reinterpret_cast<const void*>(miss.address - offset)) != 0) return false;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(line) + offset;
  for (unsigned i = 0; i < miss.size; ++i)
    if (bytes[i] != static_cast<std::uint8_t>(value >> (8 * i))) return false;
  return true;
}

/// When the address of an access is known: when the missed loads that it depends on arrive.
Cycles address_ready(Cpu& cpu, const AccessCheck& check) {
  const std::uint64_t now = cpu.clock().value;
  const bool overlaps = now <= cpu.overlaps_until;
  if (cpu.latest_miss + check.most_cycles <= now && !overlaps) return Cycles(0);
  std::uint64_t latest = overlaps ? 0 : now;
  for (unsigned i = 0; i < 2; ++i) {
    const AccessCheck* const load = check.address_loads[i];
    if (load == nullptr) break;
    const Cpu::MissedLoad& miss = missed_load(cpu, load);
    const std::uint64_t ready = miss.ready + check.load_cycles[i];
    if (miss.access_check == load && ready > latest) latest = ready;
  }
  for (unsigned mask = check.address_registers; mask != 0; mask &= mask - 1) {
    const int reg = __builtin_ctz(mask);
    const Cpu::MissedValue& miss = cpu.register_miss[reg];
    const std::uint64_t ready = miss.ready + check.register_cycles;
    if (miss.ready != 0 && ready > latest && still_holds(cpu.state.gpr[reg], miss)) latest = ready;
  }
  for (const Cpu::MissedPointer& miss : cpu.missed_pointers)
    if (miss.ready > latest && miss.leads_to(cpu.check_address)) latest = miss.ready;
  return Cycles(overlaps || latest > now ? latest : 0);
}

/// Remembers the value that the load at Cpu::check_address is about to load, if it may be a pointer.
void note_pointer(Cpu& cpu, Cycles when) {
  constexpr std::uint64_t kLeast = 1u << 16, kMost = std::uint64_t{1} << 47;  // addresses of user space
  std::uint64_t value;
  if (elision_copy_word(&value, reinterpret_cast<const void*>(cpu.check_address)) != 0) return;
  if (value < kLeast || value >= kMost) return;
  cpu.missed_pointers[cpu.oldest_pointer] = {value, when.value};
  cpu.oldest_pointer = (cpu.oldest_pointer + 1) % Cpu::kMissedPointers;
}

/// `replaced`: memory has another value now, so the register cannot be compared with it.
[[gnu::always_inline]] inline void note_miss(Cpu& cpu, const AccessCheck& check, Cycles when,
                                             bool replaced = false) {
  if (!check.feeds_address) return;
  if (when.value > cpu.latest_miss) cpu.latest_miss = when.value;
  if (check.size == sizeof(void*)) note_pointer(cpu, when);
  missed_load(cpu, &check) = {&check, when.value};
  for (unsigned mask = check.results; mask != 0; mask &= mask - 1)
    cpu.register_miss[__builtin_ctz(mask)] = {when.value, cpu.check_address,
                                              replaced ? Cpu::kIncomparable : check.size};
}

}  // namespace

void let_requests_arrive() {
  while (helper_context.ordering->arrival_is_due()) helper_context.model->arrive();
}

namespace {

/// Returns the CPU to run next. If the first CPU waits for a line, asks the model here whether the line is
/// free, so that only one of many waiters is resumed.
Cpu* next_cpu() {
  Ordering& ordering = *helper_context.ordering;
  for (;;) {
    let_requests_arrive();
    Cpu* first = ordering.first();
    if (first == nullptr || !first->waits_for_line) return ordering.start_first();
    machine::Request awaited{first->id, first->awaited, first->awaited_kind, first->clock(), Cycles(0)};
    awaited.in_one_line = first->awaited_in_one_line;
    const Cycles until = helper_context.model->busy_until(awaited);
    if (until <= first->clock()) return ordering.start_first();
    ++helper_context.waits;
    first->advance_to(until);
    ordering.moved(*first);
  }
}

Cpu* let_others_run(Cpu* cpu) {
  ++helper_context.yields;
  helper_context.ordering->add(*cpu);
  return next_cpu();
}

Cpu* reloading(Cpu* cpu) {
  return reinterpret_cast<Cpu*>(reinterpret_cast<std::uint64_t>(cpu) | kReloadVectors);
}

/// Returns to the stub from an access that was not made: the CPU to resume.
Cpu* after(Cpu* cpu, AccessStep step) {
  if (step == AccessStep::kRolledBack) return reloading(cpu);
  const AccessCheck& check = *cpu->access_check;
  cpu->resume = check.retry;
  cpu->state.rip = check.pc;
  return let_others_run(cpu);
}

/// Sets field by field: an initialiser list would also clear the padding, with a slow string store.
[[gnu::always_inline]] inline machine::Request request_of(const Cpu& cpu, LineAddr line,
                                                          machine::AccessKind kind) {
  machine::Request request;
  request.cpu = cpu.id;
  request.line = line;
  request.kind = kind;
  request.now = cpu.clock();
  request.address_ready = Cycles(0);
  request.open = helper_context.fast_path;
  return request;
}

/// True if the filter passes an access whose value may become an address. Atomics always ask the model.
[[gnu::always_inline]] inline bool hits_filter(Cpu& cpu, LineAddr line, machine::AccessKind kind) {
  const bool store = kind == machine::AccessKind::kStore;
  return kind != machine::AccessKind::kAtomic &&
         cpu.filter.hit(line, machine::FilterEntry::tolerated(store, true));
}

/// Makes an access if it is a local hit in L1. Returns true if it did.
bool hit_l1(Cpu& cpu, std::uint64_t address, machine::AccessKind kind) {
  const LineAddr line = line_of(GuestAddr(address));
  if (cpu.detail == Detail::kLogged)
    return kind == machine::AccessKind::kLoad || cpu.undo.touches(address, address + 1);
  if (hits_filter(cpu, line, kind)) return true;
  machine::Request request = request_of(cpu, line, kind);
  request.most = machine::Reach::kL1;
  return helper_context.model->access(request).verdict == machine::Reply::Verdict::kDone;
}

std::uint64_t bytes_to_line_end(std::uint64_t address) { return kLineBytes - (address & (kLineBytes - 1)); }

std::uint64_t smaller(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

}  // namespace

void swap_hidden_line() {
  Cpu& owner = *helper_context.shown_old_of;
  auto* const memory = reinterpret_cast<std::uint64_t*>(start_of(owner.hidden.line).value);
  for (unsigned i = 0; i < kLineBytes / 8; ++i) {
    const std::uint64_t word = memory[i];
    memory[i] = owner.hidden.words[i];
    owner.hidden.words[i] = word;
  }
}

namespace {

/// The CPU leaves to the engine in front of its next block.
void look_soon(Cpu& cpu) {
  cpu.look_at_counts(cpu.clock());
  if (!cpu.in_heap) cpu.set_deadline(cpu.clock_ticks());
}

/// The CPU leaves to the engine soon, if this is the abort that the engine waits for.
void note_abort(Cpu& cpu, machine::HardwareAbort cause, std::uint64_t status, std::uint64_t pc,
                std::uint64_t cycles) {
  if (cpu.aborts_to_look == 0) return;
  --cpu.aborts_to_look;
  if (cpu.aborts_to_look != 0) return;
  cpu.aborted = {true, cause, static_cast<std::uint32_t>(status), pc, cycles};
  look_soon(cpu);
}

}  // namespace

void roll_back(Cpu& cpu, machine::HardwareAbort cause, unsigned immediate, Cycles clock) {
  const std::uint64_t pc = cpu.state.rip;
  const std::uint64_t status = abort_status(cause, immediate, cpu.nesting > 1);
  if ((cpu.branch_ring.kinds & kAbortOfTransaction) != 0)
    cpu.branch_ring.add({pc, cpu.checkpoint.state.rip, kAbortOfTransaction, 1});
  cpu.undo.restore();
  restore_registers(cpu);
  cpu.state.gpr[kRax] = status;
  cpu.resume = cpu.checkpoint.resume;
  cpu.in_transaction = 0;
  cpu.nesting = 0;
  if (cpu.detail == Detail::kLogged) {
    cpu.detail = Detail::kCounted;
    cpu.set_deadline(cpu.turn_end_ticks);
    ++cpu.logged.aborts[static_cast<unsigned>(cause)];
  }
  cpu.commit_step = CommitStep::kNone;
  cpu.waits_for_line = false;
  cpu.asked_ticks = 0;
  cpu.forget_misses();
  cpu.rewind_to(clock);
  note_abort(cpu, cause, status, pc, cpu.end_transaction_cycles(clock));
}

namespace {

/// Records what the access waits for. It is repeated when no other CPU is behind.
AccessStep let_others_first(Cpu& cpu, const machine::Request& request, bool line_is_busy) {
  cpu.waits_for_line = line_is_busy;
  cpu.awaited = request.line;
  cpu.awaited_kind = request.kind;
  cpu.awaited_in_one_line = request.in_one_line;
  return AccessStep::kNotYet;
}

/// Waits until the time in `reply` and repeats the access, as long as no other CPU comes first.
machine::Reply wait_in_turn(Cpu& cpu, machine::Request& request, machine::Reply reply) {
  const Ordering& ordering = *helper_context.ordering;
  request.least = machine::Reach::kMachine;
  do {
    ++helper_context.waits;
    if (reply.busy && cpu.asked_ticks == 0) {
      cpu.asked_ticks = cpu.clock_ticks();
      cpu.awaited = request.line;
    }
    const Cycles next = cpu.clock() + Cycles(1);
    cpu.advance_to(reply.clock > next ? reply.clock : next);
    if (!ordering.is_first(cpu)) return reply;
    request.now = cpu.clock();
    request.first_until = ordering.first_until();
    reply = helper_context.model->access(request);
  } while (reply.verdict == machine::Reply::Verdict::kWait);
  return reply;
}

/// RIP names the instruction whose access is being made. The engine has set it for accesses of its own.
void stand_at_access(Cpu& cpu) {
  if (cpu.access_check != nullptr) cpu.state.rip = cpu.access_check->pc;
}

AccessStep abort_logged(Cpu& cpu, machine::HardwareAbort cause) {
  stand_at_access(cpu);
  roll_back(cpu, cause, 0, cpu.clock());
  return AccessStep::kRolledBack;
}

/// An access in a logged transaction. L1 bounds what it may write, as with the timing model.
AccessStep log_access(Cpu& cpu, LineAddr line, machine::AccessKind kind) {
  const std::uint64_t at = start_of(line).value;
  if (helper_context.shared_memory->contains(at)) return abort_logged(cpu, machine::HardwareAbort::kFault);
  if (kind == machine::AccessKind::kLoad || cpu.undo.touches(at, at + kLineBytes)) return AccessStep::kDone;
  if (cpu.undo.size() < helper_context.most_logged_lines && cpu.undo.save(line)) return AccessStep::kDone;
  return abort_logged(cpu, machine::HardwareAbort::kCapacity);
}

/// The access waited for `line` until `end`: the line was on its way between other CPUs.
void note_wait(Cpu& cpu, LineAddr line, Cycles end) {
  Access access{start_of(line).value, cpu.access_check != nullptr ? cpu.access_check->pc : 0, 1};
  if (line_of(GuestAddr(cpu.check_address)) == line) access.address = cpu.check_address;
  cpu.evidence->waits.add(access, cpu.asked_ticks, end.value << kTickShift);
}

/// The line of the access before the store that follows.
void keep_line(Cpu& cpu, LineAddr line) {
  cpu.hidden.line = line;
  // If it cannot be read, the store faults, and that exit forgets it.
  (void)elision_copy_line(cpu.hidden.words, reinterpret_cast<const void*>(start_of(line).value));
}

/// The load that follows finds the line as it was before the last store of `owner`. No other access does: the
/// running CPU has no right to the line, so its next access to it comes here, and here or at the next exit
/// memory is restored. The instruction makes no other access, and no other mapping shows the line.
void show_old(Cpu& owner) {
  helper_context.shown_old_of = &owner;
  swap_hidden_line();
}

/// Updates `cpu` after an access that was made or that aborted its transaction.
AccessStep conclude(Cpu& cpu, LineAddr line, const machine::Reply& reply, Cycles& ready) {
  if (reply.reach == machine::Reach::kMachine) helper_context.ordering->note_event(cpu, reply.performed);
  if (reply.verdict == machine::Reply::Verdict::kAborted) {
    stand_at_access(cpu);
    roll_back(cpu, reply.cause, 0, reply.clock);
    return AccessStep::kRolledBack;
  }
  if (reply.first_write_in_transaction && !cpu.undo.save(line)) __builtin_trap();  // beyond any L1
  if (reply.hides) keep_line(cpu, line);
  if (reply.hidden_by != machine::Reply::kNobody) show_old(*helper_context.cpus[reply.hidden_by]);
  if (cpu.asked_ticks != 0 && cpu.evidence != nullptr && cpu.in_transaction)
    note_wait(cpu, line, reply.data_ready > reply.clock ? reply.data_ready : reply.clock);
  cpu.asked_ticks = 0;
  cpu.advance_to(reply.clock);
  if (reply.data_ready > ready) ready = reply.data_ready;
  return AccessStep::kDone;
}

/// access_range() for one line. `in_one_line`: see machine::Request.
[[gnu::always_inline]] inline AccessStep access_line(Cpu& cpu, LineAddr line, machine::AccessKind kind,
                                                     Cycles address_ready, Cycles& ready,
                                                     std::uint64_t instruction, bool in_one_line) {
  if (cpu.detail == Detail::kLogged) return log_access(cpu, line, kind);
  if (hits_filter(cpu, line, kind)) {
    if (cpu.awaited == line) cpu.asked_ticks = 0;
    return AccessStep::kDone;
  }
  if (cpu.in_transaction && helper_context.shared_memory->contains(start_of(line).value)) {
    cpu.account_for_sibling();
    const Cycles clock = helper_context.model->abort(cpu.id, cpu.clock(), machine::HardwareAbort::kFault);
    stand_at_access(cpu);
    roll_back(cpu, machine::HardwareAbort::kFault, 0, clock);
    return AccessStep::kRolledBack;
  }
  if (cpu.awaited != line) cpu.asked_ticks = 0;
  const Ordering& ordering = *helper_context.ordering;
  const std::uint64_t charged_ticks = cpu.charged_ticks();
  const bool first = ordering.is_first(cpu, charged_ticks);
  machine::Request request = request_of(cpu, line, kind);
  request.address_ready = address_ready;
  request.instruction = instruction;
  // Other mappings and processes see shared memory, so it must not show an old line.
  request.in_one_line = in_one_line && !helper_context.shared_memory->contains(start_of(line).value);
  request.most = first ? machine::Reach::kMachine : machine::Reach::kCore;
  request.charged = Cycles(charged_ticks >> kTickShift);
  request.first_until = ordering.first_until();
  machine::Reply reply = helper_context.model->access(request);
  if (reply.reach != machine::Reach::kL1) cpu.account_for_sibling();
  if (reply.verdict == machine::Reply::Verdict::kNeedsOrder) return let_others_first(cpu, request, false);
  if (reply.verdict == machine::Reply::Verdict::kWait) {
    reply = wait_in_turn(cpu, request, reply);
    if (reply.verdict == machine::Reply::Verdict::kWait) return let_others_first(cpu, request, reply.busy);
  }
  return conclude(cpu, line, reply, ready);
}

}  // namespace

AccessStep access_range(Cpu& cpu, std::uint64_t address, std::uint64_t size, machine::AccessKind kind,
                        Cycles address_ready, Cycles& ready, std::uint64_t instruction, bool alone) {
  const std::uint64_t last = (address + size - 1) >> kLineShift;
  const std::uint64_t first = address >> kLineShift;
  const bool in_one_line = first == last && alone;
  for (std::uint64_t line = first; line <= last; ++line) {
    const AccessStep step =
        access_line(cpu, LineAddr(line), kind, address_ready, ready, instruction, in_one_line);
    if (step != AccessStep::kDone) return step;
  }
  return AccessStep::kDone;
}

}  // namespace elision::vm

using namespace elision::vm;

[[gnu::no_caller_saved_registers]] bool elision_late_load(Cpu* cpu) {
  if (cpu->detail == Detail::kLogged) return false;
  const AccessCheck& check = *cpu->access_check;
  const elision::LineAddr line = elision::line_of(elision::GuestAddr(cpu->check_address));
  if (check.kind != static_cast<std::uint8_t>(elision::machine::AccessKind::kLoad) ||
      (cpu->check_address & (elision::kLineBytes - 1)) + check.size > elision::kLineBytes)
    return false;
  elision::machine::FilterEntry& entry = cpu->filter.at(line);
  const std::uint64_t now = cpu->clock().value;
  const std::int64_t wait = entry.cycles_to_arrival(now);
  if (wait > elision::machine::FilterEntry::kFarAway) return false;
  entry.used = 1;
  if (wait > 0) {
    note_miss(*cpu, check, elision::Cycles(now + static_cast<std::uint64_t>(wait)));
  } else {
    entry.tag ^= elision::machine::FilterEntry::kInFlight;  // lets the filter pass all loads
  }
  cpu->resume = check.done;
  return true;
}

Cpu* elision_slow_access(Cpu* cpu) {
  show_new();
  const AccessCheck& check = *cpu->access_check;
  elision::Cycles ready{0};
  const auto kind = static_cast<elision::machine::AccessKind>(check.kind);
  if (cpu->evidence != nullptr && cpu->in_transaction)
    cpu->evidence->accesses.note({cpu->check_address, check.pc, check.size},
                                 kind != elision::machine::AccessKind::kLoad);
  const std::uint64_t address = cpu->check_address;
  const elision::Cycles known = address_ready(*cpu, check);
  const bool one_line = check.size <= bytes_to_line_end(address);
  const AccessStep step =
      one_line ? access_line(*cpu, elision::line_of(elision::GuestAddr(address)), kind, known, ready,
                             check.pc, check.alone)
               : access_range(*cpu, address, check.size, kind, known, ready, check.pc, check.alone);
  if (step != AccessStep::kDone) return after(cpu, step);
  const bool atomic = check.kind == static_cast<std::uint8_t>(elision::machine::AccessKind::kAtomic);
  if (ready.value != 0) note_miss(*cpu, check, ready, atomic);
  if (atomic) cpu->overlaps_for(kLongestWindow);
  cpu->resume = check.done;
  return cpu;
}

namespace {

/// The budget is used up: returns the CPU to run next, or null if an interrupt or timer is due. `cpu` resumes
/// at `resume`. A logged transaction has been given all that it may use (Engine::begin_logged).
Cpu* out_of_budget(Cpu* cpu, std::uint64_t resume) {
  Ordering& ordering = *helper_context.ordering;
  cpu->resume = resume;
  if (cpu->detail == Detail::kLogged) {
    abort_logged(*cpu, elision::machine::HardwareAbort::kInterrupt);
    return reloading(cpu);
  }
  cpu->state.rip = cpu->access_check->pc;
  cpu->account_for_sibling();
  const std::uint64_t now = cpu->clock_ticks();
  if (now >= cpu->next_interrupt.value << kTickShift || now >= ordering.timer_ticks()) {
    cpu->exit = &interrupt_exit;
    return nullptr;
  }
  if (!ordering.is_first(*cpu)) return let_others_run(cpu);
  ordering.start(*cpu);
  return cpu;
}

/// The CPU is about to execute a watched instruction. In a transaction that does not count yet, since the
/// transaction may abort and run again.
Cpu* at_watched_code(Cpu* cpu) {
  cpu->resume = cpu->access_check->done;
  if (cpu->in_transaction) {
    ++cpu->watched_in_transaction;
    return cpu;
  }
  if (cpu->passes_watch_at == cpu->access_check->pc) {
    cpu->passes_watch_at = 0;
    return cpu;
  }
  if (++helper_context.watched_executions != helper_context.awaited_execution) return cpu;
  cpu->state.rip = cpu->access_check->pc;
  cpu->account_for_sibling();
  cpu->exit = &watched_code_exit;
  return nullptr;
}

/// Records the access that the CPU is about to make, the one at which its count runs out. The interrupt comes
/// behind it, and ends a transaction.
Cpu* at_recorded_access(Cpu* cpu, const AccessCheck& check) {
  AccessCounter& counter = cpu->accesses[check.kind == AccessCheck::kRecordedStore ? 1 : 0];
  counter.record = {check.pc, cpu->check_address};
  counter.is_new = true;
  cpu->resume = check.done;
  look_soon(*cpu);
  if (cpu->detail == Detail::kLogged) cpu->turn_end_ticks = cpu->clock_ticks();
  return cpu;
}

}  // namespace

Cpu* elision_budget_exhausted(Cpu* cpu) {
  show_new();
  const AccessCheck& check = *cpu->access_check;
  switch (check.kind) {
    case AccessCheck::kWatchedCode:
      return at_watched_code(cpu);
    case AccessCheck::kRecordedLoad:
    case AccessCheck::kRecordedStore:
      return at_recorded_access(cpu, check);
    default:
      return out_of_budget(cpu, check.done);
  }
}

Cpu* elision_fetch(Cpu* cpu) {
  show_new();
  const AccessCheck& check = *cpu->access_check;
  cpu->resume = check.retry;
  cpu->state.rip = check.pc;
  using elision::machine::Reach, elision::machine::Reply;
  elision::machine::Model& model = *helper_context.model;
  const std::uint64_t last = (check.pc + check.size - 1) >> elision::kLineShift;
  for (std::uint64_t at = check.pc >> elision::kLineShift; at <= last; ++at) {
    const elision::LineAddr line(at);
    while (!cpu->filter.has_code(line)) {
      Reply reply = model.fetch(cpu->id, line, cpu->clock(), Reach::kCore);
      if (reply.verdict == Reply::Verdict::kNeedsOrder) {
        cpu->account_for_sibling();
        if (!helper_context.ordering->is_first(*cpu)) return let_others_run(cpu);
        reply = model.fetch(cpu->id, line, cpu->clock(), Reach::kMachine);
        if (reply.verdict != Reply::Verdict::kWait)
          helper_context.ordering->note_event(*cpu, reply.performed);
      }
      if (reply.verdict == Reply::Verdict::kAborted) {
        roll_back(*cpu, reply.cause, 0, reply.clock);
        return reloading(cpu);
      }
      cpu->advance_to(reply.clock);
    }
  }
  return cpu;
}

/// Makes the accesses of the next step of REP MOVS or REP STOS: first those of one element, which may be
/// ordered events, then local hits as long as they follow. Sets Cpu::chunk to the elements of the step, and
/// scratch[0] to the elements after it.
Cpu* elision_string_step(Cpu* cpu) {
  show_new();
  const AccessCheck& check = *cpu->access_check;
  if (cpu->budget_exhausted()) return out_of_budget(cpu, check.retry);
  const bool moves = check.kind != 0;
  const std::uint64_t element = check.size;
  const std::uint64_t count = cpu->state.gpr[kRcx];
  const std::uint64_t to = cpu->state.gpr[kRdi];
  const std::uint64_t from = cpu->state.gpr[kRsi];
  elision::Cycles ready{0};
  AccessStep step = moves ? access_range(*cpu, from, element, elision::machine::AccessKind::kLoad,
                                         elision::Cycles(0), ready)
                          : AccessStep::kDone;
  if (step == AccessStep::kDone)
    step = access_range(*cpu, to, element, elision::machine::AccessKind::kStore, elision::Cycles(0), ready);
  if (step != AccessStep::kDone) return after(cpu, step);
  std::uint64_t bytes = element;
  if (cpu->direction_flag == 0) {
    const std::uint64_t limit = smaller(count * element, kStringStepBytes);
    while (bytes < limit) {
      std::uint64_t piece = smaller(limit - bytes, bytes_to_line_end(to + bytes));
      if (moves) piece = smaller(piece, bytes_to_line_end(from + bytes));
      const bool same_lines = ((to + bytes) & (elision::kLineBytes - 1)) != 0 &&
                              (!moves || ((from + bytes) & (elision::kLineBytes - 1)) != 0);
      if (!same_lines && ((moves && !hit_l1(*cpu, from + bytes, elision::machine::AccessKind::kLoad)) ||
                          !hit_l1(*cpu, to + bytes, elision::machine::AccessKind::kStore)))
        break;
      bytes += piece;
    }
  }
  cpu->chunk = bytes / element;
  cpu->scratch[0] = count - cpu->chunk;
  cpu->set_time(cpu->clock_ticks() + ((bytes / kStringBytesPerCycle + 1) << kTickShift), cpu->deadline_ticks);
  cpu->resume = check.done;
  return cpu;
}
