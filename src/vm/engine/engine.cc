// SPDX-License-Identifier: Apache-2.0
// The run loop, and the code cache's upkeep.
#include "vm/engine/engine.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "vm/cpu/cpuid.h"
#include "vm/cpu/stubs.h"
#include "vm/engine/host_faults.h"
#include "vm/host/failure.h"
#include "vm/host/own_descriptors.h"
#include "vm/report/profile_report.h"

namespace elision::vm {

Engine* the_engine = nullptr;

namespace {

// Entry points in the permanent part of the code region (install_stubs).
std::uint64_t pending_stub = 0;
std::uint64_t resolve_stub = 0;
std::uint64_t attach_stub = 0;
std::uint64_t fetch_fault_stub = 0;

/// A Core in zeroed memory of its own that is touched only as far as it is used.
Core* new_core(unsigned id) {
  void* memory = mmap(nullptr, (sizeof(Core) + 4095) & ~std::size_t{4095}, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "elision: out of memory for %u virtual CPUs\n", id + 1);
    std::exit(2);
  }
  Core* core = new (memory) Core;
  core->id = CpuId(id);
  return core;
}

/// An Exit that outlives flushes of the cache, with the code that leaves through it.
std::uint64_t emit_permanent_exit(Emitter& out, Exit& permanent, ExitReason reason) {
  permanent.reason = reason;
  const std::uint64_t entry = out.address();
  emit_exit(out, &permanent);
  return entry;
}

machine::Description effective(const Options& options, machine::Description machine) {
  machine.conflict_detection = options.conflict_detection;
  return machine;
}

}  // namespace

