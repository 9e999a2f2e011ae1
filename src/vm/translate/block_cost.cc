// SPDX-License-Identifier: Apache-2.0
#include "vm/translate/block_cost.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
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

// The labels of several instructions, behind a first `case`: with and without VEX, of one or more numbers,
// and with each order of the operands.
#define ELISION_WITH_VEX(name) ZYDIS_MNEMONIC_##name : case ZYDIS_MNEMONIC_V##name
#define ELISION_FLOATS(name) \
  ELISION_WITH_VEX(name##SS) \
      : case ELISION_WITH_VEX(name##SD) : case ELISION_WITH_VEX(name##PS) : case ELISION_WITH_VEX(name##PD)
#define ELISION_ORDERS(name)                                                                     \
  ZYDIS_MNEMONIC_V##name##SS : case ZYDIS_MNEMONIC_V##name##SD : case ZYDIS_MNEMONIC_V##name##PS \
      : case ZYDIS_MNEMONIC_V##name##PD
#define ELISION_FUSED(name) \
  ELISION_ORDERS(name##132) : case ELISION_ORDERS(name##213) : case ELISION_ORDERS(name##231)

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
    case ELISION_FLOATS(ADD):
    case ELISION_FLOATS(SUB):
    case ELISION_FLOATS(MIN):
    case ELISION_FLOATS(MAX):
    case ELISION_WITH_VEX(COMISS):
    case ELISION_WITH_VEX(COMISD):
    case ELISION_WITH_VEX(UCOMISS):
    case ELISION_WITH_VEX(UCOMISD):
      return {3, 1, 0};
    case ELISION_FLOATS(MUL):
      return {4, 1, 0};
    case ELISION_FUSED(FMADD):
    case ELISION_FUSED(FMSUB):
    case ELISION_FUSED(FNMADD):
    case ELISION_FUSED(FNMSUB):
      return {5, 1, 0};
    case ELISION_WITH_VEX(CVTSI2SS):
    case ELISION_WITH_VEX(CVTSI2SD):
    case ELISION_WITH_VEX(CVTSS2SD):
    case ELISION_WITH_VEX(CVTSD2SS):
    case ELISION_WITH_VEX(CVTTSS2SI):
    case ELISION_WITH_VEX(CVTTSD2SI):
    case ELISION_WITH_VEX(CVTSS2SI):
    case ELISION_WITH_VEX(CVTSD2SI):
    case ELISION_WITH_VEX(CVTPS2PD):
    case ELISION_WITH_VEX(CVTPD2PS):
      return {4, 2, 0};
    case ELISION_WITH_VEX(PMULLW):
    case ELISION_WITH_VEX(PMULHW):
    case ELISION_WITH_VEX(PMULUDQ):
    case ELISION_WITH_VEX(PMADDWD):
      return {5, 1, 0};
    case ELISION_WITH_VEX(PMULLD):
      return {10, 2, 0};
    case ELISION_FLOATS(DIV):
    case ELISION_FLOATS(SQRT):
      return {14, 4, 0};
    case ZYDIS_MNEMONIC_MOV:
      return {0, 1, 0};  // a register only gets another name; Chains adds L1's latency to a load
    case ELISION_WITH_VEX(MOVAPS):
    case ELISION_WITH_VEX(MOVAPD):
    case ELISION_WITH_VEX(MOVDQA):
      return {i.accesses > 0 ? 1u : 0u, 1, 0};
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVZX:
      return {i.accesses > 0 ? 0u : 1u, 1, 0};
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

/// XOR r,r and the like break dependences. What is cleared is the only register that they read.
bool clears_register(const Instruction& i) {
  if (i.accesses != 0) return false;
  switch (i.mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB: {
      const unsigned opcode = i.length < 2 ? 0 : i.bytes[i.length - 2] & 0xfcu;  // in front of ModRM
      return (opcode == 0x28 || opcode == 0x30) && std::has_single_bit(i.gpr_read);
    }
    case ELISION_WITH_VEX(PXOR):
    case ELISION_WITH_VEX(XORPS):
    case ELISION_WITH_VEX(XORPD):
      return std::has_single_bit(i.vector_read);
    default:
      return false;
  }
}

#undef ELISION_WITH_VEX
#undef ELISION_FLOATS
#undef ELISION_ORDERS
#undef ELISION_FUSED

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

/// The longest chains of one execution of a block.
class Chains {
 public:
  explicit Chains(unsigned l1_latency_cycles) : l1_latency_cycles_(l1_latency_cycles) {
    for (unsigned r = 0; r < kResources; ++r) values_[r].depend_on(r, 0);
  }

  void step(const Instruction& i, unsigned latency_cycles) {
    const std::uint64_t addresses = loaded_addresses(i);
    Value result;
    if (reads_memory(i)) result.ready_cycles = l1_latency_cycles_;
    if (!clears_register(i)) {
      // The load begins when its address is known. The operation also needs the other operands; the load does
      // not.
      for_each_bit(addresses, [&](unsigned r) { result.depend_on(values_[r], l1_latency_cycles_); });
      for_each_bit(reads(i) & ~addresses, [&](unsigned r) { result.depend_on(values_[r], 0); });
    }
    result.delay(latency_cycles);
    longest_cycles_ = std::max(longest_cycles_, result.ready_cycles);
    for_each_bit(writes(i), [&](unsigned r) {
      if (r == kRsp && latency_cycles == 0) return;
      values_[r] = result;
      written_ |= std::uint64_t{1} << r;
    });
  }

  /// Of all chains.
  unsigned longest_cycles() const { return longest_cycles_; }

  /// The least time of one iteration of a loop over the block, in ticks: the greatest mean latency, an
  /// iteration, of all cycles of registers in which each one's value goes into the next one's. Chains that
  /// begin anew in each iteration overlap. (Karp, "A characterization of the minimum cycle mean in a
  /// digraph", Discrete Mathematics 23, 1978.)
  std::uint32_t recurrence_ticks() const {
    const auto count = static_cast<unsigned>(__builtin_popcountll(written_));
    // walks[k][r]: the longest walk of k steps that ends in register r, in cycles. Registers that the block
    // does not write are in no cycle.
    std::array<std::array<std::int64_t, kResources>, kResources + 1> walks;
    for_each_bit(written_, [&](unsigned r) { walks[0][r] = 0; });
    for (unsigned k = 1; k <= count; ++k)
      for_each_bit(written_, [&](unsigned to) {
        std::int64_t longest = kNoWalk;
        for_each_bit(values_[to].entries & written_, [&](unsigned from) {
          if (walks[k - 1][from] != kNoWalk)
            longest = std::max(longest, walks[k - 1][from] + values_[to].cycles[from]);
        });
        walks[k][to] = longest;
      });
    std::int64_t greatest = 0;
    for_each_bit(written_, [&](unsigned r) {
      if (walks[count][r] == kNoWalk) return;
      std::int64_t mean = std::numeric_limits<std::int64_t>::max();
      for (unsigned k = 0; k < count; ++k)
        if (walks[k][r] != kNoWalk)
          mean = std::min(mean, (walks[count][r] - walks[k][r]) * std::int64_t{kTicksPerCycle} / (count - k));
      greatest = std::max(greatest, mean);
    });
    return static_cast<std::uint32_t>(greatest);
  }

 private:
  static constexpr std::int64_t kNoWalk = -1;

  /// What a register holds at one point of the block.
  struct Value {
    unsigned ready_cycles = 0;                // the longest chain to it
    std::uint64_t entries = 0;                // registers whose values at block entry it depends on
    std::array<unsigned, kResources> cycles;  // for each of them: the longest chain from there

    void depend_on(unsigned entry, unsigned since) {
      const bool known = entries >> entry & 1;
      cycles[entry] = known ? std::max(cycles[entry], since) : since;
      entries |= std::uint64_t{1} << entry;
    }
    void depend_on(const Value& other, unsigned latency_cycles) {
      ready_cycles = std::max(ready_cycles, other.ready_cycles + latency_cycles);
      for_each_bit(other.entries,
                   [&](unsigned entry) { depend_on(entry, other.cycles[entry] + latency_cycles); });
    }
    void delay(unsigned latency_cycles) {
      ready_cycles += latency_cycles;
      for_each_bit(entries, [&](unsigned entry) { cycles[entry] += latency_cycles; });
    }
  };

  static bool reads_memory(const Instruction& i) {
    return std::any_of(i.access, i.access + i.accesses,
                       [](const MemoryAccess& access) { return access.read; });
  }
  static std::uint64_t loaded_addresses(const Instruction& i) {
    std::uint64_t addresses = 0;
    for (const MemoryAccess& access : std::span(i.access, i.accesses))
      for (const int reg : {access.operand.base, access.operand.index})
        if (access.read && reg >= 0 && reg < static_cast<int>(kGprCount))
          addresses |= std::uint64_t{1} << reg;
    return addresses & reads(i);
  }

  unsigned l1_latency_cycles_;
  std::array<Value, kResources> values_;
  std::uint64_t written_ = 0;  // registers
  unsigned longest_cycles_ = 0;
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
  const unsigned awaited_cycles = chains.longest_cycles() > 1 ? chains.longest_cycles() : 0;
  const unsigned chain_ticks = is_awaited ? awaited_cycles * kTicksPerCycle : chains.recurrence_ticks();
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
  std::uint64_t stored_loads = 0;
  std::vector<std::uint16_t> overwritten(block.size());  // registers, in front of each instruction
  for (unsigned r = 0; r < kGprCount; ++r) sources[r].registers = static_cast<std::uint16_t>(1u << r);
  for (std::size_t n = 0; n < block.size(); ++n) {
    const Instruction& i = block[n];
    bool loads = false, stores_pointer = false;
    std::uint16_t addressing = 1u << kRsp;
    for (unsigned k = 0; k < i.accesses; ++k) {
      const MemoryOperand& m = i.access[k].operand;
      Source address;
      for (const int reg : {m.base, m.index}) {
        if (reg < 0 || reg == kRsp || reg >= static_cast<int>(kGprCount)) continue;
        address.add(sources[static_cast<unsigned>(reg)]);
        addressing = static_cast<std::uint16_t>(addressing | 1u << reg);
      }
      flow[2 * n + k].address_registers = address.registers;
      flow[2 * n + k].address_loads = address.loads;
      flow[2 * n + k].register_cycles = bounded(address.register_cycles);
      flow[2 * n + k].load_cycles = bounded(address.load_cycles);
      loads = loads || i.access[k].read;
      stores_pointer = stores_pointer || (i.access[k].write && i.access[k].size == sizeof(void*));
    }
    if (stores_pointer)
      for_each_bit(i.gpr_read & ~addressing, [&](unsigned r) { stored_loads |= sources[r].loads; });
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
      flow[access].feeds_address = results != 0 || ((address_loads | stored_loads) >> n & 1);
    }
  }
}

}  // namespace elision::vm
