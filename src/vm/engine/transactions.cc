// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/transactions.h"

#include <algorithm>

#include "vm/cpu/helpers.h"

namespace elision::vm {
namespace {

bool has_written(const Cpu& cpu, std::uint64_t begin, std::uint64_t end) {
  return cpu.in_transaction != 0 && cpu.undo.touches(begin, end);
}

/// Sets RIP to the instruction for which the running CPU has left translated code, as far as the exit alone
/// names it.
void stand_at_exit(Cpu& cpu) {
  const Exit& exit = cpu.exit->reason == ExitReason::kPending ? cpu.deferred : *cpu.exit;
  switch (exit.reason) {
    case ExitReason::kLink:
    case ExitReason::kIndirect:
    case ExitReason::kResolve:
    case ExitReason::kAttach:
    case ExitReason::kInterrupt:
    case ExitReason::kHostFault:
    case ExitReason::kFetchFault:
    case ExitReason::kWatchedCode:
      return;
    default:
      cpu.state.rip = exit.pc;
  }
}

}  // namespace

void Transactions::abort(Cpu& cpu, machine::HardwareAbort cause, unsigned immediate) {
  cpu.account_for_sibling();
  const bool timed = cpu.detail == Detail::kTimed;
  const Cycles clock = timed ? context_.model->abort(cpu.id, cpu.clock(), cause) : cpu.clock();
  stand_at_exit(cpu);
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

}  // namespace elision::vm
