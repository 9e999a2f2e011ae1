// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/remote_aborts.h"

#include "vm/cpu/helpers.h"
#include "vm/interface/thread.h"

namespace elision::vm {
namespace {

/// The access of translated code that `cpu` makes, or made last. Without size: it has made none.
Access access_of(const Cpu& cpu) {
  if (cpu.access_check == nullptr) return {};
  return {cpu.check_address, cpu.access_check->pc, cpu.access_check->size};
}

/// The part of an access that lies in `line`. Without size: none does.
Access part_in(LineAddr line, const Access& access) {
  const std::uint64_t first = start_of(line).value, behind = first + kLineBytes;
  const std::uint64_t begin = access.address > first ? access.address : first;
  const std::uint64_t end = access.address + access.size < behind ? access.address + access.size : behind;
  return begin < end ? Access{begin, access.pc, static_cast<std::uint32_t>(end - begin)} : Access{};
}

/// Whether the thread on `cpu` elides or holds locks, but not `lock`.
bool is_under_other_locks(const Cpu& cpu, std::uint64_t lock) {
  const ConflictEvidence& evidence = *cpu.evidence;
  const std::uint64_t elided = cpu.in_transaction ? evidence.lock : 0;
  bool under_any = elided != 0;
  if (elided == lock) return false;
  if (cpu.thread == nullptr || evidence.held == nullptr) return under_any;
  for (const std::uint64_t held : *evidence.held) {
    if (held == lock) return false;
    under_any = true;
  }
  return under_any;
}

/// Returns the access for which `requester` has asked for the line, without size if it is not known.
Access requesting_access(const machine::RemoteAbort& abort, const Cpu& requester) {
  if (abort.by_prefetch) return access_of(requester);
  if (!abort.by_early_request) return part_in(abort.line, access_of(requester));
  const TransactionAccesses& accesses = requester.evidence->accesses;
  return abort.writes ? accesses.expected_write_in(abort.line) : accesses.expected_in(abort.line);
}

/// Notes which accesses met in the line.
void note_conflict(Cpu& victim, const Cpu& requester, const machine::RemoteAbort& abort) {
  if (victim.evidence == nullptr || &victim == &requester) return;
  const LineAddr line = abort.line;
  const bool by_prefetch = abort.by_prefetch;
  ConflictNote& note = victim.evidence->note;
  note = {.is_new = true,
          .line = line,
          .victim = victim.evidence->accesses.expected_in(line),
          .other = requesting_access(abort, requester),
          .other_prefetched = by_prefetch,
          .other_under_other_locks = is_under_other_locks(requester, victim.evidence->lock),
          .other_thread = requester.thread != nullptr ? requester.thread->tid : 0};
  if (by_prefetch || note.other.size == 0) return;
  note.other_writes = abort.writes;
  if (requester.in_transaction) note.other_first = requester.evidence->accesses.expected_in(line);
}

}  // namespace

void RemoteAborts::on_abort(const machine::RemoteAbort& abort) {
  Cpu& cpu = *helper_context.cpus[abort.victim.value];
  if (abort.cause == machine::HardwareAbort::kConflict && abort.requester.value < helper_context.cpu_count)
    note_conflict(cpu, *helper_context.cpus[abort.requester.value], abort);
  roll_back(cpu, abort.cause, 0, abort.resume);
  if (cpu.in_heap) helper_context.ordering->moved(cpu);
}

void RemoteAborts::on_lost_line(CpuId victim, LineAddr line) {
  helper_context.cpus[victim.value]->undo.restore(line);
}

}  // namespace elision::vm
