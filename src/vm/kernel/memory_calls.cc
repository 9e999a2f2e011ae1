// SPDX-License-Identifier: Apache-2.0
#include "vm/kernel/memory_calls.h"

#include <sys/mman.h>

#include <cerrno>

#include "vm/kernel/guest_call.h"
#include "vm/kernel/host_call.h"

namespace elision::vm {

SyscallOutcome sys_mmap(Call& call) {
  if (call[5] % kPageBytes != 0) return call.finish(-EINVAL);
  return call.finish(
      call.process.memory.map(call[0], call[1], call.integer(2), call.integer(3), call.integer(4), call[5]));
}

SyscallOutcome sys_munmap(Call& call) { return call.finish(call.process.memory.unmap(call[0], call[1])); }

SyscallOutcome sys_mremap(Call& call) {
  return call.finish(call.process.memory.remap(call[0], call[1], call[2], call.integer(3), call[4]));
}

SyscallOutcome sys_mprotect(Call& call) {
  return call.finish(call.process.memory.protect(call[0], call[1], call.integer(2)));
}

SyscallOutcome sys_pkey_mprotect(Call& call) {
  return call.integer(3) == -1 ? sys_mprotect(call) : call.finish(-EINVAL);
}

SyscallOutcome sys_madvise(Call& call) {
  return call.finish(call.process.memory.advise(call[0], call[1], call.integer(2)));
}

SyscallOutcome sys_with_range(Call& call) {
  const bool needs_alignment = call.number == SYS_mincore || call.number == SYS_msync;
  if (needs_alignment && call[0] % kPageBytes != 0) return call.finish(-EINVAL);
  const std::uint64_t begin = page_down(call[0]);
  if (call[1] > kAddressLimit || begin > kAddressLimit - call[1]) return call.finish(-ENOMEM);
  if (!call.process.memory.regions().covers(begin, page_up(call[0] + call[1]))) return call.finish(-ENOMEM);
  return pass_through(call);
}

SyscallOutcome sys_brk(Call& call) {
  return call.finish(static_cast<long>(call.process.memory.set_break(call[0])));
}

SyscallOutcome sys_shmat(Call& call) {
  return call.finish(call.process.memory.attach(call.integer(0), call[1], call.integer(2)));
}

SyscallOutcome sys_shmdt(Call& call) { return call.finish(call.process.memory.detach(call[0])); }

}  // namespace elision::vm
