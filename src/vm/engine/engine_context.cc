// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/engine_context.h"

#include <sys/mman.h>

#include <new>

namespace elision::vm {
namespace {

Cpu* new_cpu(unsigned id) {
  void* memory = mmap(nullptr, (sizeof(Cpu) + 4095) & ~std::size_t{4095}, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  Cpu* cpu = new (memory) Cpu;
  cpu->id = CpuId(id);
  return cpu;
}

void pair_siblings(EngineContext& context) {
  constexpr std::uint64_t kBatch = 256, kPercent = 100;
  const machine::Topology& topology = context.machine.topology;
  for (Cpu* cpu : context.cpus) {
    cpu->sharing.ticks_per_256_instructions =
        kBatch * kTicksPerCycle * kPercent /
        (context.machine.core.issue_width * context.machine.core.sibling_issue_percent);
    for (Cpu* other : context.cpus) {
      if (other != cpu && topology.core_of(other->id.value) == topology.core_of(cpu->id.value))
        cpu->sharing.sibling = other;
    }
  }
}

}  // namespace

void make_cpus(EngineContext& context, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    Cpu* cpu = new_cpu(i);
    cpu->misprediction_cost = context.machine.core.branch_misprediction_cycles * kTicksPerCycle
                              << kBudgetShift;
    cpu->branches.prepare();
    context.cpus.push_back(cpu);
  }
  pair_siblings(context);
}

Cycles EngineContext::cycles_of(Nanoseconds time) const {
  return Cycles(static_cast<std::uint64_t>(static_cast<unsigned __int128>(time) * machine.core_mhz / 1000));
}

Nanoseconds EngineContext::nanoseconds_of(Cycles time) const {
  return static_cast<Nanoseconds>(static_cast<unsigned __int128>(time.value) * 1000 / machine.core_mhz);
}

std::uint64_t EngineContext::ticks_of(Cycles time) const {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(time.value) * machine.frequency_mhz /
                                    machine.core_mhz);
}

std::uint64_t EngineContext::instructions() const {
  std::uint64_t sum = 0;
  for (const Cpu* cpu : cpus) sum += cpu->instructions();
  return sum;
}

}  // namespace elision::vm
