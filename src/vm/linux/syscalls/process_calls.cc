// SPDX-License-Identifier: Apache-2.0
// fork is the host's. vfork (and clone with CLONE_VM | CLONE_VFORK, which posix_spawn uses) is the host's
// too, with shared memory: the child runs the engine on a host stack of its own while the parent sleeps in
// the host; then the parent restores its own state. execve starts the engine again with the guest's program
// (hand_over.h).
#include "vm/linux/syscalls/process_calls.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/host/host_limits.h"
#include "vm/host/host_signals.h"
#include "vm/host/reserved_descriptors.h"
#include "vm/linux/events/process_events.h"
#include "vm/linux/load/hand_over.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/process/limits.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/signals/futexes.h"
#include "vm/linux/signals/signal_delivery.h"
#include "vm/linux/signals/signal_descriptors.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/companions.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/limit_calls.h"
#include "vm/linux/syscalls/path_translation.h"
#include "vm/linux/syscalls/policy_calls.h"
#include "vm/linux/syscalls/thread_calls.h"

namespace elision::vm {
namespace {

constexpr std::size_t kChildStackBytes = 1u << 20;

/// All signals but faults. The engine needs faults for bad pointers and writes to code, and the guest may
/// handle its own.
constexpr SignalSet kAllSentSignals = [] {
  SignalSet set;
  for (int signal = 1; signal <= kSignalCount; ++signal)
    if (!is_synchronous(signal)) set.add(signal);
  return set;
}();

/// Registers with which the child of `call` begins.
GuestState child_state(const Call& call, std::uint64_t stack) {
  GuestState state = call.thread().state;
  state.gpr[kRax] = 0;
  if (stack != 0) state.gpr[kRsp] = stack;
  return state;
}

/// In a fork's child: makes the process state that of a new process with the calling thread alone.
void become_child(Call& call) {
  Process& process = call.process;
  process.ids.start_child();
  process.inside_vfork = nullptr;  // its copy of a vfork child's memory is its own
  process.cpu_time_board.start(process.ids.host_pid());
  clear_host_signals();
  std::erase_if(process.threads, [&](const auto& thread) { return thread.get() != &call.self; });
  process.companions.clear();
  process.ended_companions.clear();
  call.self.tracing = {};
  process.futexes.clear();
  process.timers.clear();
  process.cpu_timers.clear();
  watch_cpu_limit(process);
  process.posix_timers.clear();
  for (const auto& timer : process.descriptor_timers) close_reserved_descriptor(timer.first);
  process.descriptor_timers.clear();
  separate_signal_descriptors(process);
  process.pending.clear();
  process.child_event = process.has_had_children = false;
  process.ended_threads_cpu_time = process.children_cpu_time = 0;
  process.refused_calls.clear();
  const int parent_thread = call.thread().tid;
  KernelThread& self = call.self;
  self.pending.clear();
  self.robust_list = self.clear_child_tid = 0;
  self.credentials = nullptr;
  self.scheduling = inherited(self.scheduling);
  show_nice(self.scheduling.nice);
  self.waited = 0;
  self.started = process.services.now(self.thread);
  self.thread.tid = process.leader_tid = process.ids.next_tid();
  if (process.events != nullptr) process.events->forked(self, process.ids.parent(), parent_thread);
  publish_all(process);
}

/// What the child shares with its parent, and later processes with both.
void prepare_boards(Process& process) {
  process.cpu_time_board.make();
  process.board.make();
  if (!process.board.is_claimed()) publish_all(process);
  if (process.events == nullptr) return;
  (void)process.events->board.make();
  process.events->settle();
}

/// CLONE_CLEAR_SIGHAND: resets handlers to the default action.
void clear_handlers(Process& process) {
  for (int signal = 1; signal <= kSignalCount; ++signal) {
    if (process.actions[signal].handler == reinterpret_cast<std::uint64_t>(SIG_IGN)) continue;
    process.actions[signal] = {};
    mirror_action(process, signal);
  }
}

/// CLONE_PIDFD of a fork. The descriptor gets its number, and the guest's memory holds it, before the child
/// exists: if either fails, there is no child.
class ChildDescriptor {
 public:
  explicit ChildDescriptor(std::uint64_t address) : address_(address) {}
  ~ChildDescriptor() {
    for (const int end : gate_)
      if (end >= 0) close(end);
  }
  ChildDescriptor(const ChildDescriptor&) = delete;
  ChildDescriptor& operator=(const ChildDescriptor&) = delete;

