// SPDX-License-Identifier: Apache-2.0
#include "vm/translate/block_cost.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <vector>

#include "vm/cpu/cpu.h"

namespace elision::vm {
namespace {

struct OperationCost {
  unsigned latency_cycles;
  unsigned uops;
  unsigned serial_cycles;  // cycles in which nothing else executes
};

OperationCost divide_cost(const Instruction& i) {
  const bool wide = (i.bytes[0] & 0xf8) == 0x48;  // REX.W
  return wide ? OperationCost{42, 36, 0} : OperationCost{26, 10, 0};
}

OperationCost operation_cost(const Instruction& i, const machine::Description& machine) {
  switch (i.mnemonic) {
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV:
      return divide_cost(i);
    case ZYDIS_MNEMONIC_IMUL:
    case ZYDIS_MNEMONIC_MUL:
    case ZYDIS_MNEMONIC_MULX:
    case ZYDIS_MNEMONIC_POPCNT:
    case ZYDIS_MNEMONIC_LZCNT:
    case ZYDIS_MNEMONIC_TZCNT:
    case ZYDIS_MNEMONIC_BSF:
    case ZYDIS_MNEMONIC_BSR:
    case ZYDIS_MNEMONIC_CRC32:
    case ZYDIS_MNEMONIC_PDEP:
    case ZYDIS_MNEMONIC_PEXT:
      return {3, 1, 0};
    case ZYDIS_MNEMONIC_ADDSD:
    case ZYDIS_MNEMONIC_ADDSS:
    case ZYDIS_MNEMONIC_ADDPD:
    case ZYDIS_MNEMONIC_ADDPS:
    case ZYDIS_MNEMONIC_SUBSD:
    case ZYDIS_MNEMONIC_SUBSS:
    case ZYDIS_MNEMONIC_MULSD:
    case ZYDIS_MNEMONIC_MULSS:
    case ZYDIS_MNEMONIC_MULPD:
    case ZYDIS_MNEMONIC_MULPS:
    case ZYDIS_MNEMONIC_VADDSD:
    case ZYDIS_MNEMONIC_VADDPD:
    case ZYDIS_MNEMONIC_VMULSD:
    case ZYDIS_MNEMONIC_VMULPD:
      return {3, 1, 0};
    case ZYDIS_MNEMONIC_VFMADD231SD:
    case ZYDIS_MNEMONIC_VFMADD231PD:
    case ZYDIS_MNEMONIC_VFMADD213SD:
    case ZYDIS_MNEMONIC_VFMADD132SD:
      return {5, 1, 0};
    case ZYDIS_MNEMONIC_DIVSD:
    case ZYDIS_MNEMONIC_DIVSS:
    case ZYDIS_MNEMONIC_SQRTSD:
    case ZYDIS_MNEMONIC_VDIVSD:
    case ZYDIS_MNEMONIC_VSQRTSD:
      return {14, 4, 0};
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVZX:
      return {i.accesses > 0 ? 0u : 1u, 1, 0};  // Chains adds L1's latency to a load
    case ZYDIS_MNEMONIC_PAUSE:
      return {1, 1, machine.instructions.pause_cycles};
    case ZYDIS_MNEMONIC_MFENCE:
      return {1, 1, machine.instructions.mfence_cycles};
    case ZYDIS_MNEMONIC_LFENCE:
      return {1, 1, machine.instructions.lfence_cycles};
    case ZYDIS_MNEMONIC_CPUID:
      return {1, 1, machine.instructions.cpuid_cycles};
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_ENDBR64:
      return {0, 1, 0};
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_CALL:
    case ZYDIS_MNEMONIC_RET:
      return {0, 1, 0};  // the stack engine updates RSP
    default:
      return {1, 1, 0};
  }
}

unsigned access_uops(const Instruction& i) {
  unsigned uops = 0;
  for (unsigned k = 0; k < i.accesses; ++k) uops += i.access[k].read && i.access[k].write ? 2 : 0;
  return uops;
}

/// One numbering of all registers: 16 general, 16 vector, the flags.
constexpr unsigned kFlagsResource = 32;
constexpr unsigned kResources = 33;

std::uint64_t reads(const Instruction& i) {
  return i.gpr_read | (std::uint64_t{i.vector_read} << 16) |
         (std::uint64_t{i.flags_read != 0} << kFlagsResource);
}
std::uint64_t writes(const Instruction& i) {
  return i.gpr_write | (std::uint64_t{i.vector_write} << 16) |
         (std::uint64_t{i.flags_kill != 0} << kFlagsResource);
}

bool clears_register(const Instruction& i) {  // XOR r,r and the like break dependences
  switch (i.mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_VPXOR:
      return i.accesses == 0 && (i.gpr_read & i.gpr_write) == i.gpr_read && i.length <= 4 &&
             (i.bytes[i.length - 1] & 0xc0) == 0xc0 &&
             (i.bytes[i.length - 1] & 7) == ((i.bytes[i.length - 1] >> 3) & 7);
    default:
      return false;
  }
}

/// Whether an instruction begins when all earlier ones are complete (SDM Vol. 3A, 8.3, and Vol. 2, RDTSCP).
/// MFENCE waits for accesses to memory alone, which here are taken for all.
bool waits_for_all(const Instruction& i) {
  return i.mnemonic == ZYDIS_MNEMONIC_LFENCE || i.mnemonic == ZYDIS_MNEMONIC_MFENCE ||
         i.mnemonic == ZYDIS_MNEMONIC_CPUID || i.mnemonic == ZYDIS_MNEMONIC_RDTSCP;
}

bool jumps_to_itself(std::span<const Instruction> block) {
  return block.back().kind == InstructionClass::kConditionalJump && block.back().target == block.front().pc;
}

template <class Visit>
void for_each_bit(std::uint64_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<unsigned>(__builtin_ctzll(mask)));
}

/// For each register: when its value is ready, and which values at block entry it depends on.
struct Chains {
  std::array<unsigned, kResources> ready_cycles{};
  std::array<std::uint64_t, kResources> sources{};

