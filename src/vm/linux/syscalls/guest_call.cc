// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/guest_call.h"

#include <algorithm>
#include <cerrno>

#include "vm/interface/guest_layout.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/system_calls.h"

namespace elision::vm {
namespace {

/// False for memory of the engine, which a handler may have put in the place of an argument.
bool is_guests(const Process& process, const GuestRange& range) {
  return range.address < kUserAddressEnd && process.memory.regions().find(range.address);
}

GuestRanges ranges_of(const Call& call) {
  GuestRanges ranges;
  const SystemCall* const row = find_system_call(call.number);
  if (row == nullptr) return ranges;
  for (const Memory& memory : row->memory) resolve(memory, call.arguments, ranges);
  std::erase_if(ranges.list, [&](GuestRange& range) {
    range.size = std::min(range.size, kUserAddressEnd - std::min(range.address, kUserAddressEnd));
    return !is_guests(call.process, range);
  });
  return ranges;
}

void before_call(const Call& call, const GuestRanges& ranges) {
  if (ranges.everything) call.services().end_all_transactions();
  for (const GuestRange& range : ranges.list) {
    switch (range.extent) {
      case GuestRange::Extent::kWhole:
        call.services().host_access(call.process.acting, range.address, range.size, range.write);
        break;
      case GuestRange::Extent::kByResult:
        call.services().prepare_filling(range.address, range.size);
        break;
      case GuestRange::Extent::kPerhaps:
        call.services().end_conflicting(range.address, range.size, range.write);
        break;
    }
  }
}

/// True for results after which the call has written nothing.
bool has_written_nothing(long result) { return result == 0 || result == -EAGAIN || result == -EINTR; }

/// Moves the filled memory to the caller's CPU and ends the transactions that have read it. After an error,
/// assume that all of it may have been written.
void after_call(const Call& call, const GuestRanges& ranges, long result) {
  if (has_written_nothing(result)) return;
  std::uint64_t left = result > 0 ? static_cast<std::uint64_t>(result) * ranges.result_unit : 0;
  for (const GuestRange& range : ranges.list) {
    if (range.extent != GuestRange::Extent::kByResult) continue;
    if (result < 0) {
      call.services().end_conflicting(range.address, range.size, true);
      continue;
    }
    const std::uint64_t filled = std::min(left, range.size);
    call.services().host_access(call.process.acting, range.address, filled, true);
    left -= filled;
  }
}

}  // namespace

long guest_call(const Call& call) {
  const GuestRanges ranges = ranges_of(call);
  before_call(call, ranges);
  const long result = call_as(call.self, static_cast<long>(call.number), call[0], call[1], call[2], call[3],
                              call[4], call[5]);
  after_call(call, ranges, result);
  return result;
}

long guest_call(const Call& call, long number, std::uint64_t a0, std::uint64_t a1, std::uint64_t a2,
                std::uint64_t a3, std::uint64_t a4, std::uint64_t a5) {
  return guest_call({call.process, call.self, static_cast<std::uint64_t>(number), {a0, a1, a2, a3, a4, a5}});
}

SyscallOutcome pass_through(Call& call) { return call.finish(guest_call(call)); }

}  // namespace elision::vm
