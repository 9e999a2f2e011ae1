// SPDX-License-Identifier: Apache-2.0
#include "vm/cpu/remote_aborts.h"

#include "vm/cpu/helpers.h"
#include "vm/interface/thread.h"

namespace elision::vm {
namespace {

/// Notes which accesses met in `line`. The requester is in the middle of its access.
void note_conflict(Cpu& victim, LineAddr line, const Cpu& requester) {
  if (victim.evidence == nullptr || &victim == &requester) return;
  ConflictNote& note = victim.evidence->note;
  note.is_new = true;
  note.line = line;
  note.victim = victim.evidence->accesses.first_in(line);
  note.other = note.other_first = {};
  note.other_writes = false;
  note.other_thread = requester.thread != nullptr ? requester.thread->tid : 0;
  const AccessCheck* check = requester.access_check;
  if (check == nullptr || line_of(GuestAddr(requester.check_address)) != line) return;
  note.other = {requester.check_address, check->pc, check->size};
  note.other_writes = check->kind != static_cast<std::uint8_t>(machine::AccessKind::kLoad);
  if (requester.in_transaction) note.other_first = requester.evidence->accesses.first_in(line);
}

}  // namespace

void RemoteAborts::on_abort(CpuId victim, machine::HardwareAbort cause, LineAddr line, CpuId requester,
                            Cycles /*now*/, Cycles resume) {
  Cpu& cpu = *helper_context.cpus[victim.value];
  if (cause == machine::HardwareAbort::kConflict && requester.value < helper_context.cpu_count)
    note_conflict(cpu, line, *helper_context.cpus[requester.value]);
  roll_back(cpu, cause, 0, resume);
  if (cpu.in_heap) helper_context.ordering->moved(cpu);
}

}  // namespace elision::vm