Engine::Engine(const Options& options, const machine::Description& machine, std::string machine_name)
    : options_(options),
      machine_(effective(options, machine)),
      machine_name_(std::move(machine_name)),
      ordering_(Cycles(options.run_ahead_cycles)),
      guest_code_([this](std::uint64_t pc) { return kernel_->executable_end(pc); },
                  [this](std::uint64_t pc) { return kernel_->is_writable(pc); }),
      translator_(cache_, guest_code_, machine_),
      random_(options.seed) {
  if (options_.record_forms) guest_code_.record_forms();
  the_engine = this;
  const unsigned cpus = options.cpus == 0 ? machine_.cpus() : options.cpus;
  std::vector<machine::Filter*> filters;
  for (unsigned i = 0; i < cpus; ++i) {
    cores_.push_back(new_core(i));
    cores_.back()->misprediction_cost = machine_.core.branch_misprediction_cycles * kTicksPerCycle
                                        << kBudgetShift;
    cores_.back()->branches.prepare();
    filters.push_back(&cores_.back()->filter);
  }
  pair_siblings();
  model_ = std::make_unique<machine::Model>(machine_, cpus, options.seed, filters.data(), *this);
  light_context.model = model_.get();
  light_context.ordering = &ordering_;
  light_context.shared_memory = &shared_memory_.ranges();
  light_context.fast_path = options.fast_path;
  if (options.profile) {
    profile_ = std::make_unique<EngineProfile>(*model_, *cores_.front(), profile_start(0));
    profile_descriptor_ = keep_descriptor(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  }
  install_stubs();
  install_fault_handlers();
}

Engine::~Engine() = default;

void Engine::pair_siblings() {
  constexpr std::uint64_t kBatch = 256, kPercent = 100;
  const unsigned apart = machine_.total_cores();
  for (Core* core : cores_) {
    core->sharing.ticks_per_256_instructions =
        kBatch * kTicksPerCycle * kPercent /
        (machine_.core.issue_width * machine_.core.sibling_issue_percent);
    const unsigned cpu = core->id.value;
    const unsigned other = cpu < apart ? cpu + apart : cpu - apart;
    if (other < cores_.size()) core->sharing.sibling = cores_[other];
  }
}

void Engine::install_stubs() {
  auto* table = reinterpret_cast<std::uint64_t*>(kStubTable);
  const auto set = [&](Stub stub, void (*entry)()) {
    table[static_cast<unsigned>(stub)] = reinterpret_cast<std::uint64_t>(entry);
  };
  const bool timed = profile_ != nullptr;
  enter_ = timed ? elision_profiled_enter : elision_enter;
  set(Stub::kSlowAccess, timed ? elision_timed_stub_slow_access : elision_stub_slow_access);
  set(Stub::kBudget, timed ? elision_timed_stub_budget : elision_stub_budget);
  set(Stub::kString, timed ? elision_timed_stub_string : elision_stub_string);
  set(Stub::kExit, timed ? elision_timed_stub_exit : elision_stub_exit);
  set(Stub::kFetch, timed ? elision_timed_stub_fetch : elision_stub_fetch);
  set(Stub::kBranch, elision_stub_branch);
  auto* exits = reinterpret_cast<Exit*>(kPermanentExits);
  Emitter out(CodeCache::permanent());
  pending_stub = emit_permanent_exit(out, exits[0], ExitReason::kPending);
  resolve_stub = emit_permanent_exit(out, exits[1], ExitReason::kResolve);
  attach_stub = emit_permanent_exit(out, exits[2], ExitReason::kAttach);
  fetch_fault_stub = emit_permanent_exit(out, exits[3], ExitReason::kFetchFault);
}

std::string Engine::run_program(CheckedProgram& program, std::vector<std::string> environment,
                                const MachineIdentity& identity, const ProcessOrigin& origin) {
  program_ = program.path;
  prepare_for_failure();
  kernel_ = make_kernel(*this, options_, identity, origin);
  Fallible<GuestState> loaded = kernel_->load(program, std::move(environment));
  if (!loaded) return loaded.failure().message;
  threads_.push_back(std::make_unique<EngineThread>());
  EngineThread& main = *threads_.back();
  main.thread.engine = &main;
  main.thread.state = loaded.value();
  kernel_->adopt_main(main.thread);
  claim_statistics();
  make_runnable(main, Cycles(0));
  run();
}

void Engine::run() noexcept {
  for (;;) {
    fire_timers();
    Core* core = ordering_.start_first();
    if (core == nullptr) {
      idle();
      continue;
    }
    do {
      enter_(core);
      core = current_core();
      handle_exit(*core);
      if (core->thread == nullptr || core->in_heap) break;
      if (core->access_made) {  // the instruction itself must follow before anybody else runs
        core->access_made = false;
        ordering_.start(*core);
        continue;
      }
      if (!ordering_.is_first(*core) || core->clock_ticks() >= ordering_.timer_ticks()) {
        ordering_.add(*core);
        break;
      }
      ordering_.start(*core);
    } while (true);
  }
}

/// No thread can run: the next thing that happens is a timer, or comes from outside.
void Engine::idle() {
  std::optional<Nanoseconds> timer;
  if (!timers_.empty()) timer = nanoseconds_of(Cycles(timers_.begin()->first.cycle));
  ordering_.stop_running();
  const bool possible = [&] {
    const ProfileScope scope(Work::kOutside);
    return kernel_->wait_for_event(timer);
  }();
  if (!ordering_.empty()) return;
  if (!timers_.empty()) {
    engine_time_ = std::max(engine_time_, Cycles(timers_.begin()->first.cycle));
    fire_timers();
    return;
  }
  if (possible) return;
  end_by_deadlock();
}

void Engine::fire_timers() {
  while (!timers_.empty()) {
    const auto next = timers_.begin();
    const Core* first = ordering_.first();
    const std::uint64_t reached = first != nullptr ? first->clock().value : engine_time_.value;
    if (next->first.cycle > reached) break;
    const auto what = std::move(next->second);
    engine_time_ = std::max(engine_time_, Cycles(next->first.cycle));
    timers_.erase(next);
    what();
  }
  refresh_timer();
}

void Engine::refresh_timer() {
  ordering_.set_timer(timers_.empty() ? kNever : Cycles(timers_.begin()->first.cycle));
}

TimerKey Engine::add_timer(Nanoseconds at, std::function<void()> what) {
  const TimerKey key{cycles_of(at).value, ++timers_made_};
  timers_.emplace(key, std::move(what));
  refresh_timer();
  return key;
}

void Engine::call_at(Nanoseconds at, std::function<void()> what) { add_timer(at, std::move(what)); }

void Engine::cancel_deadline(EngineThread& thread) {
  if (thread.deadline_number == 0) return;
  timers_.erase({thread.deadline_cycle, thread.deadline_number});
  thread.deadline_number = 0;
  refresh_timer();
}

/// Ordered exits take place only when the core is the earliest; until then the core waits in the heap
/// and leaves again through the pending stub.
bool Engine::must_wait(Core& core, Exit& exit) {
  core.account_for_sibling();
  if (ordering_.is_first(core)) {
    ordering_.note_event(core);
    return false;
  }
  wait_turn(core, exit);
  return true;
}

void Engine::wait_turn(Core& core, const Exit& exit) {
  core.deferred = exit;
  core.resume = pending_stub;
  core.state.rip = exit.pc;
}

/// Where a core goes on that has reached `pc`: its translation, or, if its first instruction cannot be
/// fetched, the exit that says so.
std::uint64_t Engine::host_address(std::uint64_t pc) {
  if (const Block* known = cache_.find(pc)) return known->host;
  if (cache_.nearly_full()) flush_code();
  const ProfileScope scope(Work::kTranslation);
  end_writers(pc);
  const bool conservative = guest_code_.flags_live_everywhere();
  const Block* block = translator_.translate(pc);
  if (guest_code_.flags_live_everywhere() != conservative) {
    flush_code();  // earlier translations assumed otherwise
    block = translator_.translate(pc);
  }
  if (block == nullptr) return fetch_fault_stub;
  last_translated_ = pc;
  kernel_->guard_code(block->pc, block->end_pc);
  return block->host;
}

/// Somebody is about to write to [begin, end). True if code had been translated from there, which is
/// translated anew when it is next run; cores that are within it come to its end first, as real ones may.
bool Engine::code_changes(std::uint64_t begin, std::uint64_t end) {
  const std::vector<std::uint64_t> pages = kernel_->lift_guards(begin, end);
  if (pages.empty()) return false;
  invalidate(pages);
  return true;
}

void Engine::invalidate(const std::vector<std::uint64_t>& pages) {
  guest_code_.forget();
  for (const std::uint64_t page : pages) {
    if (cache_.nearly_full()) flush_code();
    cache_.invalidate(page);
  }
}

/// False if the core does not go on there: the instruction at `pc` cannot be fetched, which is the next thing
/// that happens to the core, or what is to be executed ended its transaction.
bool Engine::continue_at(Core& core, std::uint64_t pc) {
  core.state.rip = pc;
  const bool inside = core.in_transaction != 0;
  const std::uint64_t host = host_address(pc);
  if (inside && core.in_transaction == 0) return false;  // rolled back, and has been told where to go on
  core.resume = host;
  return host != fetch_fault_stub;
}

/// The block at `pc` is about to be translated: transactions that have written to it end, the running core's
/// own too ("self-modifying code transactionally may also cause transactional aborts", SDM volume 1,
/// 17.3.9.2). So nothing is translated that a roll-back changes.
void Engine::end_writers(std::uint64_t pc) {
  constexpr std::uint64_t kLongest = 15, kLongestBlock = GuestCode::kMaxInstructions * kLongest;
  if (writers_of(pc, kLongestBlock).empty()) return;
  const DecodedBlock block = guest_code_.block(pc);
  const Instruction* last = block.instructions.empty() ? nullptr : &block.instructions.back();
  for (Core* core : writers_of(pc, last != nullptr ? last->pc + last->looked_at - pc : kLongest)) {
    if (core == ordering_.running()) {
      abort_transaction(*core, machine::AbortCause::kInstruction);
    } else {
      end_transaction(*core, machine::AbortCause::kConflict, kernel_time());
    }
  }
}

/// The cores whose transactions have written to the `bytes` from `begin`.
std::vector<Core*> Engine::writers_of(std::uint64_t begin, std::uint64_t bytes) {
  const std::uint64_t end = begin > ~bytes ? ~std::uint64_t{0} : begin + bytes;
  std::vector<Core*> writers;
  for (Core* core : cores_)
    if (core->in_transaction && core->undo.touches(begin, end)) writers.push_back(core);
  return writers;
}

/// The core's registers are loaded from its thread when it next runs; until then the kernel may edit
/// them.
void Engine::resume_from_thread(Core& core) {
  core.resume = attach_stub;
  core.x87_used = 0;
}

void Engine::flush_code() {
  cache_.flush();
  guest_code_.forget();
  for (Core* core : cores_) {
    if (core->resume != pending_stub && core->resume != attach_stub) core->resume = resolve_stub;
    core->checkpoint.resume = resolve_stub;
    core->deferred.next_host = 0;
    core->forget_misses();  // they name hooks
  }
}

void Engine::memory_changes() {
  const Cycles now = kernel_time();
  for (Core* core : cores_)
    if (core->in_transaction) end_transaction(*core, machine::AbortCause::kInterrupt, now);
}

/// Of a core that is not the running one, or whose registers nobody needs any more.
void Engine::end_transaction(Core& core, machine::AbortCause cause, Cycles now) {
  model_->abort(core.id, now, cause);
  roll_back(core, cause, 0, now + model_->abort_cost());
  if (core.in_heap) ordering_.moved(core);
}

void Engine::forget_code(std::uint64_t begin, std::uint64_t end) { invalidate(cache_.pages(begin, end)); }

void Engine::set_huge_pages(std::uint64_t begin, std::uint64_t end, bool huge) {
  model_->set_huge_pages(GuestAddr(begin), GuestAddr(end), huge);
}

void Engine::set_shared(std::uint64_t begin, std::uint64_t end, bool shared) {
  shared_memory_.set(begin, end, shared);
}

void Engine::handle_exit(Core& core) {
  Exit* exit = core.exit;
  if (exit->reason == ExitReason::kPending) exit = &core.deferred;
  switch (exit->reason) {
    case ExitReason::kLink:
      link(core, *exit);
      return;
    case ExitReason::kIndirect:
      indirect(core, *exit);
      return;
    case ExitReason::kAttach:
      restore(core);
      return;
    case ExitReason::kResolve:
      continue_at(core, core.state.rip);
      return;
    case ExitReason::kInterrupt:
      interrupt(core);
      return;
    case ExitReason::kHostFault:
      host_fault(core);
      return;
    case ExitReason::kFetchFault:
      fetch_fault(core);
      return;
    case ExitReason::kGeneralProtection:
      raise_fault(core, exit->pc, SIGSEGV, SI_KERNEL, 0);
      return;
    case ExitReason::kUndefined:
      raise_fault(core, exit->pc, SIGILL, ILL_ILLOPN, exit->pc);
      return;
    case ExitReason::kUnsupported:
      unsupported(core, *exit);
      return;
    case ExitReason::kAbortsTransaction:
      abort_transaction(core, machine::AbortCause::kInstruction);
      return;
    case ExitReason::kFence:
      fence(core, *exit);
      return;
    case ExitReason::kReadXcr:  // there is XCR0 alone
      if (static_cast<std::uint32_t>(core.state.gpr[kRcx]) != 0)
        return raise_fault(core, exit->pc, SIGSEGV, SI_KERNEL, 0);
      core.state.gpr[kRax] = kVirtualXcr0;
      core.state.gpr[kRdx] = 0;
      next_instruction(core, *exit);
      return;
    default:
      break;
  }
  if (must_wait(core, *exit)) return;
  switch (exit->reason) {
    case ExitReason::kSystemCall:
      system_call(core, *exit);
      return;
    case ExitReason::kCpuid:
      if (core.in_transaction) return abort_transaction(core, machine::AbortCause::kInstruction);
      virtual_cpuid(machine_, static_cast<unsigned>(cores_.size()), core.id.value, core.state.gpr);
      next_instruction(core, *exit);
      return;
    case ExitReason::kReadClock:
      read_clock(core, *exit);
      return;
    case ExitReason::kRandom:
      random_number(core, *exit);
      return;
    case ExitReason::kTransactionBegin:
      transaction_begin(core, *exit, false);
      return;
    case ExitReason::kAlwaysAbortBegin:
      transaction_begin(core, *exit, true);
      return;
    case ExitReason::kTransactionEnd:
      transaction_end(core, *exit);
      return;
    case ExitReason::kTransactionAbort:
      if (!core.in_transaction) return next_instruction(core, *exit);
      abort_transaction(core, machine::AbortCause::kExplicit, exit->detail);
      return;
    case ExitReason::kComplexAccess:
      complex_access(core, *exit);
      return;
    default:
      fail_check("exit for a reason that the engine does not know", static_cast<unsigned>(exit->reason));
  }
}

void Engine::begin_vfork(Thread& thread) {
  EngineThread& parent = of(thread);
  Core& core = *parent.core;
  memory_changes();  // no transaction of the parent's may be aborted while its cores are put aside
  if (core.sharing.active) share_core(core, false);  // the parent's cores stand still
  vforks_.push_back({&parent,
                     &core,
                     ordering_,
                     {},
                     {},
                     parent.wants_signals,
                     parent.on_core_since,
                     parent.instructions_at_start,
                     parent.busy_cycles,
                     parent.instructions});
  vforks_.back().queue.swap(queue_);
  vforks_.back().timers.swap(timers_);
  refresh_timer();
  ordering_.clear();
}

/// Whatever happened to the child, in the middle of a sleep for instance, its thread is the parent's again
/// and on the core where it called.
void Engine::end_vfork() {
  VforkParent saved = std::move(vforks_.back());
  vforks_.pop_back();
  ordering_ = saved.ordering;
  queue_.swap(saved.queue);
  timers_.swap(saved.timers);
  refresh_timer();
  EngineThread& parent = *saved.thread;
  parent.state = EngineThread::State::kOnCore;
  parent.core = saved.core;
  parent.wants_signals = saved.wants_signals;
  parent.on_timeout = nullptr;
  parent.deadline_number = 0;
  parent.on_core_since = saved.on_core_since;
  parent.instructions_at_start = saved.instructions_at_start;
  parent.busy_cycles = saved.busy_cycles;
  parent.instructions = saved.instructions;
  saved.core->thread = &parent.thread;
  saved.core->in_heap = false;
  if (statistics_number_ >= 0 && !in_vfork()) failure_context.statistics_file = statistics_file_.c_str();
  share_core(*saved.core, true);
}

void Engine::run_vfork_child() {
  Core& first = *vforks_.back().core;
  failure_context.statistics_file = "";  // the parent's
  restore(first);
  ordering_.add(first);
  for (;;) {
    Core* core = ordering_.start_first();
    if (core == nullptr) {
      idle();
      continue;
    }
    do {
      core->access_made = false;
      enter_(core);
      core = current_core();
      handle_exit(*core);
    } while (core->access_made);
    if (core->thread != nullptr && !core->in_heap) ordering_.add(*core);
  }
}

void Engine::keep_only(Thread& survivor) {
  EngineThread& thread = of(survivor);
  for (Core* core : cores_) {
    core->sharing.active = false;
    if (core->thread == &survivor) continue;
    if (core->in_transaction) {  // the fork copied memory in mid-transaction
      model_->abort(core->id, core->clock(), machine::AbortCause::kInterrupt);
      roll_back(*core, machine::AbortCause::kInterrupt, 0, core->clock());
    }
    core->thread = nullptr;
    core->in_heap = false;
  }
  vforks_.clear();
  ordering_.clear();
  queue_.clear();
  timers_.clear();
  refresh_timer();
  std::vector<std::unique_ptr<EngineThread>> kept;
  for (auto& each : threads_) {
    if (each.get() == &thread) kept.push_back(std::move(each));
  }
  thread.hold = false;
  threads_ = std::move(kept);
  ended_threads_.clear();
  statistics_number_ = -1;
  unsupported_instructions_.clear();
  claim_statistics();
  if (profile_ != nullptr) profile_->restart(profile_start(instructions()));
}

}  // namespace elision::vm