  unsigned l1_latency_cycles;
  unsigned longest_cycles = 0;  // of all chains from block entry

  explicit Chains(unsigned l1_latency_cycles) : l1_latency_cycles(l1_latency_cycles) {
    for (unsigned r = 0; r < kResources; ++r) sources[r] = std::uint64_t{1} << r;
  }

  void step(const Instruction& i, unsigned latency_cycles) {
    unsigned start = 0;
    std::uint64_t from = 0;
    if (!clears_register(i))
      for_each_bit(reads(i), [&](unsigned r) {
        start = std::max(start, ready_cycles[r]);
        from |= sources[r];
      });
    bool loads = false;
    for (unsigned k = 0; k < i.accesses; ++k) loads |= i.access[k].read;
    const unsigned done = start + latency_cycles + (loads ? l1_latency_cycles : 0);
    longest_cycles = std::max(longest_cycles, done);
    for_each_bit(writes(i), [&](unsigned r) {
      if (r == kRsp && latency_cycles == 0) return;
      ready_cycles[r] = done;
      sources[r] = from;
    });
  }

  /// The longest chain from a register to itself: the least time of one iteration of a loop over the block.
  unsigned recurrence_cycles() const {
    unsigned longest = 0;
    for (unsigned r = 0; r < kResources; ++r)
      if (sources[r] >> r & 1) longest = std::max(longest, ready_cycles[r]);
    return longest;
  }
};

}  // namespace

std::uint32_t block_cost_ticks(std::span<const Instruction> block, const machine::Description& machine) {
  Chains chains(machine.l1d.latency_cycles);
  unsigned uops = 0;
  unsigned serial_cycles = 0;
  for (const Instruction& i : block) {
    const OperationCost cost = operation_cost(i, machine);
    uops += cost.uops + access_uops(i);
    serial_cycles += cost.serial_cycles + (i.locked ? machine.instructions.locked_cycles : 0);
    if (!waits_for_all(i)) chains.step(i, cost.latency_cycles);
  }
  if (block.size() > 1 && block.back().kind == InstructionClass::kConditionalJump && uops > 1)
    --uops;  // CMP and Jcc fuse
  const unsigned width_ticks = uops * kTicksPerCycle / std::max(1u, machine.core.issue_width);
  const bool is_awaited = !block.empty() && waits_for_all(block.back());
  // LFENCE beside an addition takes no longer than LFENCE alone, and beside a load longer by the load's
  // latency (measured on the part of records intel-6-167).
  const unsigned awaited_cycles = chains.longest_cycles > 1 ? chains.longest_cycles : 0;
  const unsigned chain_cycles = is_awaited ? awaited_cycles : chains.recurrence_cycles();
  const unsigned chain_ticks = chain_cycles * kTicksPerCycle;
  return std::max({1u, width_ticks, chain_ticks}) + serial_cycles * kTicksPerCycle;
}