  /// Returns 0 or an error. Until the child exists, the descriptor refers to this process.
  long reserve() {
    if (address_ == 0) return 0;
    number_ = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    if (number_ < 0) return -errno;
    const auto before = load_guest<int>(address_);
    if (!before || !store_guest(address_, number_)) {
      close(number_);
      return -EFAULT;
    }
    before_ = *before;
    const LiftedLimits lifted;
    if (pipe2(gate_, O_CLOEXEC) == 0) return 0;
    const int error = errno;
    gate_[0] = gate_[1] = -1;
    undo();
    return -error;
  }
  /// Undoes reserve(): in the child, or if no child could be made.
  void undo() const {
    if (address_ == 0) return;
    close(number_);
    (void)store_guest(address_, before_);
  }
  /// In the parent: makes the descriptor refer to the child. Returns 0, or an error after which there is no
  /// child.
  long name_child(pid_t child) {
    if (address_ == 0) return 0;
    close(std::exchange(gate_[0], -1));  // makes room for the next one where descriptors are few
    const LiftedLimits lifted;
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    const bool named = descriptor >= 0 && dup3(descriptor, number_, O_CLOEXEC) >= 0;
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    if (named) return 0;
    kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
    undo();
    return -error;
  }
  /// In the child: waits until the parent has named it or died. Without that, a child that nobody waits for
  /// could be gone before.
  void wait_until_named() {
    if (gate_[1] < 0) return;
    close(std::exchange(gate_[1], -1));
    char none;
    while (read(gate_[0], &none, 1) < 0 && errno == EINTR) continue;
  }

 private:
  std::uint64_t address_;
  int number_ = -1;
  int before_ = 0;
  int gate_[2] = {-1, -1};
};

SyscallOutcome fork_process(Call& call, std::uint64_t flags, std::uint64_t stack, std::uint64_t parent_tid,
                            std::uint64_t child_tid, std::uint64_t tls) {
  if ((flags & CLONE_SETTLS) != 0 && tls >= kAddressLimit) return call.finish(-EPERM);
  prepare_boards(call.process);
  const auto credentials = credentials_for_child(call.self);
  if (!credentials) return call.finish(credentials.failure());
  ChildDescriptor descriptor(call.pidfd_address);
  if (const long error = descriptor.reserve(); error != 0) return call.finish(error);
  const SignalSet mask = get_host_mask();
  set_host_mask(kAllSignals);
  const pid_t pid = fork();
  if (pid != 0) {
    const int error = errno;
    set_host_mask(mask);
    if (pid < 0) {
      descriptor.undo();
      return call.finish(-error);
    }
    if (const long failed = descriptor.name_child(pid); failed != 0) return call.finish(failed);
    call.process.has_had_children = true;
    if ((flags & CLONE_PARENT_SETTID) != 0 && !store_guest(parent_tid, pid)) return call.finish(-EFAULT);
    return call.finish(pid);
  }
  descriptor.wait_until_named();
  if (*credentials) adopt(**credentials);
  become_child(call);
  descriptor.undo();
  if (call.clears_handlers) clear_handlers(call.process);
  GuestState state = child_state(call, stack);
  if ((flags & CLONE_SETTLS) != 0) state.fs_base = tls;
  call.thread().state = state;
  if ((flags & CLONE_CHILD_SETTID) != 0) (void)store_guest(child_tid, call.thread().tid);
  if ((flags & CLONE_CHILD_CLEARTID) != 0) call.self.clear_child_tid = child_tid;
  call.services().keep_only(call.thread());
  set_host_mask(mask);
  return call.finish(0);
}

/// State of the parent that a vfork child changes, guest memory aside.
struct Remembered {
  explicit Remembered(const Call& call)
      : state(call.thread().state),
        tid(call.thread().tid),
        blocked(call.self.blocked),
        signal_stack(call.self.signal_stack),
        pending(call.self.pending),
        process_pending(call.process.pending),
        name(call.self.name),
        scheduling(call.self.scheduling),
        credentials(call.self.credentials),
        clear_child_tid(call.self.clear_child_tid),
        robust_list(call.self.robust_list),
        timers(call.process.timers),
        cpu_timers(call.process.cpu_timers),
        descriptor_timers(call.process.descriptor_timers),
        signal_descriptors(call.process.signal_descriptors),
        descriptors(reserved_descriptors()),
        ids(call.process.ids),
        inside_vfork(call.process.inside_vfork),
        limits(call.process.limits),
        child_event(call.process.child_event),
        has_had_children(call.process.has_had_children) {
    std::copy(std::begin(call.process.actions), std::end(call.process.actions), actions);
    std::copy(std::begin(call.thread().affinity), std::end(call.thread().affinity), affinity);
  }
  void put_back(const Call& call) const {
    if (call.self.wait) (void)abandon_wait(call.self);  // the child was killed meanwhile
    call.thread().state = state;
    call.thread().tid = tid;
    call.self.blocked = blocked;
    call.self.saved_blocked.reset();
    call.self.signal_stack = signal_stack;
    call.self.pending = pending;
    call.process.pending = process_pending;
    call.self.name = name;
    call.self.scheduling = scheduling;
    call.self.credentials = credentials;
    call.self.clear_child_tid = clear_child_tid;
    call.self.robust_list = robust_list;
    call.process.timers = timers;
    call.process.cpu_timers = cpu_timers;
    call.process.descriptor_timers = descriptor_timers;
    call.process.signal_descriptors = signal_descriptors;
    set_reserved_descriptors(descriptors);
    call.process.ids = ids;
    call.process.inside_vfork = inside_vfork;
    call.process.limits = limits;
    call.process.child_event = child_event;
    call.process.has_had_children = has_had_children;
    std::copy(std::begin(actions), std::end(actions), call.process.actions);
    std::copy(std::begin(affinity), std::end(affinity), call.thread().affinity);
  }

