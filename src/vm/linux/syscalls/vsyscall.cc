// SPDX-License-Identifier: Apache-2.0
// Behaviour: arch/x86/entry/vsyscall/vsyscall_64.c. A bad pointer is a fault, not EFAULT.
#include "vm/linux/syscalls/vsyscall.h"

#include <cerrno>

#include "vm/host/guest_memory.h"
#include "vm/linux/syscalls/system_calls.h"

namespace elision::vm {
namespace {

constexpr struct {
  std::uint64_t address;
  unsigned number;
} kEntries[] = {
    {0xffffffffff600000, SYS_gettimeofday}, {0xffffffffff600400, SYS_time}, {0xffffffffff600800, SYS_getcpu}};

}  // namespace

bool make_vsyscall(Process& process, KernelThread& self) {
  GuestState& state = self.thread.state;
  for (const auto& entry : kEntries) {
    if (entry.address != state.rip) continue;
    const auto return_address = load_guest<std::uint64_t>(state.gpr[kRsp]);
    if (!return_address) return false;
    const std::uint64_t before = state.gpr[kRax];
    const SystemCall& row = *find_system_call(entry.number);
    Call call{process, self, row.number, {state.gpr[kRdi], state.gpr[kRsi], state.gpr[kRdx]}, row.effects};
    row.handler(call);
    if (state.gpr[kRax] == static_cast<std::uint64_t>(-EFAULT)) {
      state.gpr[kRax] = before;
      return false;
    }
    state.rip = *return_address;
    state.gpr[kRsp] += sizeof *return_address;
    return true;
  }
  return false;
}

}  // namespace elision::vm
