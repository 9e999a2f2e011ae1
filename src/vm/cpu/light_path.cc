// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/light_path.h"

#include "vm/cpu/stubs.h"

namespace elision::vm {

LightContext light_context;

namespace {

/// Of a core whose budget is used up and for which something is due.
Exit interrupt_exit{.reason = ExitReason::kInterrupt};

constexpr std::uint64_t kReloadVectors = 1;  // tag on the returned core: see stubs.S
constexpr std::uint64_t kHookBytes = 64;     // from one hook of a block to the next
static_assert(sizeof(Hook) > 48 && sizeof(Hook) <= kHookBytes);
constexpr std::uint64_t kStringStepBytes = 4096;
constexpr std::uint64_t kStringBytesPerCycle = 32;

/// Leaves the status in EAX as XBEGIN defines it (SDM volume 1, 17.3.5).
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
                                      : depth;  // bit 4 alone, nested too (measured: Sapphire Rapids)
    default:
      return depth;
  }
}

void restore_registers(Core& core) {
  const Checkpoint& saved = core.checkpoint;
  for (unsigned i = 0; i < kGprCount; ++i) core.state.gpr[i] = saved.state.gpr[i];
  core.state.rip = saved.state.rip;
  core.state.mxcsr = saved.state.mxcsr;
  const auto* from = reinterpret_cast<const std::uint64_t*>(saved.state.ymm);
  auto* to = reinterpret_cast<std::uint64_t*>(core.state.ymm);
  for (unsigned i = 0; i < sizeof core.state.ymm / 8; ++i) to[i] = from[i];
  core.flags_slot = saved.flags_slot;
  core.direction_flag = saved.direction_flag;
}

[[gnu::always_inline]] inline Core::MissedLoad& missed_load(Core& core, const Hook* hook) {
  return core.missed_loads[reinterpret_cast<std::uint64_t>(hook) / kHookBytes % Core::kMissedLoads];
}