  GuestState state;
  int tid;
  SignalSet blocked;
  SignalStack signal_stack;
  PendingSignals pending, process_pending;
  std::string name;
  Scheduling scheduling;
  std::shared_ptr<CredentialHolder> credentials;
  std::uint64_t clear_child_tid, robust_list;
  VirtualTimers timers;
  CpuTimers cpu_timers;
  std::map<int, DescriptorTimer> descriptor_timers;
  SignalDescriptors signal_descriptors;
  std::set<int> descriptors;  // the engine's; the child closes copies
  ProcessIds ids;
  KernelThread* inside_vfork;
  LimitTable limits;
  bool child_event, has_had_children;
  SignalAction actions[kSignalCount + 1];
  std::uint64_t affinity[2];
};

struct VforkStart {
  Call* call;
  const std::optional<Credentials>* credentials;
  GuestState state;
};

/// Runs in the child, on its own host stack. Shares all memory with the sleeping parent.
int run_child(void* argument) {
  const auto* const start = static_cast<VforkStart*>(argument);
  Call& call = *start->call;
  Process& process = call.process;
  process.inside_vfork = &call.self;
  if (*start->credentials) adopt(**start->credentials);
  call.self.credentials = nullptr;
  call.self.scheduling = inherited(call.self.scheduling);
  show_nice(call.self.scheduling.nice);
  process.ids.start_child();
  process.cpu_time_board.start(process.ids.host_pid());
  process.child_event = process.has_had_children = false;
  call.self.pending.clear();
  process.pending.clear();
  call.thread().tid = process.ids.pid();
  call.thread().state = start->state;
  if (call.clears_handlers) clear_handlers(process);
  process.services.run_vfork_child();
  __builtin_unreachable();
}

SyscallOutcome vfork_process(Call& call, std::uint64_t stack) {
  prepare_boards(call.process);
  const auto credentials = credentials_for_child(call.self);
  if (!credentials) return call.finish(credentials.failure());
  // The host stores the descriptor before the child runs.
  const std::uint64_t descriptor = call.pidfd_address;
  if (descriptor != 0) {
    const auto before = load_guest<int>(descriptor);
    if (!before || !store_guest(descriptor, *before)) return call.finish(-EFAULT);
  }
  void* const host_stack =
      mmap(nullptr, kChildStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (host_stack == MAP_FAILED) return call.finish(-ENOMEM);
  const SignalSet mask = get_host_mask();
  // A signal that the child records would land in the shared memory. Signals recorded so far are the
  // parent's.
  set_host_mask(kAllSentSignals);
  take_in_host_signals(call.process, nullptr);
  const Remembered remembered(call);
  VforkStart start{&call, &*credentials, child_state(call, stack)};
  call.services().begin_vfork(call.thread());
  const int pid = clone(run_child, static_cast<char*>(host_stack) + kChildStackBytes,
                        CLONE_VM | CLONE_VFORK | SIGCHLD | (descriptor != 0 ? CLONE_PIDFD : 0), &start,
                        reinterpret_cast<int*>(descriptor));
  const int error = errno;
  remembered.put_back(call);
  call.services().end_vfork();
  if (call.process.events != nullptr) call.process.events->vfork_is_over(call.self);
  call.process.has_had_children = true;
  set_host_mask(mask);
  munmap(host_stack, kChildStackBytes);
  return call.finish(pid < 0 ? -error : pid);
}

/// Pending signals stay pending in the new program.
void requeue_pending(const PendingSignals& pending, int host_pid) {
  for (const siginfo_t& info : pending.all())
    host_call(SYS_rt_sigqueueinfo, host_pid, info.si_signo, reinterpret_cast<std::uint64_t>(&info));
}

std::uint64_t argument_bytes(const ProgramRequest& request) {
  std::uint64_t total = request.path.size() + 1;
  for (const auto* list : {&request.arguments, &request.environment})
    for (const std::string& text : *list) total += text.size() + 1 + sizeof(std::uint64_t);
  return total;
}

SyscallOutcome exec_program(Call& call, ProgramRequest request) {
  const auto checked = run_as(call.self.credentials.get(), [&] { return check_program(request); });
  if (!checked) return call.finish(-checked.failure().error);
  Process& process = call.process;
  if (argument_bytes(request) > most_argument_bytes(process.limits)) return call.finish(-E2BIG);
  const LiftedLimits lifted;
  ProcessOrigin origin;
  origin.root_host_pid = process.ids.root_host_pid();
  origin.start_time = process.start_time + process.services.now(call.thread());
  origin.blocked_signals = call.self.blocked.bits;
  std::copy(std::begin(call.thread().affinity), std::end(call.thread().affinity), origin.affinity);
  if (process.inside_vfork == nullptr) {
    origin.cpu_time = process_cpu_time(process);
    origin.children_cpu_time = process.children_cpu_time;
  }
  origin.cpu_time_board = process.cpu_time_board.descriptor_over_exec();
  origin.process_board = process.board.descriptor_over_exec();
  if (process.events != nullptr) {
    origin.event_slots = process.events->over_exec(call.self);
    origin.event_board = process.events->board.descriptor_over_exec();
  }
  origin.limits = process.limits;
  origin.scheduling = call.self.scheduling;
  origin.answers_for_region = process.answers_for_region() && !process.services.region_is_complete();
  const auto close_boards = [&origin] {
    for (const int board : {origin.cpu_time_board, origin.process_board, origin.event_board})
      if (board >= 0) close(board);
  };
  const int descriptor = write_hand_over({process.options, std::move(request), origin});
  if (descriptor < 0) {
    close_boards();
    return call.finish(descriptor);
  }
  release_shared_futexes(process);
  if (process.inside_vfork == nullptr) process.services.write_statistics(0);
  const SignalSet mask = get_host_mask();
  set_host_mask(kAllSignals);
  take_in_host_signals(process, &call.self);
  requeue_pending(call.self.pending, process.ids.host_pid());
  requeue_pending(process.pending, process.ids.host_pid());
  // All signals stay blocked until the new program's engine can take them.
  const std::string number = std::to_string(descriptor);
  const char* const arguments[] = {"elision", "vm-exec", number.c_str(), nullptr};
  const char* const environment[] = {nullptr};
  const long error =
      call_as(call.self, SYS_execve, reinterpret_cast<std::uint64_t>("/proc/self/exe"),
              reinterpret_cast<std::uint64_t>(arguments), reinterpret_cast<std::uint64_t>(environment));
  set_host_mask(mask);
  close(descriptor);
  close_boards();
  return call.finish(error);
}

/// The program as execve's caller named it, perhaps with an empty path; `path_argument` is followed by argv
/// and envp.
OrErrno<ProgramRequest> load_request(const Call& call, unsigned path_argument) {
  const auto path = load_guest_string(call[path_argument]);
  auto arguments = load_guest_strings(call[path_argument + 1]);
  auto environment = load_guest_strings(call[path_argument + 2]);
  if (!path || !arguments || !environment) return Errno{-EFAULT};
  if (arguments->empty()) arguments->emplace_back();  // as Linux since 5.18
  return ProgramRequest{translate_path(call.process, *path), std::move(*arguments), std::move(*environment)};
}

/// Refuses descriptors of threads, like Linux before 6.9, and of companions, which are no processes of the
/// host.
SyscallOutcome clone_any(Call& call) {
  const std::uint64_t flags = call[0];
  const bool wants_descriptor = (flags & CLONE_PIDFD) != 0;
  if (wants_descriptor && (flags & CLONE_THREAD) != 0) return call.finish(-EINVAL);
  if (wants_descriptor && call.pidfd_address == 0) return call.finish(-EFAULT);
  if ((flags & CLONE_THREAD) != 0) return clone_thread(call);
  if ((flags & CLONE_VM) == 0) return fork_process(call, flags, call[1], call[2], call[3], call[4]);
  if ((flags & CLONE_VFORK) != 0) return vfork_process(call, call[1]);
  return wants_descriptor ? call.finish(-ENOSYS) : clone_companion(call);
}

}  // namespace

SyscallOutcome sys_clone(Call& call) {
  if ((call[0] & CLONE_PIDFD) != 0) {
    if ((call[0] & (CLONE_PARENT_SETTID | CLONE_DETACHED)) != 0) return call.finish(-EINVAL);
    call.pidfd_address = call[2];
  }
  return clone_any(call);
}

/// Turns the arguments into clone's. Refuses what clone cannot express.
SyscallOutcome sys_clone3(Call& call) {
  clone_args arguments{};
  const std::uint64_t size = call[1];
  if (size < CLONE_ARGS_SIZE_VER0) return call.finish(-EINVAL);
  if (size > kPageBytes) return call.finish(-E2BIG);
  const std::size_t known = std::min<std::uint64_t>(size, sizeof arguments);
  if (!copy_from_guest(&arguments, call[0], known)) return call.finish(-EFAULT);
  std::vector<char> beyond(size - known);
  if (!copy_from_guest(beyond.data(), call[0] + known, beyond.size())) return call.finish(-EFAULT);
  if (std::any_of(beyond.begin(), beyond.end(), [](char byte) { return byte != 0; }))
    return call.finish(-E2BIG);
  const bool odd_stack = (arguments.stack == 0) != (arguments.stack_size == 0);
  if ((arguments.flags & (CLONE_DETACHED | (CSIGNAL & ~CLONE_NEWTIME))) != 0 ||
      arguments.exit_signal > CSIGNAL || odd_stack)
    return call.finish(-EINVAL);
  if (arguments.set_tid_size != 0 || (arguments.flags & CLONE_INTO_CGROUP) != 0) return call.finish(-ENOSYS);
  if ((arguments.flags & CLONE_PIDFD) != 0) {
    const bool also_number = (arguments.flags & CLONE_PARENT_SETTID) != 0;
    if (also_number && arguments.pidfd == arguments.parent_tid) return call.finish(-EINVAL);
    call.pidfd_address = arguments.pidfd;
  }
  call.arguments[0] = (arguments.flags & ~CLONE_CLEAR_SIGHAND) | arguments.exit_signal;
  call.arguments[1] = arguments.stack != 0 ? arguments.stack + arguments.stack_size : 0;
  call.arguments[2] = arguments.parent_tid;
  call.arguments[3] = arguments.child_tid;
  call.arguments[4] = arguments.tls;
  call.clears_handlers = (arguments.flags & CLONE_CLEAR_SIGHAND) != 0;
  return clone_any(call);
}

SyscallOutcome sys_pidfd_open(Call& call) {
  const ProcessIds& ids = call.process.ids;
  const int pid = call.integer(0);
  const int host = pid == ids.pid() ? ids.host_pid() : ids.to_host(pid);
  return call.finish(call_as(call.self, SYS_pidfd_open, static_cast<std::uint64_t>(host), call[1]));
}

SyscallOutcome sys_fork(Call& call) { return fork_process(call, 0, 0, 0, 0, 0); }

SyscallOutcome sys_vfork(Call& call) { return vfork_process(call, 0); }

SyscallOutcome sys_execve(Call& call) {
  auto request = load_request(call, 0);
  if (!request) return call.finish(request.failure());
  return request->path.empty() ? call.finish(-ENOENT) : exec_program(call, std::move(*request));
}

SyscallOutcome sys_execveat(Call& call) {
  const int folder = call.integer(0);
  auto request = load_request(call, 1);
  if (!request) return call.finish(request.failure());
  if (request->path.empty() && (call[4] & AT_EMPTY_PATH) != 0) {
    // Stays open over execve whatever its flags; the new image closes it.
    request->descriptor = fcntl(folder, F_DUPFD, kFirstEngineDescriptor);
    if (request->descriptor < 0) return call.finish(-errno);
    request->path = "/dev/fd/" + std::to_string(folder);
    const int descriptor = request->descriptor;
    const SyscallOutcome outcome = exec_program(call, std::move(*request));
    close(descriptor);
    return outcome;
  }
  if (request->path.empty()) return call.finish(-ENOENT);
  if (request->path.front() != '/' && folder != AT_FDCWD)
    request->path = "/dev/fd/" + std::to_string(folder) + "/" + request->path;
  return exec_program(call, std::move(*request));
}

}  // namespace elision::vm
