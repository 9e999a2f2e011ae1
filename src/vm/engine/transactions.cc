// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/transactions.h"

#include <algorithm>

#include "vm/cpu/light_path.h"

namespace elision::vm {
namespace {

bool has_written(const Core& core, std::uint64_t begin, std::uint64_t end) {
  return core.in_transaction != 0 && core.undo.touches(begin, end);
}

}  // namespace

void Transactions::abort(Core& core, machine::HardwareAbort cause, unsigned immediate) {
  core.account_for_sibling();
  const Cycles clock = context_.model->abort(core.id, core.clock(), cause);
  roll_back(core, cause, immediate, clock);
  core.state.x87_used = core.x87_used;
}

void Transactions::end(Core& core, machine::HardwareAbort cause, Cycles now) {
  context_.model->abort(core.id, now, cause);
  roll_back(core, cause, 0, now + context_.model->abort_cost());
  if (core.in_heap) context_.ordering.moved(core);
}

void Transactions::end_all() {
  const Cycles now = context_.kernel_time();
  for (Core* core : context_.cores)
    if (core->in_transaction) end(*core, machine::HardwareAbort::kInterrupt, now);
}

bool Transactions::any_writer(std::uint64_t begin, std::uint64_t end) const {
  return std::any_of(context_.cores.begin(), context_.cores.end(),
                     [&](const Core* core) { return has_written(*core, begin, end); });
}

void Transactions::end_writers(std::uint64_t begin, std::uint64_t end) {
  for (Core* core : context_.cores) {
    if (!has_written(*core, begin, end)) continue;
    if (core == context_.ordering.running()) {
      abort(*core, machine::HardwareAbort::kInstruction);
    } else {
      this->end(*core, machine::HardwareAbort::kConflict, context_.kernel_time());
    }
  }
}

void Transactions::on_abort(CpuId victim, machine::HardwareAbort cause, LineAddr, CpuId, Cycles now) {
  Core& core = *context_.cores[victim.value];
  roll_back(core, cause, 0, now + context_.model->abort_cost());
  if (core.in_heap) context_.ordering.moved(core);
}

}  // namespace elision::vm
