// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/memory_calls.h"

#include <sys/mman.h>
#include <sys/shm.h>

#include <algorithm>
#include <cerrno>

#include "vm/host/host_call.h"
#include "vm/linux/process/limits.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/event_calls.h"
#include "vm/linux/syscalls/guest_call.h"

namespace elision::vm {

namespace {

/// Bytes of a range that the guest has mapped, by whether RLIMIT_DATA counts them now or once they become
/// writable.
struct Covered {
  std::uint64_t mapped = 0;
  std::uint64_t data = 0;
  std::uint64_t not_writable = 0;
};

Covered covered(const Process& process, std::uint64_t begin, std::uint64_t size) {
  Covered result;
  const RegionMap& regions = process.memory.regions();
  const std::uint64_t end = begin + size;
  for (std::uint64_t at = regions.next_start(begin, end); at < end; at = regions.next_start(at, end)) {
    const auto region = regions.find(at);
    const std::uint64_t stop = std::min(end, region->second.end);
    const RegionProperties& properties = region->second.properties;
    if (properties.use != RegionUse::kForeign) result.mapped += stop - at;
    if (!properties.shared) (properties.writable ? result.data : result.not_writable) += stop - at;
    at = stop;
  }
  return result;
}

bool is_data(std::uint64_t protection, bool shared) { return (protection & PROT_WRITE) != 0 && !shared; }

/// True if a mapping of `size` bytes fits into the limits. One at a fixed place replaces what is there.
bool fits(const Call& call, std::uint64_t address, std::uint64_t size, bool data, bool fixed) {
  if (size == 0 || size > kAddressLimit || address > kAddressLimit - size)
    return true;  // the call will fail with another error
  size = page_up(size);
  if (may_map(call.process, size, data ? size : 0)) return true;
  if (!fixed) return false;
  const Covered there = covered(call.process, address, size);
  return may_map(call.process, size - there.mapped, data ? size - there.data : 0);
}

}  // namespace

SyscallOutcome sys_mmap(Call& call) {
  if (const auto outcome = map_event(call)) return *outcome;
  if (call[5] % kPageBytes != 0) return call.finish(-EINVAL);
  const bool shared = (call.integer(3) & MAP_TYPE) != MAP_PRIVATE;
  if (!fits(call, call[0], call[1], is_data(call[2], shared), (call.integer(3) & MAP_FIXED) != 0))
    return call.finish(-ENOMEM);
  const long mapped =
      call.process.memory.map(call[0], call[1], call.integer(2), call.integer(3), call.integer(4), call[5]);
  if (mapped >= 0) note_mapping(call, static_cast<std::uint64_t>(mapped), call[1]);
  return call.finish(mapped);
}

SyscallOutcome sys_munmap(Call& call) { return call.finish(call.process.memory.unmap(call[0], call[1])); }

SyscallOutcome sys_mremap(Call& call) {
  const auto region = call.process.memory.regions().find(call[0]);
  const bool copies = call[1] == 0 || (call.integer(3) & MREMAP_DONTUNMAP) != 0;
  const std::uint64_t growth = copies ? call[2] : call[2] > call[1] ? call[2] - page_up(call[1]) : 0;
  const bool data = region && region->second.properties.writable && !region->second.properties.shared;
  if (!fits(call, 0, growth, data, false)) return call.finish(-ENOMEM);
  return call.finish(call.process.memory.remap(call[0], call[1], call[2], call.integer(3), call[4]));
}

SyscallOutcome sys_mprotect(Call& call) {
  if ((call[2] & PROT_WRITE) != 0 && call[1] <= kAddressLimit && call[0] <= kAddressLimit - call[1] &&
      call.process.limits[RLIMIT_DATA].rlim_cur != RLIM_INFINITY) {
    const std::uint64_t grows = covered(call.process, call[0], page_up(call[1])).not_writable;
    if (!may_map(call.process, 0, grows)) return call.finish(-ENOMEM);
  }
  const long error = call.process.memory.protect(call[0], call[1], call.integer(2));
  if (error == 0 && (call[2] & PROT_EXEC) != 0) note_mapping(call, call[0], call[1]);
  return call.finish(error);
}

SyscallOutcome sys_pkey_mprotect(Call& call) {
  return call.integer(3) == -1 ? sys_mprotect(call) : call.finish(-EINVAL);
}

SyscallOutcome sys_madvise(Call& call) {
  return call.finish(call.process.memory.advise(call[0], call[1], call.integer(2)));
}

SyscallOutcome sys_with_aligned_range(Call& call) {
  return call[0] % kPageBytes == 0 ? sys_with_range(call) : call.finish(-EINVAL);
}

SyscallOutcome sys_with_range(Call& call) {
  const std::uint64_t begin = page_down(call[0]);
  if (call[1] > kAddressLimit || begin > kAddressLimit - call[1]) return call.finish(-ENOMEM);
  if (!call.process.memory.regions().covers(begin, page_up(call[0] + call[1]))) return call.finish(-ENOMEM);
  return pass_through(call);
}

SyscallOutcome sys_brk(Call& call) {
  const std::uint64_t now = call.process.memory.set_break(0);
  if (call[0] > now && !fits(call, 0, page_up(call[0]) - page_up(now), true, false))
    return call.finish(static_cast<long>(now));
  return call.finish(static_cast<long>(call.process.memory.set_break(call[0])));
}

SyscallOutcome sys_shmat(Call& call) {
  shmid_ds segment{};
  if (call_as(call.self, SYS_shmctl, call.integer(0), IPC_STAT, reinterpret_cast<std::uint64_t>(&segment)) ==
          0 &&
      !fits(call, 0, segment.shm_segsz, false, false))
    return call.finish(-ENOMEM);
  return call.finish(run_as(call.self.credentials.get(), [&] {
    return call.process.memory.attach(call.integer(0), call[1], call.integer(2));
  }));
}

SyscallOutcome sys_shmdt(Call& call) { return call.finish(call.process.memory.detach(call[0])); }

}  // namespace elision::vm
