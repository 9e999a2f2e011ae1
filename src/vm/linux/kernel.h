// SPDX-License-Identifier: Apache-2.0
// What Linux does for one guest process, as the engine calls it. In order:
//   check_program()       finds and checks the program; needs no engine (loader.h)
//   Kernel                once the engine's services answer
//   Kernel::load()        maps the program; the result is the first thread's registers
//   Kernel::adopt_main()  once the engine made that thread
// What the kernel asks of the engine is in interface/engine_services.h, with the rules for both directions.
#pragma once

#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vm/interface/engine_services.h"
#include "vm/interface/machine_identity.h"
#include "vm/interface/options.h"
#include "vm/linux/load/loader.h"
#include "vm/linux/process/call.h"
#include "vm/linux/process/guest_door.h"
#include "vm/linux/process/process.h"

namespace elision::vm {

struct SystemCall;

/// Installs host signal handlers: one kernel a host process.
class Kernel {
 public:
  Kernel(EngineServices& services, const Options& options, const MachineIdentity& identity,
         const ProcessOrigin& origin);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// Maps `program` and closes its files. `environment` is the caller's; LD_PRELOAD of the options is added
  /// here.
  Fallible<GuestState> load(CheckedProgram& program, std::vector<std::string> environment);
  /// Makes `thread` the process's first: gives it its number and the signal mask with which the host process
  /// was started.
  void adopt_main(Thread& thread);

  /// Executes the system call that `thread` stands at. Number and arguments are in its registers, state.rip
  /// points behind the instruction, and the engine has set RCX and R11 as SYSCALL does.
  SyscallOutcome system_call(Thread& thread);
  /// At a safe point: if an unblocked signal is pending, edits the state to enter its handler, or ends the
  /// process.
  void deliver_signals(Thread& thread);
  /// EngineServices::hold took effect: `thread` executes nothing more, and its state is exact.
  void held(Thread& thread);
  /// A synchronous fault at state.rip; thread.trap has the details. `info` is the host's, with the guest's
  /// address.
  void fault(Thread& thread, const siginfo_t& info);
  /// A limit of EngineServices::set_count_limits may be reached by `thread`. False: none is, and nothing has
  /// happened. In any case sets the next limits.
  bool count_reached(Thread& thread, const CountInterrupt& interrupt);
  /// Called when all threads are parked. Waits for the first host event (descriptor, signal, child), at most
  /// until the engine's next timer if `timer` is set. Returns false on a deadlock: no event can come.
  bool wait_for_event(std::optional<Nanoseconds> timer);
  /// Called now and then while threads run: completes parked calls whose host events have come. Does not
  /// block.
  void poll_events();

  /// End of the mapping that holds `address` if the guest may execute there, else 0.
  std::uint64_t executable_end(std::uint64_t address) const {
    return process_.memory.executable_end(address);
  }
  bool is_writable(std::uint64_t address) const { return process_.memory.is_writable(address); }
  /// Code was translated from [begin, end): the guest's writes there fault in the host until lift_guards().
  void guard_code(std::uint64_t begin, std::uint64_t end) { process_.memory.guard_code(begin, end); }
  /// Returns the pages of [begin, end) that were guarded.
  std::vector<std::uint64_t> lift_guards(std::uint64_t begin, std::uint64_t end) {
    return process_.memory.lift_guards(begin, end);
  }

  /// What the system call that `thread` stands at would do beyond the process, as outside_effects.h says.
  std::string outside_effect_of_call(Thread& thread);
  /// Why no copy of the process could run on by itself, in words that follow "the program"; empty: one could.
  /// For a process with Options::serves.
  std::string why_not_copied() const;
  /// In a copy of the process: takes its place in a run with `options`. Files that it reads become its own.
  void become_copy(const Options& options);
  /// Lets `thread` call the guest's function at `address` like a signal handler, with all signals blocked.
  /// The function ends by rt_sigreturn. False: there is no stack for it.
  bool call(Thread& thread, std::uint64_t address);
  const std::vector<std::string>& environment() const { return process_.environment; }
  const std::vector<std::string>& arguments() const { return process_.arguments; }

  /// The process's number in the guest.
  int process_id() const { return process_.ids.pid(); }
  /// The guest's mappings as its /proc/self/maps shows them.
  std::string memory_map() const { return process_.memory.describe(); }
  std::string thread_name(const Thread& thread) const { return thread.kernel->name; }
  /// The system call in which a parked thread waits.
  std::string waits_for(const Thread& thread) const;
  /// How often the process got ENOSYS, by the name of the system call.
  const std::map<std::string, std::uint64_t>& refused_calls() const { return process_.refused_calls; }

 private:
  Call call_of(Thread& thread, const SystemCall* row);
  SyscallOutcome handle(Call& call, const SystemCall& row);
  SyscallOutcome unknown_call(const Call& call);
  void complete_fetch_fault(Trap& trap, siginfo_t& info) const;
  std::string initial_name() const;
  void note_running(KernelThread& self);
  void wake_waiters(const Thread& caller, bool may_make_ready);
  void settle_signals(KernelThread& self);
  void inherit_signals(KernelThread& main);

  Process process_;
  ProcessOrigin origin_;
  ProcessDoor door_;
  unsigned calls_since_poll_ = 0;
};

}  // namespace elision::vm