std::uint32_t counted_ticks(std::span<const Instruction> block, const machine::Description& machine) {
  const auto pauses = static_cast<std::uint32_t>(std::count_if(
      block.begin(), block.end(), [](const Instruction& i) { return i.kind == InstructionClass::kPause; }));
  return kCountedTicks * static_cast<std::uint32_t>(block.size()) +
         pauses * machine.instructions.pause_cycles * static_cast<std::uint32_t>(kTicksPerCycle);
}

void block_data_flow(std::span<const Instruction> block, const machine::Description& machine,
                     std::span<DataFlow> flow) {
  struct Source {
    std::uint16_t registers = 0;                    // at entry
    std::uint64_t loads = 0;                        // of the block
    unsigned register_cycles = 0, load_cycles = 0;  // since then

    void add(const Source& other) {
      registers |= other.registers;
      loads |= other.loads;
      register_cycles = std::max(register_cycles, other.register_cycles);
      load_cycles = std::max(load_cycles, other.load_cycles);
    }
    void pass(unsigned cycles) {
      if (registers != 0) register_cycles += cycles;
      if (loads != 0) load_cycles += cycles;
    }
  };
  const auto bounded = [](unsigned cycles) {
    constexpr unsigned kMost = 0xff;
    return static_cast<std::uint8_t>(std::min<unsigned>(cycles, kMost));
  };
  std::array<Source, kGprCount> sources;
  std::vector<std::uint16_t> overwritten(block.size());  // registers, in front of each instruction
  for (unsigned r = 0; r < kGprCount; ++r) sources[r].registers = static_cast<std::uint16_t>(1u << r);
  for (std::size_t n = 0; n < block.size(); ++n) {
    const Instruction& i = block[n];
    bool loads = false;
    for (unsigned k = 0; k < i.accesses; ++k) {
      const MemoryOperand& m = i.access[k].operand;
      Source address;
      for (const int reg : {m.base, m.index}) {
        if (reg < 0 || reg == kRsp || reg >= static_cast<int>(kGprCount)) continue;
        address.add(sources[static_cast<unsigned>(reg)]);
      }
      flow[2 * n + k].address_registers = address.registers;
      flow[2 * n + k].address_loads = address.loads;
      flow[2 * n + k].register_cycles = bounded(address.register_cycles);
      flow[2 * n + k].load_cycles = bounded(address.load_cycles);
      loads = loads || i.access[k].read;
    }
    Source from;
    if (!clears_register(i))
      for_each_bit(i.gpr_read, [&](unsigned r) {
        if (r != kRsp) from.add(sources[r]);
      });
    const unsigned cycles = operation_cost(i, machine).latency_cycles;
    from.pass(cycles);
    // A loaded value depends only on the load, which itself waits for its address. ADD with a memory operand
    // computes from it.
    const Source result = loads ? Source{.loads = std::uint64_t{1} << n, .load_cycles = cycles} : from;
    for_each_bit(i.gpr_write, [&](unsigned r) {
      if (r != kRsp) sources[r] = result;
    });
    if (n + 1 < block.size()) overwritten[n + 1] = static_cast<std::uint16_t>(overwritten[n] | i.gpr_write);
  }
  std::uint64_t address_loads = 0;
  const bool repeats = !block.empty() && jumps_to_itself(block);
  for (std::size_t at = 0; at < flow.size(); ++at) {
    DataFlow& access = flow[at];
    address_loads |= access.address_loads;
    if (!repeats) continue;
    Source before;
    for_each_bit(access.address_registers, [&](unsigned r) {
      if (sources[r].load_cycles != 0 || (overwritten[at / 2] >> r & 1)) before.add(sources[r]);
    });
    // The loads in front of this access have run again since.
    access.earlier_loads = before.loads >> (at / 2) << (at / 2);
    access.earlier_cycles = bounded(before.load_cycles + access.register_cycles);
    address_loads |= access.earlier_loads;
  }
  for (std::size_t n = 0; n < block.size(); ++n) {
    std::uint16_t results = 0;
    for (unsigned r = 0; r < kGprCount; ++r)
      if (sources[r].loads >> n & 1) results |= static_cast<std::uint16_t>(1u << r);
    for (std::size_t access : {2 * n, 2 * n + 1}) {
      flow[access].results = results;
      flow[access].feeds_address = results != 0 || (address_loads >> n & 1);
    }
  }
}

}  // namespace elision::vm
