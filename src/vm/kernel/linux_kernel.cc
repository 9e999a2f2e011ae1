// SPDX-License-Identifier: Apache-2.0
// The engine's view of the kernel: each call of the seam goes to the part that knows.
#include <cerrno>
#include <cstdio>

#include "vm/kernel/call.h"
#include "vm/kernel/kernel_factory.h"
#include "vm/kernel/system_calls.h"
#include "vm/kernel/waiting.h"

namespace elision::vm {
namespace {

constexpr const char* kPreloadVariable = "LD_PRELOAD=";

/// The environment with our objects in front of the program's own LD_PRELOAD; unchanged if they
/// already lead it (a process started by one that got them here).
std::vector<std::string> with_preload(std::vector<std::string> environment,
                                      const std::vector<std::string>& objects) {
  if (objects.empty()) return environment;
  std::string value = kPreloadVariable;
  for (const std::string& object : objects) value += (value.back() == '=' ? "" : ":") + object;
  for (std::string& entry : environment) {
    if (!entry.starts_with(kPreloadVariable)) continue;
    const std::string own = entry.substr(std::string(kPreloadVariable).size());
    if (!entry.starts_with(value)) entry = own.empty() ? value : value + ":" + own;
    return environment;
  }
  environment.push_back(value);
  return environment;
}

class LinuxKernel final : public GuestKernel {
 public:
  LinuxKernel(EngineServices& services, const Options& options, const MachineIdentity& identity,
              const ProcessOrigin& origin)
      : process_(services, options, identity, origin) {}

  Fallible<GuestState> load(const CheckedProgram& program, std::vector<std::string> environment) override {
    auto loaded =
        load_program(process_.memory, process_.services, program,
                     with_preload(std::move(environment), process_.options.preload), process_.identity);
    if (!loaded) return loaded.failure();
    process_.executable = loaded->executable;
    process_.arguments = loaded->arguments;
    process_.auxiliary_vector = loaded->auxiliary_vector;
    GuestState state;
    state.rip = loaded->entry;
    state.gpr[kRsp] = loaded->stack_pointer;
    return state;
  }

  void adopt_main(Thread& thread) override {
    auto kernel = std::make_unique<KernelThread>(thread);
    thread.kernel = kernel.get();
    thread.tid = process_.leader_tid = process_.ids.next_tid();
    process_.threads.push_back(std::move(kernel));
  }

  SyscallOutcome system_call(Thread& thread) override {
    KernelThread& self = process_.of(thread);
    const auto& registers = thread.state.gpr;
    Call call{
        process_,
        self,
        registers[kRax],
        {registers[kRdi], registers[kRsi], registers[kRdx], registers[kR10], registers[kR8], registers[kR9]}};
    note_running(self);
    self.call_number = call.number;
    const CallHandler handler = find_call_handler(call.number);
    return handler != nullptr ? handler(call) : unknown_call(call);
  }

  void deliver_signals(Thread&) override {}
  void fault(Thread& thread, int signal, const siginfo_t& info) override {
    std::fprintf(stderr, "elision vm: signal %d at 0x%lx, address %p\n", signal, thread.state.rip,
                 info.si_addr);
    process_.services.write_statistics(128 + signal);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  bool wait_for_event(std::optional<Nanoseconds> timer) override { return timer.has_value(); }
  void poll_events() override { poll_waits(process_, false, 0); }
  bool event_pending() const override { return false; }
  std::uint64_t executable_end(std::uint64_t address) const override {
    return process_.memory.executable_end(address);
  }

 private:
  /// A thread that makes a call runs again: its wait, if it had one, counts no CPU time.
  void note_running(KernelThread& self) {
    if (!self.waits_since) return;
    self.waited += process_.services.now(self.thread) - *self.waits_since;
    self.waits_since.reset();
  }

  SyscallOutcome unknown_call(const Call& call) {
    ++process_.unknown_calls;
    std::fprintf(stderr, "elision vm: system call %llu at 0x%llx is not supported\n",
                 static_cast<unsigned long long>(call.number),
                 static_cast<unsigned long long>(call.thread().state.rip - 2));
    return call.finish(-ENOSYS);
  }

  Process process_;
};

}  // namespace

KernelThread& Process::of(Thread& thread) { return *thread.kernel; }

std::unique_ptr<GuestKernel> make_kernel(EngineServices& services, const Options& options,
                                         const MachineIdentity& identity, const ProcessOrigin& origin) {
  return std::make_unique<LinuxKernel>(services, options, identity, origin);
}

}  // namespace elision::vm
