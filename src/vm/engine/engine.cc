// SPDX-License-Identifier: Apache-2.0
// Set-up, the run loop, and services that concern several parts of the engine.
#include "vm/engine/engine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "profile/names.h"
#include "vm/cpu/helpers.h"
#include "vm/cpu/stubs.h"
#include "vm/engine/host_faults.h"
#include "vm/host/failure.h"
#include "vm/host/reserved_descriptors.h"
#include "vm/report/profile_report.h"

namespace elision::vm {

Engine* the_engine = nullptr;

namespace {

/// In fast mode no access tells other CPUs what this one does: only how long a CPU runs before another one
/// does. Spinning threads spend this time in vain.
constexpr std::uint64_t kFastRunAheadCycles = 2000;

machine::Description effective(const Options& options, machine::Description machine) {
  machine.conflict_detection = options.conflict_detection;
  return machine;
}

/// Whether `options` let a process begin in fast mode.
bool begins_fast(const Options& options) { return options.fast || options.region.start.is_set(); }

Cycles run_ahead_of(const Options& options, bool fast) {
  return Cycles(fast ? kFastRunAheadCycles : options.run_ahead_cycles);
}

std::vector<machine::Filter*> filters_of(const std::vector<Cpu*>& cpus) {
  std::vector<machine::Filter*> filters;
  for (Cpu* cpu : cpus) filters.push_back(&cpu->filter);
  return filters;
}

/// True if an exit for `reason` neither reads or writes the program's memory for it nor orders its accesses.
/// Such exits depend on what is watched and on the state of the code cache, so they must change nothing.
bool leaves_memory_alone(ExitReason reason) {
  switch (reason) {
    case ExitReason::kLink:
    case ExitReason::kIndirect:
    case ExitReason::kResolve:
    case ExitReason::kMark:
    case ExitReason::kPartMarker:
    case ExitReason::kWatchedCode:
    case ExitReason::kReadXcr:
      return true;
    default:
      return false;
  }
}

}  // namespace

Engine::Engine(const Options& options, const machine::Description& machine, std::string machine_name)
    : options_(options),
      context_{effective(options, machine), Ordering(run_ahead_of(options, begins_fast(options)))},
      transactions_(context_),
      code_(context_, transactions_, [this](const std::string& why) { refuse_region(why); }),
      timers_(context_),
      region_(options_.region, context_, timers_, code_),
      scheduler_(context_, timers_, code_),
      statistics_(options_, std::move(machine_name), context_, scheduler_, code_),
      random_(options.seed) {
  if (options_.record_forms) code_.record_forms();
  context_.fast = begins_fast(options_);
  context_.watches_part_markers = options_.region.uses_markers();
  the_engine = this;
  const unsigned cpus = options.cpus == 0 ? context_.machine.topology.cpus() : options.cpus;
  make_cpus(context_, cpus);
  context_.model = std::make_unique<machine::Model>(context_.machine, cpus, options.seed,
                                                    filters_of(context_.cpus).data(), remote_aborts_);
  if (!context_.model->has_memory()) throw std::bad_alloc();
  if (options_.lock_times) keep_account();
  helper_context.model = context_.model.get();
  helper_context.ordering = &context_.ordering;
  context_.ordering.set_arrivals(context_.model->next_arrival());
  helper_context.shared_memory = &shared_memory_.ranges();
  helper_context.cpus = context_.cpus.data();
  helper_context.cpu_count = context_.cpus.size();
  helper_context.fast_path = options.fast_path;
  helper_context.most_logged_lines = context_.machine.l1d.size_kb * 1024 / kLineBytes;
  for (Cpu* cpu : context_.cpus) cpu->detail = context_.fast ? Detail::kCounted : Detail::kTimed;
  if (options.profile)
    profile_ = std::make_unique<EngineProfile>(*context_.model, *context_.cpus.front(), profile_start(0));
  if (options.profile || options.region.is_set())
    last_words_ = reserve_descriptor(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!options.serves.empty()) snapshot_server_ = std::make_unique<SnapshotServer>(options.serves);
  enter_ = profile_ != nullptr ? elision_profiled_enter : elision_enter;
  code_.install_stubs(profile_ != nullptr);
  install_fault_handlers();
}

Engine::~Engine() = default;

std::string Engine::run_program(CheckedProgram& program, std::vector<std::string> environment,
                                const MachineIdentity& identity, const ProcessOrigin& origin) {
  program_ = program.path;
  prepare_for_failure();
  kernel_ = std::make_unique<Kernel>(*this, options_, identity, origin);
  context_.kernel = kernel_.get();
  if (snapshot_server_ != nullptr) environment_at_start_ = environment;
  Fallible<GuestState> loaded = kernel_->load(program, std::move(environment));
  if (!loaded) return loaded.failure().message;
  if (snapshot_server_ != nullptr) keep_output();
  EngineThread& main = scheduler_.add(loaded.value());
  kernel_->adopt_main(main.thread);
  if (account_ != nullptr && region_.phase() == RegionControl::Phase::kCounted) begin_account();
  statistics_.claim();
  region_.begin(origin.start_time);
  scheduler_.make_runnable(main, Cycles(0));
  run();
}

/// Runs translated code of `cpu` and of CPUs after it, up to an exit. What follows sees all stores.
void Engine::enter(Cpu* cpu) {
  enter_(cpu);
  show_new();
  if (!leaves_memory_alone(current_cpu()->exit->reason)) context_.model->forget_unseen_stores();
}

void Engine::run() noexcept {
  Ordering& ordering = context_.ordering;
  for (;;) {
    timers_.fire();
    region_.look();
    while (region_.change_is_due()) change_phase();
    let_requests_arrive();
    Cpu* cpu = ordering.start_first();
    if (cpu == nullptr) {
      idle();
      continue;
    }
    do {
      enter(cpu);
      cpu = current_cpu();
      handle_exit(*cpu);
      if (cpu->thread == nullptr || cpu->in_heap) break;
      if (cpu->access_made) {  // the instruction must follow before another CPU runs
        cpu->access_made = false;
        ordering.start(*cpu);
        continue;
      }
      if (cpu->detail == Detail::kLogged) continue;  // no other CPU runs before it ends
      if (!ordering.is_first(*cpu) || cpu->clock_ticks() >= ordering.timer_ticks() ||
          region_.change_is_due()) {
        ordering.add(*cpu);
        break;
      }
      ordering.start(*cpu);
    } while (true);
  }
}

/// No thread can run: waits for the next timer or for an event from outside.
void Engine::idle() {
  std::optional<Nanoseconds> timer;
  if (const auto first = timers_.first()) timer = context_.nanoseconds_of(*first);
  context_.ordering.stop_running();
  const bool possible = [&] {
    const ProfileScope scope(Work::kOutside);
    return kernel_->wait_for_event(timer);
  }();
  if (!context_.ordering.empty()) return;
  if (const auto first = timers_.first()) {
    context_.idle_time = std::max(context_.idle_time, *first);
    timers_.fire();
    return;
  }
  if (possible) return;
  end_by_deadlock();
}

/// An ordered exit is handled only when its CPU is the earliest. If it is not, the CPU waits in the heap,
/// leaves again through the pending stub, and this returns true.
bool Engine::must_wait(Cpu& cpu, Exit& exit) {
  if (cpu.detail == Detail::kLogged) return false;
  cpu.account_for_sibling();
  if (context_.ordering.is_first(cpu)) {
    context_.ordering.note_event(cpu);
    return false;
  }
  code_.repeat_in_order(cpu, exit);
  return true;
}

void Engine::handle_exit(Cpu& cpu) {
  Exit* exit = cpu.exit;
  if (exit->reason == ExitReason::kPending) exit = &cpu.deferred;
  switch (exit->reason) {
    case ExitReason::kLink:
      code_.link(cpu, *exit);
      return;
    case ExitReason::kIndirect:
      code_.indirect(cpu, *exit);
      return;
    case ExitReason::kAttach:
      scheduler_.restore(cpu);
      return;
    case ExitReason::kResolve:
      code_.continue_at(cpu, cpu.state.rip);
      return;
    case ExitReason::kInterrupt:
      interrupt(cpu);
      return;
    case ExitReason::kHostFault:
      host_fault(cpu);
      return;
    case ExitReason::kFetchFault:
      fetch_fault(cpu);
      return;
    case ExitReason::kGeneralProtection:
      raise_fault(cpu, exit->pc, SIGSEGV, SI_KERNEL, 0);
      return;
    case ExitReason::kUndefined:
      raise_fault(cpu, exit->pc, SIGILL, ILL_ILLOPN, exit->pc);
      return;
    case ExitReason::kUnsupported:
      unsupported(cpu, *exit);
      return;
    case ExitReason::kAbortsTransaction:
      transactions_.abort(cpu, machine::HardwareAbort::kInstruction);
      return;
    case ExitReason::kFence:
      fence(cpu, *exit);
      return;
    case ExitReason::kMark:
      mark(cpu, *exit);
      return;
    case ExitReason::kPartMarker:
      part_marker(cpu, *exit);
      return;
    case ExitReason::kWatchedCode:
      watched_code(cpu);
      return;
    case ExitReason::kReadXcr:
      read_xcr(cpu, *exit);
      return;
    default:
      take_off_overlap(cpu, exit->reason);
      if (!must_wait(cpu, *exit)) handle_ordered_exit(cpu, *exit);
  }
}

/// At the begin of a transaction: takes the work off the clock that the core did during the commit before,
/// but not below the events of other CPUs.
void Engine::take_off_overlap(Cpu& cpu, ExitReason reason) {
  if (reason != ExitReason::kTransactionBegin && reason != ExitReason::kAlwaysAbortBegin) return;
  if (context_.fast || cpu.in_transaction || cpu.sharing.active) return;
  const Cycles begin =
      std::max(context_.model->begin_of_work(cpu.id, cpu.clock()), context_.ordering.latest_event());
  if (begin < cpu.clock()) cpu.rewind_to(begin);
}

/// `cpu` is the earliest CPU.
void Engine::handle_ordered_exit(Cpu& cpu, Exit& exit) {
  switch (exit.reason) {
    case ExitReason::kSystemCall:
      system_call(cpu, exit);
      return;
    case ExitReason::kCpuid:
      cpuid(cpu, exit);
      return;
    case ExitReason::kReadClock:
      read_clock(cpu, exit);
      return;
    case ExitReason::kRandom:
      random_number(cpu, exit);
      return;
    case ExitReason::kTransactionBegin:
      transaction_begin(cpu, exit, false);
      return;
    case ExitReason::kAlwaysAbortBegin:
      transaction_begin(cpu, exit, true);
      return;
    case ExitReason::kTransactionEnd:
      transaction_end(cpu, exit);
      return;
    case ExitReason::kTransactionAbort:
      if (!cpu.in_transaction) return code_.next_instruction(cpu, exit);
      transactions_.abort(cpu, machine::HardwareAbort::kExplicit, exit.detail);
      return;
    case ExitReason::kComplexAccess:
      complex_access(cpu, exit);
      return;
    default:
      fail_check("unknown exit reason", static_cast<unsigned>(exit.reason));
  }
}

/// Before CPUs run, or before their code is translated anew.
void Engine::keep_account() {
  account_ = std::make_unique<profile::Account>();
  context_.account = account_.get();
  for (Cpu* cpu : context_.cpus) {
    conflict_evidence_.push_back(std::make_unique<ConflictEvidence>());
    cpu->evidence = conflict_evidence_.back().get();
    if (cpu->thread != nullptr) cpu->evidence->held = &Scheduler::of(*cpu->thread).account.held;
  }
}

/// The account begins anew with the threads alive.
void Engine::begin_account() {
  const std::uint64_t now = context_.kernel_time().value;
  *account_ = profile::Account(now);
  account_is_open_ = true;
  waits_begun_.clear();
  path_samples_.clear();
  for (const auto& evidence : conflict_evidence_) {
    evidence->note.is_new = false;
    evidence->waits.clear();
  }
  account_->threads_change(static_cast<unsigned>(scheduler_.live().size()), now);
  for (const auto& thread : scheduler_.live()) account_->begin(thread->account, now, thread->parked.value);
}

/// Nothing that happens later is in it.
void Engine::close_account() {
  const Cycles now = context_.kernel_time();
  for (Cpu* cpu : context_.cpus) settle_conflict(*cpu);
  for (const auto& thread : scheduler_.live()) {
    std::uint64_t parked = thread->parked.value;
    if (thread->state == EngineThread::State::kParked && now > thread->parked_since)
      parked += now.value - thread->parked_since.value;
    account_->end(thread->account, thread->cpu != nullptr ? thread->cpu->clock().value : now.value, parked);
  }
  account_is_open_ = false;
  closed_at_ = now;
}

void Engine::end_part() {
  transactions_.end_all();
  statistics_.end_region();
  if (account_ != nullptr) close_account();
}

/// The run enters its next phase (region_control.h).
void Engine::change_phase() {
  if (snapshot_server_ != nullptr) return offer_snapshot();
  switch (region_.advance()) {
    case RegionControl::Phase::kBefore:  // of the next part
      end_part();
      write_statistics(std::nullopt, false, nullptr);
      statistics_.next_part();
      set_fast(true);
      return;
    case RegionControl::Phase::kWarmUp:
      if (context_.fast) set_fast(false);
      return;
    case RegionControl::Phase::kCounted:
      if (context_.fast) set_fast(false);
      scheduler_.restart_counts();
      statistics_.begin_region(region_.now());
      if (account_ != nullptr) begin_account();
      return;
    case RegionControl::Phase::kAfter:
      end_part();
      if (options_.region.ends_process) end_with_region();
      set_fast(true);
      return;
  }
}

/// Switches between the timing model and fast mode. No CPU is running, and none is in a transaction. In fast
/// mode the model sees no access: its caches are then as they were before, and every page counts as touched.
void Engine::set_fast(bool fast) {
  context_.fast = fast;
  context_.model->forget_tries();
  if (!fast) {
    for (const profile::Mapping& mapping : profile::mappings_of(kernel_->memory_map()))
      context_.model->set_untouched(GuestAddr(mapping.begin), GuestAddr(mapping.end), false);
  }
  for (Cpu* cpu : context_.cpus) {
    cpu->detail = fast ? Detail::kCounted : Detail::kTimed;
    cpu->waits_for_line = false;
    cpu->asked_ticks = 0;
  }
  code_.restart_cpus();
  scheduler_.share_cores();
  context_.ordering.set_run_ahead(run_ahead_of(options_, fast));
  context_.ordering.rebuild();
}

Thread& Engine::create_thread(const GuestState& state, Thread& creator) {
  Thread& thread = scheduler_.create(state, creator);
  region_.thread_started();
  if (account_is_open_) {
    EngineThread& created = Scheduler::of(thread);
    account_->threads_change(static_cast<unsigned>(scheduler_.live().size()), context_.kernel_time().value);
    account_->begin(created.account, created.started.value, 0);
  }
  return thread;
}

void Engine::end_thread(Thread& thread) {
  const Cycles now = context_.kernel_time();
  if (account_is_open_)
    account_->end(Scheduler::of(thread).account, now.value, Scheduler::of(thread).parked.value);
  scheduler_.end(thread);
  if (account_is_open_) account_->threads_change(static_cast<unsigned>(scheduler_.live().size()), now.value);
}

std::vector<Thread*> Engine::threads() {
  std::vector<Thread*> all;
  for (const auto& thread : scheduler_.live()) all.push_back(&thread->thread);
  return all;
}

void Engine::set_shared(std::uint64_t begin, std::uint64_t end, bool shared) {
  shared_memory_.set(begin, end, shared);
  const SharedRanges& all = shared_memory_.ranges();
  const std::uint64_t first = all.count == 0 ? 0 : all.ranges[0].begin - kLineBytes;
  for (Cpu* cpu : context_.cpus) {
    cpu->shared_begin = first;
    cpu->shared_bytes = all.count == 0 ? 0 : all.ranges[all.count - 1].end - first;
  }
}

void Engine::end_conflicting(std::uint64_t address, std::uint64_t size, bool write) {
  if (size == 0) return;
  const std::uint64_t last = address + size - 1;
  if (write) code_.code_changes(address, last + 1);
  if (context_.fast) return;  // no other CPU is in a transaction
  context_.model->end_conflicting(LineAddr(address >> kLineShift), LineAddr(last >> kLineShift), write,
                                  context_.kernel_time());
}

void Engine::prepare_filling(std::uint64_t address, std::uint64_t size) {
  if (size == 0) return;
  code_.code_changes(address, address + size);
  end_conflicting(address, size, false);
}

void Engine::host_access(Thread* thread, std::uint64_t address, std::uint64_t size, bool write) {
  end_conflicting(address, size, write);
  Cpu* cpu = thread != nullptr ? Scheduler::of(*thread).cpu : nullptr;
  if (size == 0 || cpu == nullptr || context_.fast || scheduler_.live().size() < 2) return;
  constexpr std::uint64_t kMostTimed = 1u << 20;
  const auto kind = write ? machine::AccessKind::kStore : machine::AccessKind::kLoad;
  const std::uint64_t last = (address + std::min(size, kMostTimed) - 1) >> kLineShift;
  for (std::uint64_t line = address >> kLineShift; line <= last; ++line) {
    for (;;) {
      machine::Request request{cpu->id, LineAddr(line), kind, cpu->clock(), Cycles(0), options_.fast_path};
      request.least = machine::Reach::kMachine;  // a system call is an ordered exit
      const machine::Reply reply = context_.model->access(request);
      cpu->advance_to(reply.clock);
      if (reply.verdict != machine::Reply::Verdict::kWait) break;
    }
  }
  if (cpu->in_heap) context_.ordering.moved(*cpu);  // the call has moved the thread to another CPU
}

void Engine::begin_vfork(Thread& parent) {
  transactions_.end_all();  // the parent's CPUs must not be in a transaction while they are put aside
  scheduler_.begin_vfork(parent);
}

void Engine::end_vfork() {
  scheduler_.end_vfork();
  if (!scheduler_.in_vfork()) statistics_.announce_to_failure(true);
}

void Engine::run_vfork_child() {
  statistics_.announce_to_failure(false);  // the file is the parent's
  scheduler_.start_vfork_child();
  for (;;) {
    let_requests_arrive();
    Cpu* cpu = context_.ordering.start_first();
    if (cpu == nullptr) {
      idle();
      continue;
    }
    do {
      cpu->access_made = false;
      enter(cpu);
      cpu = current_cpu();
      handle_exit(*cpu);
    } while (cpu->access_made);
    if (cpu->thread != nullptr && !cpu->in_heap) context_.ordering.add(*cpu);
  }
}

void Engine::keep_only(Thread& survivor) {
  for (Cpu* cpu : context_.cpus) {
    if (cpu->thread == &survivor || !cpu->in_transaction) continue;
    context_.model->abort(cpu->id, cpu->clock(), machine::HardwareAbort::kInterrupt);
    roll_back(*cpu, machine::HardwareAbort::kInterrupt, 0,
              cpu->clock());  // the fork copied the transaction's stores
  }
  scheduler_.keep_only(Scheduler::of(survivor));
  region_.forked();
  if (account_ != nullptr) begin_account();  // without what the parent did
  if (region_.phase() == RegionControl::Phase::kAfter)
    statistics_.count_nothing();  // the part was the parent's
  if (account_ != nullptr && region_.phase() != RegionControl::Phase::kCounted) close_account();
  if (profile_ == nullptr)
    close_reserved_descriptor(std::exchange(last_words_, -1));  // programs may wait until it is closed
  statistics_.claim();
  if (profile_ != nullptr) profile_->restart(profile_start(context_.instructions()));
}

}  // namespace elision::vm