/// True if the register still has the value that the missed load brought.
bool still_holds(std::uint64_t value, const Core::MissedValue& miss) {
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

/// When the address of `hook`'s access is known, as far as it rests on loads that missed.
Cycles address_ready(Core& core, const Hook& hook) {
  const std::uint64_t now = core.clock().value;
  if (core.latest_miss <= now) return Cycles(0);
  std::uint64_t latest = 0;
  for (const Hook* load : hook.address_loads) {
    if (load == nullptr) break;
    const Core::MissedLoad& miss = missed_load(core, load);
    if (miss.hook == load && miss.ready > latest) latest = miss.ready;
  }
  for (unsigned mask = hook.address_registers; mask != 0; mask &= mask - 1) {
    const int reg = __builtin_ctz(mask);
    const Core::MissedValue& miss = core.register_miss[reg];
    if (miss.ready > now && miss.ready > latest && still_holds(core.state.gpr[reg], miss))
      latest = miss.ready;
  }
  return Cycles(latest);
}

[[gnu::always_inline]] inline void note_miss(Core& core, const Hook& hook, Cycles when) {
  if (!hook.feeds_address) return;
  if (when.value > core.latest_miss) core.latest_miss = when.value;
  missed_load(core, &hook) = {&hook, when.value};
  for (unsigned mask = hook.results; mask != 0; mask &= mask - 1)
    core.register_miss[__builtin_ctz(mask)] = {when.value, core.hook_address, hook.size};
}

/// The core whose turn it is. One that waits for a line is asked about here, so that those many that wait for
/// the same one need not all be woken to see that another has it.
Core* next_core() {
  Ordering& ordering = *light_context.ordering;
  for (;;) {
    Core* first = ordering.first();
    if (first == nullptr || !first->waits_for_line) return ordering.start_first();
    const Cycles until = light_context.model->busy_until(
        {first->id, first->awaited, first->awaited_kind, first->clock(), Cycles(0)});
    if (until <= first->clock()) return ordering.start_first();
    ++light_context.waits;
    first->advance_to(until);
    ordering.moved(*first);
  }
}

Core* let_others_run(Core* core) {
  ++light_context.yields;
  light_context.ordering->add(*core);
  return next_core();
}

Core* reloading(Core* core) {
  return reinterpret_cast<Core*>(reinterpret_cast<std::uint64_t>(core) | kReloadVectors);
}

/// What to return to the stub after an access that is not done.
Core* after(Core* core, AccessStep step) {
  if (step == AccessStep::kRolledBack) return reloading(core);
  const Hook& hook = *core->hook;
  core->resume = hook.retry;
  core->state.rip = hook.pc;
  return let_others_run(core);
}

/// Field by field: an initialiser list would clear the padding too, by a slow string store.
[[gnu::always_inline]] inline machine::Request request_of(const Core& core, LineAddr line,
                                                          machine::AccessKind kind) {
  machine::Request request;
  request.cpu = core.id;
  request.line = line;
  request.kind = kind;
  request.now = core.clock();
  request.address_ready = Cycles(0);
  request.open = light_context.fast_path;
  return request;
}

/// Makes an access if it is a hit in L1 that no other CPU can notice.
bool hit_l1(Core& core, std::uint64_t address, machine::AccessKind kind) {
  machine::Request request = request_of(core, line_of(GuestAddr(address)), kind);
  request.most = machine::Reach::kL1;
  return light_context.model->access(request).verdict == machine::Reply::Verdict::kDone;
}

std::uint64_t bytes_to_line_end(std::uint64_t address) { return kLineBytes - (address & (kLineBytes - 1)); }

std::uint64_t smaller(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

}  // namespace

void roll_back(Core& core, machine::HardwareAbort cause, unsigned immediate, Cycles clock) {
  const bool nested = core.nesting > 1;
  core.undo.restore();
  restore_registers(core);
  core.state.gpr[kRax] = abort_status(cause, immediate, nested);
  core.resume = core.checkpoint.resume;
  core.in_transaction = 0;
  core.nesting = 0;
  core.commit_step = CommitStep::kNone;
  core.waits_for_line = false;
  core.asked_ticks = 0;
  core.forget_misses();
  core.rewind_to(clock);
}

namespace {

/// The access has to wait until the other cores have caught up.
AccessStep let_others_first(Core& core, const machine::Request& request, bool line_is_busy) {
  core.waits_for_line = line_is_busy;
  core.awaited = request.line;
  core.awaited_kind = request.kind;
  return AccessStep::kNotYet;
}

/// The core waits as `reply` says, and asks again as long as no other core comes first.
machine::Reply wait_in_turn(Core& core, machine::Request& request, machine::Reply reply) {
  const Ordering& ordering = *light_context.ordering;
  request.least = machine::Reach::kMachine;
  do {
    ++light_context.waits;
    if (reply.busy && core.asked_ticks == 0) {
      core.asked_ticks = core.clock_ticks();
      core.awaited = request.line;
    }
    const Cycles next = core.clock() + Cycles(1);
    core.advance_to(reply.clock > next ? reply.clock : next);
    if (!ordering.is_first(core)) return reply;
    request.now = core.clock();
    request.first_until = ordering.first_until();
    reply = light_context.model->access(request);
  } while (reply.verdict == machine::Reply::Verdict::kWait);
  return reply;
}

/// Leaves `core` as an access leaves it that happened, or that ended the transaction.
AccessStep conclude(Core& core, LineAddr line, const machine::Reply& reply, Cycles& ready) {
  if (reply.reach == machine::Reach::kMachine) light_context.ordering->note_event(core, reply.performed);
  if (reply.verdict == machine::Reply::Verdict::kAborted) {
    roll_back(core, reply.cause, 0, reply.clock);
    return AccessStep::kRolledBack;
  }
  if (reply.first_write_in_transaction && !core.undo.save(line)) __builtin_trap();  // beyond any L1
  core.asked_ticks = 0;
  core.advance_to(reply.clock);
  if (reply.data_ready > ready) ready = reply.data_ready;
  return AccessStep::kDone;
}

}  // namespace

AccessStep access_line(Core& core, LineAddr line, machine::AccessKind kind, Cycles address_ready,
                       Cycles& ready, std::uint64_t instruction) {
  if (core.in_transaction && light_context.shared_memory->contains(start_of(line).value)) {
    core.account_for_sibling();
    const Cycles clock = light_context.model->abort(core.id, core.clock(), machine::HardwareAbort::kFault);
    roll_back(core, machine::HardwareAbort::kFault, 0, clock);
    return AccessStep::kRolledBack;
  }
  if (core.awaited != line) core.asked_ticks = 0;
  const Ordering& ordering = *light_context.ordering;
  const std::uint64_t charged_ticks = core.charged_ticks();
  const bool first = ordering.is_first(core, charged_ticks);
  machine::Request request = request_of(core, line, kind);
  request.address_ready = address_ready;
  request.instruction = instruction;
  request.most = first ? machine::Reach::kMachine : machine::Reach::kCore;
  request.charged = Cycles(charged_ticks >> kTickShift);
  request.first_until = ordering.first_until();
  machine::Reply reply = light_context.model->access(request);
  if (reply.reach != machine::Reach::kL1) core.account_for_sibling();
  if (reply.verdict == machine::Reply::Verdict::kNeedsOrder) return let_others_first(core, request, false);
  if (reply.verdict == machine::Reply::Verdict::kWait) {
    reply = wait_in_turn(core, request, reply);
    if (reply.verdict == machine::Reply::Verdict::kWait) return let_others_first(core, request, reply.busy);
  }
  return conclude(core, line, reply, ready);
}

AccessStep access_range(Core& core, std::uint64_t address, std::uint64_t size, machine::AccessKind kind,
                        Cycles address_ready, Cycles& ready, std::uint64_t instruction) {
  const std::uint64_t last = (address + size - 1) >> kLineShift;
  for (std::uint64_t line = address >> kLineShift; line <= last; ++line) {
    const AccessStep step = access_line(core, LineAddr(line), kind, address_ready, ready, instruction);
    if (step != AccessStep::kDone) return step;
  }
  return AccessStep::kDone;
}

}  // namespace elision::vm

