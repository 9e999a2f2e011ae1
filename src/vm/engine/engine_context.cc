// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/engine_context.h"

#include <sys/mman.h>

#include <new>

namespace elision::vm {
namespace {

Core* new_core(unsigned id) {
  void* memory = mmap(nullptr, (sizeof(Core) + 4095) & ~std::size_t{4095}, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  Core* core = new (memory) Core;
  core->id = CpuId(id);
  return core;
}

void pair_siblings(EngineContext& context) {
  constexpr std::uint64_t kBatch = 256, kPercent = 100;
  const machine::Topology& topology = context.machine.topology;
  for (Core* core : context.cores) {
    core->sharing.ticks_per_256_instructions =
        kBatch * kTicksPerCycle * kPercent /
        (context.machine.core.issue_width * context.machine.core.sibling_issue_percent);
    for (Core* other : context.cores) {
      if (other != core && topology.core_of(other->id.value) == topology.core_of(core->id.value))
        core->sharing.sibling = other;
    }
  }
}

}  // namespace

void make_cores(EngineContext& context, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    Core* core = new_core(i);
    core->misprediction_cost = context.machine.core.branch_misprediction_cycles * kTicksPerCycle
                               << kBudgetShift;
    core->branches.prepare();
    context.cores.push_back(core);
  }
  pair_siblings(context);
}

Cycles EngineContext::cycles_of(Nanoseconds time) const {
  return Cycles(
      static_cast<std::uint64_t>(static_cast<unsigned __int128>(time) * machine.frequency_mhz / 1000));
}

Nanoseconds EngineContext::nanoseconds_of(Cycles time) const {
  return static_cast<Nanoseconds>(static_cast<unsigned __int128>(time.value) * 1000 / machine.frequency_mhz);
}

std::uint64_t EngineContext::instructions() const {
  std::uint64_t sum = 0;
  for (const Core* core : cores) sum += core->instructions();
  return sum;
}

}  // namespace elision::vm
