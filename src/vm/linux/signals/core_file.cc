// SPDX-License-Identifier: Apache-2.0
// Builds a signal frame with the guest's registers on a stack of its own and returns from it while the deadly
// signal is pending and blocked. rt_sigreturn loads the guest's registers and unblocks the signal
// (kernel/signal.c, arch/x86/kernel/signal_64.c).
#include "vm/linux/signals/core_file.h"

#include <linux/prctl.h>
#include <ucontext.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "vm/host/host_call.h"
#include "vm/host/host_signals.h"
#include "vm/linux/signals/signal_frame.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kStackBytes = 16384;
alignas(64) std::uint8_t g_stack[kStackBytes];

/// Debuggers find a relocated program and its libraries by the auxiliary vector. The host's kernel may refuse
/// the change (without CONFIG_CHECKPOINT_RESTORE); the core then has the engine's vector.
void show_auxiliary_vector(const std::vector<std::uint64_t>& vector) {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line.substr(line.rfind(')') + 1));
  constexpr unsigned kStartCode = 26, kEndCode = 27, kStartStack = 28, kStartData = 45, kEndData = 46,
                     kStartBreak = 47, kArgStart = 48, kArgEnd = 49, kEnvStart = 50, kEnvEnd = 51,
                     kFields = 52;
  std::uint64_t field[kFields + 1] = {};
  std::string word;
  for (unsigned i = 3; i <= kFields && words >> word; ++i)
    field[i] = std::strtoull(word.c_str(), nullptr, 10);
  prctl_mm_map map{};
  map.start_code = field[kStartCode];
  map.end_code = field[kEndCode];
  map.start_data = field[kStartData];
  map.end_data = field[kEndData];
  map.start_brk = map.brk = field[kStartBreak];
  map.start_stack = field[kStartStack];
  map.arg_start = field[kArgStart];
  map.arg_end = field[kArgEnd];
  map.env_start = field[kEnvStart];
  map.env_end = field[kEnvEnd];
  map.auxv = reinterpret_cast<__u64*>(const_cast<std::uint64_t*>(vector.data()));
  map.auxv_size = static_cast<__u32>(vector.size() * sizeof vector[0]);
  map.exe_fd = static_cast<__u32>(-1);
  host_call(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, reinterpret_cast<std::uint64_t>(&map), sizeof map);
}

}  // namespace

void die_with_registers(const siginfo_t& info, const GuestState& state,
                        const std::vector<std::uint64_t>& auxiliary_vector) {
  const int signal = info.si_signo;
  // The kernel drops a signal that the first process of a container sends itself. The guest would run on
  // natively.
  if (host_call(SYS_getpid) == 1) die_by_host_signal(signal);
  show_auxiliary_vector(auxiliary_vector);
  FrameRequest request{};
  request.saved_mask.bits = ~SignalSet::of(signal).bits;
  request.signal_stack.flags = SS_DISABLE;
  GuestState entered = state;
  entered.gpr[kRsp] = reinterpret_cast<std::uint64_t>(g_stack + sizeof g_stack);
  if (!enter_handler(entered, request)) die_by_host_signal(signal);
  const std::uint64_t behind_return_address = entered.gpr[kRsp] + 8;
  auto* const context = reinterpret_cast<ucontext_t*>(behind_return_address);
  context->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(state.gpr[kRsp]);
  set_host_mask({~0ull});
  SignalAction standard;
  host_call(SYS_rt_sigaction, signal, reinterpret_cast<std::uint64_t>(&standard), 0, sizeof(SignalSet));
  const auto self = static_cast<std::uint64_t>(host_call(SYS_getpid));
  if (host_call(SYS_rt_sigqueueinfo, self, signal, reinterpret_cast<std::uint64_t>(&info)) != 0)
    host_call(SYS_kill, self, signal);
  asm volatile(
      "mov %0, %%rsp\n\t"
      "wrfsbase %1\n\t"
      "mov %2, %%eax\n\t"
      "syscall\n\t"
      "ud2"
      :
      : "r"(behind_return_address), "r"(state.fs_base), "i"(SYS_rt_sigreturn)
      : "memory");
  __builtin_unreachable();
}

}  // namespace elision::vm