using namespace elision::vm;

[[gnu::no_caller_saved_registers]] bool elision_late_load(Core* core) {
  const Hook& hook = *core->hook;
  const elision::LineAddr line = elision::line_of(elision::GuestAddr(core->hook_address));
  if (hook.kind != static_cast<std::uint8_t>(elision::machine::AccessKind::kLoad) ||
      (core->hook_address & (elision::kLineBytes - 1)) + hook.size > elision::kLineBytes)
    return false;
  elision::machine::FilterEntry& entry = core->filter.at(line);
  const std::uint64_t now = core->clock().value;
  const std::int64_t wait = entry.cycles_to_arrival(now);
  if (wait > elision::machine::FilterEntry::kFarAway) return false;
  entry.used = 1;
  if (wait > 0) {
    note_miss(*core, hook, elision::Cycles(now + static_cast<std::uint64_t>(wait)));
  } else {
    entry.tag ^= elision::machine::FilterEntry::kInFlight;  // open to all loads from now on
  }
  core->resume = hook.done;
  return true;
}

Core* elision_slow_access(Core* core) {
  const Hook& hook = *core->hook;
  elision::Cycles ready{0};
  const AccessStep step =
      access_range(*core, core->hook_address, hook.size, static_cast<elision::machine::AccessKind>(hook.kind),
                   address_ready(*core, hook), ready, hook.pc);
  if (step != AccessStep::kDone) return after(core, step);
  if (ready.value != 0) note_miss(*core, hook, ready);
  core->resume = hook.done;
  return core;
}

