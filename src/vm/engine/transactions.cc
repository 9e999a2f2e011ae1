// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/transactions.h"

#include <algorithm>

#include "vm/cpu/helpers.h"
#include "vm/engine/scheduler.h"

namespace elision::vm {
namespace {

bool has_written(const Cpu& cpu, std::uint64_t begin, std::uint64_t end) {
  return cpu.in_transaction != 0 && cpu.undo.touches(begin, end);
}

}  // namespace

void Transactions::abort(Cpu& cpu, machine::HardwareAbort cause, unsigned immediate) {
  cpu.account_for_sibling();
  const Cycles clock = context_.model->abort(cpu.id, cpu.clock(), cause);
  roll_back(cpu, cause, immediate, clock);
  cpu.state.x87_used = cpu.x87_used;
}

void Transactions::end(Cpu& cpu, machine::HardwareAbort cause, Cycles now) {
  context_.model->abort(cpu.id, now, cause);
  roll_back(cpu, cause, 0, now + context_.model->abort_cost());
  if (cpu.in_heap) context_.ordering.moved(cpu);
}

void Transactions::end_all() {
  const Cycles now = context_.kernel_time();
  for (Cpu* cpu : context_.cpus)
    if (cpu->in_transaction) end(*cpu, machine::HardwareAbort::kInterrupt, now);
}

bool Transactions::any_writer(std::uint64_t begin, std::uint64_t end) const {
  return std::any_of(context_.cpus.begin(), context_.cpus.end(),
                     [&](const Cpu* cpu) { return has_written(*cpu, begin, end); });
}

void Transactions::end_writers(std::uint64_t begin, std::uint64_t end) {
  for (Cpu* cpu : context_.cpus) {
    if (!has_written(*cpu, begin, end)) continue;
    if (cpu == context_.ordering.running()) {
      abort(*cpu, machine::HardwareAbort::kInstruction);
    } else {
      this->end(*cpu, machine::HardwareAbort::kConflict, context_.kernel_time());
    }
  }
}

/// Tells the account which accesses met in `line`. The requester is in the middle of its access.
void Transactions::note_conflict(const Cpu& victim, LineAddr line, const Cpu& requester) {
  if (victim.thread == nullptr || &victim == &requester) return;
  const TransactionAccesses::First* first = victim.accesses->find(line);
  const AccessCheck* check = requester.access_check;
  const bool in_access = check != nullptr && line_of(GuestAddr(requester.check_address)) == line;
  const bool apart = first != nullptr && in_access &&
                     (requester.check_address >= first->address + first->size ||
                      first->address >= requester.check_address + check->size);
  context_.account->conflict(Scheduler::of(*victim.thread).account,
                             first != nullptr ? first->address : start_of(line).value,
                             first != nullptr ? first->pc : 0, in_access ? check->pc : 0, apart);
}

void Transactions::on_abort(CpuId victim, machine::HardwareAbort cause, LineAddr line, CpuId requester,
                            Cycles now) {
  Cpu& cpu = *context_.cpus[victim.value];
  if (context_.account != nullptr && cause == machine::HardwareAbort::kConflict &&
      requester.value < context_.cpus.size())
    note_conflict(cpu, line, *context_.cpus[requester.value]);
  roll_back(cpu, cause, 0, now + context_.model->abort_cost());
  if (cpu.in_heap) context_.ordering.moved(cpu);
}

}  // namespace elision::vm
