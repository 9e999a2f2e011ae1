// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/kernel.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <sstream>

#include "vm/host/failure.h"
#include "vm/host/guest_memory.h"
#include "vm/host/host_limits.h"
#include "vm/host/host_signals.h"
#include "vm/host/reserved_descriptors.h"
#include "vm/linux/events/process_events.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/signals/idle.h"
#include "vm/linux/signals/signal_delivery.h"
#include "vm/linux/signals/signal_frame.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/companions.h"
#include "vm/linux/syscalls/limit_calls.h"
#include "vm/linux/syscalls/outside_effects.h"
#include "vm/linux/syscalls/policy_calls.h"
#include "vm/linux/syscalls/system_calls.h"
#include "vm/linux/syscalls/thread_calls.h"
#include "vm/linux/syscalls/trace_calls.h"
#include "vm/linux/syscalls/vsyscall.h"

namespace elision::vm {
namespace {

constexpr const char* kPreloadVariable = "LD_PRELOAD=";

/// The runtime of GCC's AddressSanitizer, or of clang's with -shared-libasan.
bool is_address_sanitizer(const std::string& object) {
  const std::string name = object.substr(object.rfind('/') + 1);
  return name.starts_with("libasan.so") || name.starts_with("libclang_rt.asan");
}

/// The AddressSanitizer runtime that a program is linked with, or an empty text. It must come first in
/// LD_PRELOAD.
std::string address_sanitizer_of(const ElfImage& image) {
  for (const std::string& name : needed_objects(image))
    if (is_address_sanitizer(name)) return name;
  return "";
}

/// The objects in LD_PRELOAD that are not of this virtual machine.
std::vector<std::string> own_preload(const std::string& value, const std::vector<std::string>& objects) {
  std::vector<std::string> parts;
  std::istringstream words(value);
  for (std::string part; std::getline(words, part, ':');)
    if (!part.empty()) parts.push_back(part);
  const auto ours = std::search(parts.begin(), parts.end(), objects.begin(), objects.end());
  if (ours != parts.end() && std::all_of(parts.begin(), ours, is_address_sanitizer))
    parts.erase(parts.begin(), ours + static_cast<std::ptrdiff_t>(objects.size()));
  return parts;
}

/// The environment with `first` (if not empty) and `objects` in front of the program's own LD_PRELOAD.
/// Replaces those that an earlier program was given.
std::vector<std::string> with_preload(std::vector<std::string> environment,
                                      const std::vector<std::string>& objects, const std::string& first) {
  if (objects.empty()) return environment;
  const auto found = std::find_if(environment.begin(), environment.end(), [](const std::string& entry) {
    return entry.starts_with(kPreloadVariable);
  });
  std::vector<std::string> all;
  if (!first.empty()) all.push_back(first);
  all.insert(all.end(), objects.begin(), objects.end());
  if (found != environment.end())
    for (std::string& part : own_preload(found->substr(std::strlen(kPreloadVariable)), objects))
      all.push_back(std::move(part));
  std::string value = kPreloadVariable;
  for (const std::string& object : all) value += (value.back() == '=' ? "" : ":") + object;
  if (found != environment.end()) {
    *found = value;
  } else {
    environment.push_back(value);
  }
  return environment;
}

constexpr unsigned kCallsBetweenPolls = 64;

std::string name_of(std::uint64_t number) {
  const SystemCall* const row = find_system_call(number);
  return row != nullptr ? row->name : "number " + std::to_string(number);
}

}  // namespace

Kernel::Kernel(EngineServices& services, const Options& options, const MachineIdentity& identity,
               const ProcessOrigin& origin)
    : process_(services, options, identity, origin), origin_(origin), door_(process_) {
  process_.events = std::make_shared<ProcessEvents>(process_, origin.event_board);
  set_guest_door(&door_);
}

Kernel::~Kernel() { set_guest_door(nullptr); }

Fallible<GuestState> Kernel::load(CheckedProgram& program, std::vector<std::string> environment) {
  process_.environment =
      with_preload(std::move(environment), process_.options.preload, address_sanitizer_of(program.image));
  auto loaded = load_program(process_.memory, process_.services, program, process_.environment,
                             process_.identity, process_.limits);
  if (!loaded) return loaded.failure();
  program.image.file = OpenFile();
  program.interpreter.clear();
  if (!process_.options.serves.empty()) {
    const std::vector<int> inherited = open_descriptors();
    process_.inherited_descriptors.insert(inherited.begin(), inherited.end());
  }
  process_.executable = loaded->executable;
  process_.arguments = loaded->arguments;
  prctl(PR_SET_NAME, initial_name().c_str());
  process_.auxiliary_vector = loaded->auxiliary_vector;
  GuestState state;
  state.rip = loaded->entry;
  state.gpr[kRsp] = loaded->stack_pointer;
  return state;
}

void Kernel::adopt_main(Thread& thread) {
  auto kernel = std::make_unique<KernelThread>(thread);
  thread.kernel = kernel.get();
  thread.tid = process_.leader_tid = process_.ids.next_tid();
  std::copy(std::begin(origin_.affinity), std::end(origin_.affinity), thread.affinity);
  kernel->name = initial_name();
  kernel->scheduling = origin_.scheduling;
  // Other processes see the nice value of the process's first thread, even after another thread called
  // execve.
  show_nice(origin_.scheduling.nice);
  process_.threads.push_back(std::move(kernel));
  inherit_signals(*process_.threads.front());
  bind_host_limits(process_.limits);
  watch_cpu_limit(process_);
  process_.events->program_starts(*process_.threads.front(), origin_.event_slots);
  publish_all(process_);
}

Call Kernel::call_of(Thread& thread, const SystemCall* row) {
  const auto& registers = thread.state.gpr;
  return {
      process_,
      *thread.kernel,
      registers[kRax],
      {registers[kRdi], registers[kRsi], registers[kRdx], registers[kR10], registers[kR8], registers[kR9]},
      row != nullptr ? row->effects : 0};
}

std::string Kernel::outside_effect_of_call(Thread& thread) {
  const ActingThread acting(process_, thread);
  return outside_effect(call_of(thread, find_system_call(thread.state.gpr[kRax])));
}

SyscallOutcome Kernel::system_call(Thread& thread) {
  KernelThread& self = *thread.kernel;
  const auto& registers = thread.state.gpr;
  const SystemCall* const row = find_system_call(registers[kRax]);
  Call call = call_of(thread, row);
  note_running(self);
  self.call_number = call.number;
  const ActingThread acting(process_, thread);
  process_.events->look();
  // A thread that has waited longer takes an event first: this call must not find it.
  if (call.states(Effects::kAsksForReadiness) && process_.has_several_runners() &&
      any_descriptor_waits(process_))
    poll_waits(process_, false, 0, &thread);
  const SyscallOutcome outcome = row != nullptr ? handle(call, *row) : unknown_call(call);
  publish_regions(process_);
  if (host_signal_recorded() && outcome != SyscallOutcome::kExited)
    take_in_host_signals(process_, outcome == SyscallOutcome::kReturn ? &self : nullptr);
  if (outcome != SyscallOutcome::kExited) wake_waiters(thread, call.states(Effects::kMayMakeReady));
  if (outcome == SyscallOutcome::kReturn && registers[kRax] == static_cast<std::uint64_t>(-ENOSYS))
    ++process_.refused_calls[name_of(call.number)];
  if (outcome == SyscallOutcome::kReturn || outcome == SyscallOutcome::kSigreturn) settle_signals(self);
  return outcome;
}

void Kernel::deliver_signals(Thread& thread) {
  const ActingThread acting(process_, thread);
  deliver_pending(process_, *thread.kernel, std::nullopt);
}

bool Kernel::count_reached(Thread& thread, const CountInterrupt& interrupt) {
  const ActingThread acting(process_, thread);
  std::vector<EventSignal> signals;
  const bool any = process_.events->overflow(*thread.kernel, interrupt, signals);
  for (const EventSignal& signal : signals) {
    KernelThread* const owner = find_thread(process_, signal.thread);
    if (signal.to_process) {
      post_to_process(process_, signal.info);
    } else if (owner != nullptr) {
      post_to_thread(process_, *owner, signal.info);
    }
  }
  return any;
}

void Kernel::held(Thread& thread) { note_held(process_, *thread.kernel); }

void Kernel::fault(Thread& thread, const siginfo_t& info) {
  const ActingThread acting(process_, thread);
  const bool fetch = (thread.trap.error & Trap::kFetch) != 0 && info.si_signo == SIGSEGV;
  if (fetch && make_vsyscall(process_, *thread.kernel)) return;
  siginfo_t exact = info;
  if (info.si_signo == SIGSEGV && info.si_code == SEGV_MAPERR && (thread.trap.error & Trap::kFetch) != 0)
    complete_fetch_fault(thread.trap, exact);
  force_signal(process_, *thread.kernel, exact);
}

bool Kernel::wait_for_event(std::optional<Nanoseconds> timer) { return wait_while_idle(process_, timer); }

void Kernel::poll_events() {
  process_.cpu_timers.tick();
  process_.events->look();
  process_.events->settle();
  if (!process_.ids.is_root()) publish_cpu_time(process_);
  take_in_host_signals(process_, nullptr);
  poll_waits(process_, false, 0);
}

std::string Kernel::waits_for(const Thread& thread) const { return name_of(thread.kernel->call_number); }

std::string Kernel::why_not_copied() const { return why_descriptors_are_shared(process_); }

void Kernel::become_copy(const Options& options) {
  process_.options = options;
  process_.ids.start_copy();
  reopen_files(process_);
}

bool Kernel::call(Thread& thread, std::uint64_t address) {
  KernelThread& self = *thread.kernel;
  const ActingThread acting(process_, thread);
  FrameRequest request{};
  request.action.handler = address;
  request.saved_mask = self.blocked;
  request.signal_stack = self.signal_stack;
  if (!enter_handler(thread.state, request)) return false;
  set_blocked(process_, self, kAllSignals);
  return true;
}

SyscallOutcome Kernel::handle(Call& call, const SystemCall& row) {
  const std::uint64_t ended_before = process_.memory.ended_transactions();
  const bool by_companion = call.self.companion != nullptr && row.companion != nullptr;
  const SyscallOutcome outcome = (by_companion ? row.companion : row.handler)(call);
  check(call.states(Effects::kEndsTransactions) || process_.memory.ended_transactions() == ended_before,
        "a system call took memory away, but its row does not state kEndsTransactions", call.number);
  return outcome;
}

/// The engine only knows that it must not execute there. Adds whether memory is mapped; a page that is
/// present says so (arch/x86/mm/fault.c), memory of the engine too.
void Kernel::complete_fetch_fault(Trap& trap, siginfo_t& info) const {
  const auto address = reinterpret_cast<std::uint64_t>(info.si_addr);
  if (const auto region = process_.memory.regions().find(address)) {
    const bool executable = region->second.properties.executable;  // but has no memory behind it
    info.si_signo = executable ? SIGBUS : SIGSEGV;
    info.si_code = executable ? static_cast<int>(BUS_ADRERR) : static_cast<int>(SEGV_ACCERR);
  }
  char byte;
  const bool readable = copy_guest_bytes(&byte, reinterpret_cast<const void*>(address), 1);
  if (address >= kAddressLimit || readable) trap.error |= Trap::kPresent;
}

/// The initial name of the first thread.
std::string Kernel::initial_name() const {
  return process_.executable.substr(process_.executable.rfind('/') + 1).substr(0, kThreadNameBytes - 1);
}

/// A thread that makes a call runs again: its wait counts no CPU time.
void Kernel::note_running(KernelThread& self) {
  if (!self.waits_since) return;
  self.waited += process_.services.now(self.thread) - *self.waits_since;
  self.waits_since.reset();
}

/// Threads that wait for a descriptor that this call made ready continue at its time, not at the next timer
/// tick. Every few calls, waits are tried in any case: a thread that only makes calls must not hold up those
/// that wait for other processes.
void Kernel::wake_waiters(const Thread& caller, bool may_make_ready) {
  if (!process_.has_several_runners()) return;
  const bool due = ++calls_since_poll_ >= kCallsBetweenPolls;
  if (!due && !may_make_ready) return;
  if (due) calls_since_poll_ = 0;
  if (due || any_descriptor_waits(process_)) poll_waits(process_, false, 0, &caller);
}

/// After a call: delivers the caller's signals at once. Without any, restores a mask that was replaced for
/// the call.
void Kernel::settle_signals(KernelThread& self) {
  if (has_deliverable(process_, self)) {
    process_.services.request_signal_delivery(self.thread);
  } else if (self.saved_blocked) {
    set_blocked(process_, self, *std::exchange(self.saved_blocked, std::nullopt));
  }
}

/// Mask and ignored signals survive execve; all else starts with defaults.
void Kernel::inherit_signals(KernelThread& main) {
  main.blocked = origin_.root_host_pid != 0 ? SignalSet{origin_.blocked_signals} : get_host_mask();
  for (int signal = 1; signal <= kSignalCount; ++signal) {
    if (is_synchronous(signal)) continue;
    if (host_ignores(signal)) process_.actions[signal].handler = reinterpret_cast<std::uint64_t>(SIG_IGN);
    mirror_action(process_, signal);
  }
  const SignalSet blocked = main.blocked;
  set_host_mask({});
  main.blocked = {};
  set_blocked(process_, main, blocked);
}

/// Reports each unknown number once.
SyscallOutcome Kernel::unknown_call(const Call& call) {
  if (process_.named_calls.insert(call.number).second) {
    std::fprintf(stderr, "elision vm: system call %llu (unknown) at 0x%llx is not supported\n",
                 static_cast<unsigned long long>(call.number),
                 static_cast<unsigned long long>(call.thread().state.rip - 2));
  }
  return call.finish(-ENOSYS);
}

}  // namespace elision::vm