namespace {

/// Others are due, or the timer: what runs when this core goes on, at `resume`.
Core* out_of_budget(Core* core, std::uint64_t resume) {
  Ordering& ordering = *light_context.ordering;
  core->resume = resume;
  core->state.rip = core->hook->pc;
  core->account_for_sibling();
  const std::uint64_t now = core->clock_ticks();
  if (now >= core->next_interrupt.value << kTickShift || now >= ordering.timer_ticks()) {
    core->exit = &interrupt_exit;
    return nullptr;
  }
  if (!ordering.is_first(*core)) return let_others_run(core);
  ordering.start(*core);
  return core;
}

}  // namespace

Core* elision_budget_exhausted(Core* core) { return out_of_budget(core, core->hook->done); }

Core* elision_fetch(Core* core) {
  const Hook& hook = *core->hook;
  core->resume = hook.retry;
  core->state.rip = hook.pc;
  using elision::machine::Reach, elision::machine::Reply;
  elision::machine::Model& model = *light_context.model;
  const std::uint64_t last = (hook.pc + hook.size - 1) >> elision::kLineShift;
  for (std::uint64_t at = hook.pc >> elision::kLineShift; at <= last; ++at) {
    const elision::LineAddr line(at);
    while (!core->filter.has_code(line)) {
      Reply reply = model.fetch(core->id, line, core->clock(), Reach::kCore);
      if (reply.verdict == Reply::Verdict::kNeedsOrder) {
        core->account_for_sibling();
        if (!light_context.ordering->is_first(*core)) return let_others_run(core);
        reply = model.fetch(core->id, line, core->clock(), Reach::kMachine);
        if (reply.verdict != Reply::Verdict::kWait)
          light_context.ordering->note_event(*core, reply.performed);
      }
      if (reply.verdict == Reply::Verdict::kAborted) {
        roll_back(*core, reply.cause, 0, reply.clock);
        return reloading(core);
      }
      core->advance_to(reply.clock);
    }
  }
  return core;
}

/// Clears the next step of REP MOVS or REP STOS: the lines of the first element in order, then as
/// many bytes as are private. Core::chunk becomes the elements of the step, scratch[0] what is left after it.
Core* elision_string_step(Core* core) {
  const Hook& hook = *core->hook;
  if (core->budget_exhausted()) return out_of_budget(core, hook.retry);
  const bool moves = hook.kind != 0;
  const std::uint64_t element = hook.size;
  const std::uint64_t count = core->state.gpr[kRcx];
  const std::uint64_t to = core->state.gpr[kRdi];
  const std::uint64_t from = core->state.gpr[kRsi];
  elision::Cycles ready{0};
  AccessStep step = moves ? access_range(*core, from, element, elision::machine::AccessKind::kLoad,
                                         elision::Cycles(0), ready)
                          : AccessStep::kDone;
  if (step == AccessStep::kDone)
    step = access_range(*core, to, element, elision::machine::AccessKind::kStore, elision::Cycles(0), ready);
  if (step != AccessStep::kDone) return after(core, step);
  std::uint64_t bytes = element;
  if (core->direction_flag == 0) {
    const std::uint64_t limit = smaller(count * element, kStringStepBytes);
    while (bytes < limit) {
      std::uint64_t piece = smaller(limit - bytes, bytes_to_line_end(to + bytes));
      if (moves) piece = smaller(piece, bytes_to_line_end(from + bytes));
      const bool same_lines = ((to + bytes) & (elision::kLineBytes - 1)) != 0 &&
                              (!moves || ((from + bytes) & (elision::kLineBytes - 1)) != 0);
      if (!same_lines && ((moves && !hit_l1(*core, from + bytes, elision::machine::AccessKind::kLoad)) ||
                          !hit_l1(*core, to + bytes, elision::machine::AccessKind::kStore)))
        break;
      bytes += piece;
    }
  }
  core->chunk = bytes / element;
  core->scratch[0] = count - core->chunk;
  core->set_time(core->clock_ticks() + ((bytes / kStringBytesPerCycle + 1) << kTickShift),
                 core->deadline_ticks);
  core->resume = hook.done;
  return core;
}
