// SPDX-License-Identifier: Apache-2.0
#include "vm/decode/instruction.h"

#include <gtest/gtest.h>

#include <vector>

#include "vm/cpu/cpu.h"
#include "vm/decode/guest_code.h"
#include "vm/translate/block_cost.h"

namespace elision::vm {
namespace {

Instruction decoded(std::vector<std::uint8_t> bytes, std::uint64_t pc = 0x1000) {
  bytes.resize(15, 0x90);
  return decode(pc, bytes);
}

constexpr std::uint32_t kCarry = 1, kZero = 0x40;

TEST(Instruction, PushWritesTheSlotBelowTheStackPointer) {
  const Instruction i = decoded({0x50});  // push rax
  ASSERT_EQ(i.accesses, 1);
  EXPECT_TRUE(i.access[0].write);
  EXPECT_FALSE(i.access[0].read);
  EXPECT_EQ(i.access[0].operand.base, kRsp);
  EXPECT_EQ(i.access[0].operand.displacement, -8);
  EXPECT_EQ(i.access[0].size, 8u);
}

TEST(Instruction, PopReadsTheSlotAtTheStackPointer) {
  const Instruction i = decoded({0x58});  // pop rax
  ASSERT_EQ(i.accesses, 1);
  EXPECT_TRUE(i.access[0].read);
  EXPECT_EQ(i.access[0].operand.displacement, 0);
}

TEST(Instruction, CallWritesItsReturnAddress) {
  const Instruction i = decoded({0xe8, 0x10, 0, 0, 0});
  EXPECT_EQ(i.kind, InstructionClass::kCall);
  EXPECT_EQ(i.target, 0x1015u);
  ASSERT_EQ(i.accesses, 1);
  EXPECT_EQ(i.access[0].operand.displacement, -8);
}

TEST(Instruction, AddressSizePrefixSparesImpliedStack) {
  for (const std::vector<std::uint8_t>& bytes :
       {std::vector<std::uint8_t>{0x67, 0xe8, 0x10, 0, 0, 0}, {0x67, 0x50}, {0x67, 0xc3}}) {
    const Instruction i = decoded(bytes);  // addr32 call, push rax, ret
    ASSERT_EQ(i.accesses, 1);
    EXPECT_FALSE(i.access[0].operand.address_size_32);
  }
  EXPECT_TRUE(decoded({0x67, 0x8b, 0x04, 0x24}).access[0].operand.address_size_32);  // mov eax, [esp]
}

TEST(Instruction, TruncatedInstructionIsIncomplete) {
  const std::vector<std::uint8_t> bytes = {0x66, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8};  // mov rax, imm64
  for (std::size_t have = 0; have < bytes.size(); ++have) {
    const Instruction i = decode(0x1000, std::span(bytes).first(have));
    EXPECT_EQ(i.kind, InstructionClass::kIncomplete) << have;
    EXPECT_EQ(i.length, 0);
    EXPECT_EQ(i.looked_at, have);
  }
  EXPECT_EQ(decode(0x1000, bytes).length, bytes.size());
}

TEST(Instruction, MoreThanFifteenBytesAreTooMany) {
  const std::vector<std::uint8_t> prefixes(20, 0x66);
  EXPECT_EQ(decode(0x1000, prefixes).kind, InstructionClass::kTooLong);
  EXPECT_EQ(decode(0x1000, std::span(prefixes).first(15)).kind, InstructionClass::kTooLong);
  EXPECT_EQ(decode(0x1000, std::span(prefixes).first(14)).kind, InstructionClass::kIncomplete);
}

TEST(Instruction, LeaAndPrefetchTouchNoMemory) {
  EXPECT_EQ(decoded({0x48, 0x8d, 0x00}).accesses, 0);
  EXPECT_EQ(decoded({0x0f, 0x18, 0x00}).accesses, 0);
}

TEST(Instruction, ShiftByRegisterMayLeaveTheFlagsAlone) {
  EXPECT_EQ(decoded({0xd3, 0xe0}).flags_kill, 0u);        // shl eax, cl
  EXPECT_EQ(decoded({0xc1, 0xe0, 0x00}).flags_kill, 0u);  // shl eax, 0
  EXPECT_EQ(decoded({0xc1, 0xe0, 0x20}).flags_kill, 0u);  // shl eax, 32: counts as 0
  EXPECT_NE(decoded({0xc1, 0xe0, 0x01}).flags_kill, 0u);
}

TEST(Instruction, PartialWritesDoNotKillTheRegister) {
  EXPECT_EQ(decoded({0xb0, 0x01}).gpr_kill, 0);                 // mov al, 1
  EXPECT_EQ(decoded({0xb8, 1, 0, 0, 0}).gpr_kill, 1u << kRax);  // mov eax, 1
  EXPECT_EQ(decoded({0x0f, 0x44, 0xc1}).gpr_kill, 0);           // cmove eax, ecx
  EXPECT_NE(decoded({0x0f, 0x44, 0xc1}).gpr_read & 1u << kRax, 0);
}

TEST(Instruction, IncrementLeavesCarryAlone) {
  const Instruction i = decoded({0xff, 0xc0});  // inc eax
  EXPECT_EQ(i.flags_kill & kCarry, 0u);
  EXPECT_EQ(i.flags_kill & kZero, kZero);
}

TEST(Instruction, LockedAndExchangedMemoryIsAtomic) {
  EXPECT_TRUE(decoded({0xf0, 0x48, 0x0f, 0xc1, 0x07}).locked);  // lock xadd [rdi], rax
  EXPECT_TRUE(decoded({0x87, 0x07}).locked);                    // xchg [rdi], eax
  EXPECT_FALSE(decoded({0x87, 0xc1}).locked);                   // xchg ecx, eax
}

TEST(Instruction, AlwaysAbortInstructionsAreTheVirtualCpusOwn) {
  const Instruction begin = decoded({0xf3, 0xc7, 0xf8, 0x10, 0, 0, 0});
  EXPECT_EQ(begin.kind, InstructionClass::kAlwaysAbortBegin);
  EXPECT_EQ(begin.target, 0x1017u);
  EXPECT_EQ(decoded({0xc7, 0xf8, 0x10, 0, 0, 0}).kind, InstructionClass::kTransactionBegin);
  EXPECT_EQ(decoded({0xf3, 0x0f, 0x01, 0xd6}).kind, InstructionClass::kAlwaysAbortTest);
  EXPECT_EQ(decoded({0x0f, 0x01, 0xd6}).kind, InstructionClass::kTransactionTest);
}

TEST(Instruction, UntranslatableInstructionIsUnsupported) {
  EXPECT_EQ(decoded({0x62, 0xf1, 0x7d, 0x48, 0x6f, 0x00}).kind, InstructionClass::kUnsupported);  // AVX-512
  EXPECT_EQ(decoded({0x65, 0x48, 0x8b, 0x00}).kind, InstructionClass::kUnsupported);              // gs:
  EXPECT_EQ(decoded({0xcd, 0x80}).kind, InstructionClass::kUnsupported);                          // int 0x80
  EXPECT_EQ(decoded({0x06}).kind, InstructionClass::kUnsupported);  // not in 64-bit mode
}

TEST(Instruction, NothingLeavesTranslatedCodeByItself) {
  EXPECT_EQ(decoded({0x48, 0xcf}).kind, InstructionClass::kUnsupported);        // iretq
  EXPECT_EQ(decoded({0x0f, 0x01, 0xef}).kind, InstructionClass::kUnsupported);  // wrpkru
  const Instruction lock_xbegin = decoded({0xf0, 0xc7, 0xf8, 0, 0, 0, 0});
  EXPECT_EQ(lock_xbegin.kind, InstructionClass::kUndefined);
  EXPECT_EQ(lock_xbegin.length, 0);
}

TEST(Instruction, SegmentRegistersAreNotTheGuestsToWrite) {
  EXPECT_EQ(decoded({0x8e, 0xe8}).kind, InstructionClass::kUnsupported);              // mov gs, eax
  EXPECT_EQ(decoded({0x0f, 0xa9}).kind, InstructionClass::kUnsupported);              // pop gs
  EXPECT_EQ(decoded({0x8c, 0xe8}).kind, InstructionClass::kPlain);                    // mov eax, gs
  EXPECT_EQ(decoded({0xff, 0x2f}).kind, InstructionClass::kUnsupported);              // far jmp [rdi]
  EXPECT_EQ(decoded({0xcb}).kind, InstructionClass::kUnsupported);                    // far ret
  EXPECT_EQ(decoded({0xf3, 0x0f, 0xc7, 0xf8}).kind, InstructionClass::kUnsupported);  // rdpid eax
  EXPECT_TRUE(decoded({0xf3, 0x48, 0x0f, 0xae, 0xd0}).aborts_transaction);            // wrfsbase rax
}

TEST(Instruction, RipRelativeOperandsKnowTheirTarget) {
  const Instruction i = decoded({0x48, 0x8b, 0x05, 0x10, 0, 0, 0});  // mov rax, [rip+0x10]
  ASSERT_EQ(i.accesses, 1);
  EXPECT_TRUE(i.access[0].operand.rip_relative);
  EXPECT_EQ(i.access[0].operand.displacement, 0x1017);
  EXPECT_EQ(i.displacement_offset, 3);
  const Instruction with_immediate = decoded({0x83, 0x3d, 0x10, 0, 0, 0, 0x05});  // cmp [rip+0x10], 5
  EXPECT_EQ(with_immediate.immediate_bytes, 1);
}

// --- cost ---

machine::Description four_wide() {
  machine::Description m;
  m.core.issue_width = 4;
  m.instructions.pause_cycles = 9;
  m.l1d.latency_cycles = 4;
  return m;
}

std::uint32_t cost_cycles(const std::vector<std::vector<std::uint8_t>>& code,
                          const machine::Description& machine = four_wide()) {
  std::vector<Instruction> block;
  for (const auto& bytes : code) block.push_back(decoded(bytes));
  return block_cost_ticks(block, machine) >> kTickShift;
}

TEST(BlockCost, IndependentInstructionsCostTheirWidth) {
  const std::vector<std::vector<std::uint8_t>> moves(16, {0xb8, 1, 0, 0, 0});
  EXPECT_EQ(cost_cycles(moves), 4u);
}

TEST(BlockCost, DependentChainCostsItsLatency) {
  const std::vector<std::vector<std::uint8_t>> adds(16, {0x48, 0xff, 0xc0});  // inc rax
  EXPECT_EQ(cost_cycles(adds), 16u);
}

TEST(BlockCost, PointerChaseInL1CostsLoadLatency) {
  const std::vector<std::vector<std::uint8_t>> loads(4, {0x48, 0x8b, 0x00});  // mov rax, [rax]
  machine::Description machine = four_wide();
  EXPECT_EQ(cost_cycles(loads, machine), 4u * 4u);
  machine.l1d.latency_cycles = 5;
  EXPECT_EQ(cost_cycles(loads, machine), 4u * 5u);
}

TEST(BlockCost, ClearingARegisterBreaksTheChain) {
  std::vector<std::vector<std::uint8_t>> code;
  for (int k = 0; k < 8; ++k) {
    code.push_back({0x48, 0xff, 0xc0});  // inc rax
    code.push_back({0x31, 0xc0});        // xor eax, eax
  }
  EXPECT_EQ(cost_cycles(code), 4u);
}

TEST(BlockCost, AnImmediateOperandClearsNothing) {
  const std::vector<std::vector<std::uint8_t>> subtractions(8, {0x48, 0x83, 0xe8, 0xc0});  // sub rax, -64
  EXPECT_EQ(cost_cycles(subtractions), 8u);
}

TEST(BlockCost, ClearingAVectorBreaksTheChain) {
  const std::vector<std::uint8_t> square_xmm0 = {0xf3, 0x0f, 0x59, 0xc0};        // mulss xmm0, xmm0
  const std::vector<std::uint8_t> square_xmm8 = {0xf3, 0x45, 0x0f, 0x59, 0xc0};  // mulss xmm8, xmm8
  const std::vector<std::pair<std::vector<std::uint8_t>, bool>> cases = {
      {{0x66, 0x0f, 0xef, 0xc0}, true},        // pxor xmm0, xmm0
      {{0x66, 0x0f, 0x57, 0xc0}, true},        // xorpd xmm0, xmm0
      {{0xc5, 0xf8, 0x57, 0xc0}, true},        // vxorps xmm0, xmm0, xmm0
      {{0x66, 0x45, 0x0f, 0xef, 0xc0}, true},  // pxor xmm8, xmm8
      {{0x41, 0x0f, 0x57, 0xc0}, false},       // xorps xmm0, xmm8
      {{0xc5, 0xf1, 0xef, 0xc0}, false}};      // vpxor xmm0, xmm1, xmm0
  for (const auto& [code, clears] : cases) {
    const auto& square = code.size() == 5 ? square_xmm8 : square_xmm0;
    EXPECT_EQ(cost_cycles({code, square, square}) < 4, clears) << testing::PrintToString(code);
  }
}

const std::vector<std::uint8_t> kAddToXmm0 = {0xf3, 0x0f, 0x58, 0xc1};        // addss xmm0, xmm1
const std::vector<std::uint8_t> kLoadXmm1 = {0xf3, 0x0f, 0x10, 0x0c, 0x87};   // movss xmm1, [rdi+4*rax]
const std::vector<std::uint8_t> kAddLoaded = {0xf3, 0x0f, 0x58, 0x04, 0x87};  // addss xmm0, [rdi+4*rax]
const std::vector<std::uint8_t> kSquareXmm1 = {0xf3, 0x0f, 0x59, 0xc9};       // mulss xmm1, xmm1
const std::vector<std::uint8_t> kIncrementRax = {0x48, 0xff, 0xc0};

TEST(BlockCost, ChainsThatBeginAnewInEachIterationOverlap) {
  EXPECT_EQ(cost_cycles({kLoadXmm1, kSquareXmm1, kAddToXmm0, kIncrementRax}), 3u);
  const std::vector<std::uint8_t> square_xmm0 = {0xf3, 0x0f, 0x59, 0xc0};
  EXPECT_EQ(cost_cycles({kLoadXmm1, square_xmm0, kAddToXmm0, kIncrementRax}), 4u + 3);
}

TEST(BlockCost, ALoadIsMadeBeforeTheOtherOperandIsReady) {
  EXPECT_EQ(cost_cycles({kAddLoaded, kIncrementRax}), 3u);
  // The address waits: add rax, [rax].
  EXPECT_EQ(cost_cycles({{0x48, 0x03, 0x00}}), 4u + 1);
}

TEST(BlockCost, ARecurrenceOverTwoIterationsCostsHalfInEach) {
  EXPECT_EQ(cost_cycles({{0x48, 0x89, 0xd1},        // mov rcx, rdx
                         {0x49, 0x8d, 0x50, 0x01},  // lea rdx, [r8+1]
                         {0x48, 0x0f, 0xaf, 0xc9},  // imul rcx, rcx
                         {0x49, 0x89, 0xc8}}),      // mov r8, rcx
            (3u + 1) / 2);
  // Registers that are exchanged return after two iterations; half of the latency, 3 + 1 + 3 cycles, counts
  // in each: rcx = rdx * rdx * rdx; rdx = rsi + 1; rsi = rcx.
  EXPECT_EQ(block_cost_ticks(std::vector<Instruction>{decoded({0x48, 0x89, 0xd1}),        // mov rcx, rdx
                                                      decoded({0x48, 0x0f, 0xaf, 0xca}),  // imul rcx, rdx
                                                      decoded({0x48, 0x0f, 0xaf, 0xca}),  // imul rcx, rdx
                                                      decoded({0x48, 0x8d, 0x56, 0x01}),  // lea rdx, [rsi+1]
                                                      decoded({0x48, 0x89, 0xce})},       // mov rsi, rcx
                             four_wide()),
            7u * kTicksPerCycle / 2);
}

TEST(BlockCost, CopiesOfRegistersTakeNoTime) {
  EXPECT_EQ(cost_cycles({{0x48, 0x0f, 0xaf, 0xc0},  // imul rax, rax
                         {0x48, 0x89, 0xc1},        // mov rcx, rax
                         {0x48, 0x89, 0xc8}}),      // mov rax, rcx
            3u);
}

TEST(BlockCost, LfenceWaitsForTheLongestChain) {
  const std::vector<std::vector<std::uint8_t>> load_and_add = {{0x48, 0x8b, 0x08}, {0x48, 0xff, 0xc1}};
  EXPECT_EQ(cost_cycles(load_and_add), 0u) << "mov rcx, [rax]; inc rcx";
  auto fenced = load_and_add;
  fenced.push_back({0x0f, 0xae, 0xe8});
  machine::Description machine = four_wide();
  machine.instructions.lfence_cycles = 7;
  EXPECT_EQ(cost_cycles(fenced, machine), 4u + 1 + 7);
  EXPECT_EQ(cost_cycles({{0x48, 0xff, 0xc1}, {0x0f, 0xae, 0xe8}}, machine), 7u) << "inc rcx";
}

// --- data flow ---

std::vector<DataFlow> flow_of(std::vector<Instruction> block) {
  std::vector<DataFlow> flow(2 * block.size());
  block_data_flow(block, four_wide(), flow);
  return flow;
}

TEST(DataFlow, AddressIsComputedFromALoad) {
  const std::vector<DataFlow> flow = flow_of({decoded({0x48, 0x8b, 0x08}),        // mov rcx, [rax]
                                              decoded({0x48, 0x0f, 0xaf, 0xca}),  // imul rcx, rdx
                                              decoded({0x48, 0xff, 0xc1}),        // inc rcx
                                              decoded({0x48, 0x8b, 0x19})});      // mov rbx, [rcx]
  EXPECT_EQ(flow[6].address_loads, 1u);
  EXPECT_EQ(flow[6].load_cycles, 3 + 1);
  EXPECT_EQ(flow[6].register_cycles, 3 + 1) << "rdx";
  EXPECT_EQ(flow[6].earlier_loads, 0u);
  EXPECT_TRUE(flow[0].feeds_address);
}

TEST(DataFlow, ALoadDoesNotPayForAnotherOperand) {
  const std::vector<DataFlow> flow = flow_of({decoded({0x48, 0x8b, 0x08}),          // mov rcx, [rax]
                                              decoded({0x48, 0xff, 0xc3}),          // inc rbx
                                              decoded({0x48, 0xff, 0xc3}),          // inc rbx
                                              decoded({0x48, 0x8b, 0x14, 0x0b})});  // mov rdx, [rbx+rcx]
  EXPECT_EQ(flow[6].address_loads, 1u);
  EXPECT_EQ(flow[6].load_cycles, 0);
  EXPECT_EQ(flow[6].register_cycles, 2);
}

TEST(DataFlow, ALoadedValueThatIsOverwrittenIsOfTheLoadBefore) {
  std::vector<Instruction> block = {decoded({0x48, 0x01, 0xc8}),  // add rax, rcx
                                    decoded({0x48, 0x8b, 0x00}),  // mov rax, [rax]
                                    decoded({0x75, 0xf8})};       // jne to the first
  block.back().target = block.front().pc;
  EXPECT_EQ(flow_of(block)[2].earlier_loads, 2u);
  EXPECT_EQ(flow_of(block)[2].earlier_cycles, 1);
}

TEST(DataFlow, AnOperandInMemoryIsALoadAndAComputation) {
  std::vector<Instruction> block = {decoded({0x48, 0x03, 0x00}),  // add rax, [rax]
                                    decoded({0x75, 0xfb})};       // jne to the first
  block.back().target = block.front().pc;
  EXPECT_EQ(flow_of(block)[0].earlier_loads, 1u);
  EXPECT_EQ(flow_of(block)[0].earlier_cycles, 1);
}

TEST(DataFlow, LoadedPointersOfALoopAreLeftToTheRegister) {
  std::vector<Instruction> block = {decoded({0x48, 0x8b, 0x00}),  // mov rax, [rax]
                                    decoded({0x48, 0x85, 0xc0}),  // test rax, rax
                                    decoded({0x75, 0xf8})};       // jne to the first
  block.back().target = block.front().pc;
  EXPECT_EQ(flow_of(block)[0].earlier_loads, 0u);
  EXPECT_EQ(flow_of(block)[0].results, 1u);
}

TEST(DataFlow, LoopsAddressIsComputedFromTheLoadBefore) {
  std::vector<Instruction> block = {decoded({0x48, 0x8b, 0x08}),  // mov rcx, [rax]
                                    decoded({0x48, 0x01, 0xc8}),  // add rax, rcx
                                    decoded({0x48, 0xff, 0xc0}),  // inc rax
                                    decoded({0x75, 0xf5})};       // jne to the first
  block.back().target = block.front().pc;
  EXPECT_EQ(flow_of(block)[0].earlier_loads, 1u);
  EXPECT_EQ(flow_of(block)[0].earlier_cycles, 1 + 1);
  EXPECT_TRUE(flow_of(block)[0].feeds_address);
  block.back().target += 1;
  EXPECT_EQ(flow_of(block)[0].earlier_loads, 0u) << "it goes elsewhere";
}

TEST(DataFlow, AStoredValueMayBecomeAnAddress) {
  EXPECT_TRUE(flow_of({decoded({0x48, 0x8b, 0x08}),  // mov rcx, [rax]
                       decoded({0x48, 0x89, 0x0b}),  // mov [rbx], rcx
                       decoded({0x31, 0xc9})})[0]    // xor ecx, ecx
                  .feeds_address);
  EXPECT_FALSE(flow_of({decoded({0x48, 0x8b, 0x08}),  // mov rcx, [rax]
                        decoded({0x89, 0x0b}),        // mov [rbx], ecx: no room for a pointer
                        decoded({0x31, 0xc9})})[0]    // xor ecx, ecx
                   .feeds_address);
}

TEST(BlockCost, PauseSerialises) { EXPECT_GE(cost_cycles({{0xf3, 0x90}}), 9u); }

// --- liveness ---

class GuestCodeTest : public testing::Test {
 protected:
  DecodedBlock block_of(std::vector<std::uint8_t> bytes) {
    bytes_ = std::move(bytes);
    bytes_.resize(bytes_.size() + 32, 0xc3);
    return code_.block(reinterpret_cast<std::uint64_t>(bytes_.data()));
  }
  std::vector<std::uint8_t> bytes_;
  bool writable_ = false;
  static constexpr std::uint64_t kEnd = 0x7ffffffff000;
  GuestCode code_{[](std::uint64_t pc) { return pc < 0x1000 || pc >= kEnd ? 0 : kEnd; },
                  [this](std::uint64_t) { return writable_; }};
};

TEST_F(GuestCodeTest, FlagsAreLiveBetweenCompareAndBranchOnly) {
  const DecodedBlock b = block_of({0x48, 0x8b, 0x07,  // mov rax, [rdi]
                                   0x39, 0xd8,        // cmp eax, ebx
                                   0x48, 0x8b, 0x0e,  // mov rcx, [rsi]
                                   0x74, 0x00});      // je
  ASSERT_EQ(b.instructions.size(), 4u);
  EXPECT_EQ(b.live_flags[0], 0u);
  EXPECT_EQ(b.live_flags[1], 0u);
  EXPECT_NE(b.live_flags[2], 0u);
}

TEST_F(GuestCodeTest, RegisterIsDeadBeforeOverwrite) {
  const DecodedBlock b = block_of({0x48, 0x8b, 0x07, 0xc3});  // mov rax, [rdi]; ret
  EXPECT_EQ(b.live_gpr[0] >> kRax & 1, 0);
  EXPECT_EQ(b.live_gpr[0] >> kRdi & 1, 1);
}

TEST_F(GuestCodeTest, CodeThatReadsIncomingFlagsIsFound) {
  const std::vector<std::uint8_t> reads = {0x0f, 0x92, 0xc0, 0xc3};  // setb al; ret
  const std::vector<std::uint8_t> writes = {0x31, 0xc0, 0x0f, 0x92, 0xc0, 0xc3};
  EXPECT_TRUE(code_.reads_incoming_flags(reinterpret_cast<std::uint64_t>(reads.data())));
  EXPECT_FALSE(code_.reads_incoming_flags(reinterpret_cast<std::uint64_t>(writes.data())));
}

TEST_F(GuestCodeTest, FlagsDieAtReturnsUnlessPassed) {
  const std::vector<std::uint8_t> code = {0x48, 0x8b, 0x07, 0xc3};
  const auto pc = reinterpret_cast<std::uint64_t>(code.data());
  EXPECT_EQ(code_.flags_live_at(pc), 0u);
  code_.assume_flags_live();
  EXPECT_EQ(code_.flags_live_at(pc), kArithmeticFlags);
}

TEST_F(GuestCodeTest, NothingIsConcludedFromCodeThatMayChange) {
  static const std::uint8_t kBytes[] = {0x85, 0xc0, 0xc3};  // test eax, eax; ret
  const auto pc = reinterpret_cast<std::uint64_t>(kBytes);
  EXPECT_EQ(code_.flags_live_at(pc) & 1, 0u);
  code_.forget();
  writable_ = true;
  EXPECT_EQ(code_.flags_live_at(pc) & 1, 1u);
}

TEST_F(GuestCodeTest, MissingByteIsFirstUnreadableOne) {
  EXPECT_EQ(code_.missing_byte(0x10), 0x10u);
  EXPECT_EQ(code_.missing_byte(~0ull), ~0ull);
  EXPECT_EQ(code_.missing_byte(~0ull - 10), ~0ull - 10);
}

TEST_F(GuestCodeTest, UnmappedCodeIsReportedNotRead) { EXPECT_TRUE(code_.block(0x10).instructions.empty()); }

}  // namespace
}  // namespace elision::vm
