// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/signals/signal_frame.h"

#include <cstddef>
#include <cstring>

#include "vm/host/guest_memory.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kRedZoneBytes = 128;
constexpr std::uint32_t kXstateMagic1 = 0x46505853;
constexpr std::uint32_t kXstateMagic2 = 0x46505845;
constexpr std::uint64_t kXstateFeatures = 7;        // x87, SSE, AVX
constexpr std::uint64_t kContextFlags = 1 | 2 | 4;  // UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
constexpr std::uint64_t kUserFlags = 0x50dd5;  // those that sigreturn may set: AC RF OF DF TF SF ZF AF PF CF
constexpr std::uint64_t kClearedFlags = 0x10500;  // RF DF TF are clear in a handler
constexpr std::uint16_t kUserCodeSegment = 0x33;
constexpr std::uint16_t kUserStackSegment = 0x2b;

struct MachineContext {
  std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
  std::uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags;
  std::uint16_t cs, gs, fs, ss;
  std::uint64_t error, trap_number, old_mask, cr2;
  std::uint64_t fpstate;
  std::uint64_t reserved[8];
};
static_assert(sizeof(MachineContext) == 256);

struct UserContext {
  std::uint64_t flags, link;
  SignalStack stack;
  MachineContext machine;
  SignalSet mask;
};
static_assert(sizeof(UserContext) == 304);

struct Frame {
  std::uint64_t return_address;
  UserContext context;
  siginfo_t info;
};
static_assert(sizeof(Frame) == 440);

struct SoftwareReserved {
  std::uint32_t magic1, extended_size;
  std::uint64_t features;
  std::uint32_t xstate_size, padding[7];
};
static_assert(sizeof(SoftwareReserved) == 48);

/// FXSAVE64 image with the kernel's magic words in its unused end, XSAVE header, upper halves of YMM.
struct Xstate {
  std::uint8_t fx[464];
  SoftwareReserved software;
  std::uint64_t header[8];
  std::uint8_t ymm_high[16][16];
  std::uint32_t magic2;
};
static_assert(offsetof(Xstate, header) == 512 && offsetof(Xstate, ymm_high) == 576);
constexpr std::size_t kXstateBytes = offsetof(Xstate, magic2);

constexpr std::size_t kMxcsrOffset = 24, kXmmOffset = 160;

void reset_x87(std::uint8_t* fx) {
  std::memset(fx, 0, kXmmOffset);
  const std::uint16_t control_word = 0x37f;
  const std::uint32_t mxcsr_mask = 0xffff;
  std::memcpy(fx, &control_word, sizeof control_word);
  std::memcpy(fx + 28, &mxcsr_mask, sizeof mxcsr_mask);
}

Xstate save_vectors(const GuestState& state) {
  Xstate x{};
  reset_x87(x.fx);
  if (state.x87_used != 0) std::memcpy(x.fx, state.fx, kXmmOffset);
  std::memcpy(x.fx + kMxcsrOffset, &state.mxcsr, sizeof state.mxcsr);
  for (unsigned i = 0; i < 16; ++i) {
    std::memcpy(x.fx + kXmmOffset + 16 * i, state.ymm[i], 16);
    std::memcpy(x.ymm_high[i], state.ymm[i] + 16, 16);
  }
  x.software = {kXstateMagic1, kXstateBytes + sizeof kXstateMagic2, kXstateFeatures, kXstateBytes, {}};
  x.header[0] = kXstateFeatures;
  x.magic2 = kXstateMagic2;
  return x;
}

void restore_vectors(GuestState& state, const Xstate& x) {
  Xstate fresh{};
  reset_x87(fresh.fx);
  const bool extended = x.software.magic1 == kXstateMagic1 && x.magic2 == kXstateMagic2;
  const std::uint64_t present = extended ? x.header[0] : 3;
  const std::uint8_t* const x87 = (present & 1) != 0 ? x.fx : fresh.fx;
  // MXCSR and its mask lie inside the x87 part. They do not count as a use of x87.
  if (std::memcmp(x87, fresh.fx, kMxcsrOffset) != 0 || std::memcmp(x87 + 32, fresh.fx + 32, 128) != 0)
    state.x87_used = 1;
  std::memcpy(state.fx, x87, kXmmOffset);
  std::memcpy(&state.mxcsr, x.fx + kMxcsrOffset, sizeof state.mxcsr);
  state.mxcsr &= 0xffff;  // reserved bits would fault in LDMXCSR and FXRSTOR
  std::memcpy(state.fx + kMxcsrOffset, &state.mxcsr, sizeof state.mxcsr);
  for (unsigned i = 0; i < 16; ++i) {
    std::memset(state.ymm[i], 0, 32);
    if ((present & 2) != 0) std::memcpy(state.ymm[i], x.fx + kXmmOffset + 16 * i, 16);
    if ((present & 4) != 0) std::memcpy(state.ymm[i] + 16, x.ymm_high[i], 16);
  }
}

/// A handler starts with cleared vector registers, as in Linux.
void clear_vectors(GuestState& state) {
  std::memset(state.ymm, 0, sizeof state.ymm);
  state.mxcsr = 0x1f80;
  reset_x87(state.fx);
}

MachineContext save_registers(const GuestState& state, const FrameRequest& request, std::uint64_t fpstate) {
  const auto& g = state.gpr;
  return MachineContext{g[kR8],
                        g[kR9],
                        g[kR10],
                        g[kR11],
                        g[kR12],
                        g[kR13],
                        g[kR14],
                        g[kR15],
                        g[kRdi],
                        g[kRsi],
                        g[kRbp],
                        g[kRbx],
                        g[kRdx],
                        g[kRax],
                        g[kRcx],
                        g[kRsp],
                        state.rip,
                        state.rflags,
                        kUserCodeSegment,
                        0,
                        0,
                        kUserStackSegment,
                        request.trap.error,
                        request.trap.number,
                        request.saved_mask.bits,
                        request.trap.address,
                        fpstate,
                        {}};
}

void restore_registers(GuestState& state, const MachineContext& m) {
  const std::uint64_t in_order[kGprCount] = {m.rax, m.rcx, m.rdx, m.rbx, m.rsp, m.rbp, m.rsi, m.rdi,
                                             m.r8,  m.r9,  m.r10, m.r11, m.r12, m.r13, m.r14, m.r15};
  std::memcpy(state.gpr, in_order, sizeof in_order);
  state.rip = m.rip;
  state.rflags = (state.rflags & ~kUserFlags) | (m.rflags & kUserFlags) | 0x202;
}

struct Place {
  std::uint64_t frame, xstate;
};

Place place_frame(const GuestState& state, const FrameRequest& request) {
  std::uint64_t top = state.gpr[kRsp] - kRedZoneBytes;
  const SignalStack& stack = request.signal_stack;
  if ((request.action.flags & SA_ONSTACK) != 0 && (stack.flags & SS_DISABLE) == 0 &&
      !is_in_use(stack, state.gpr[kRsp]))
    top = stack.address + stack.size;
  const std::uint64_t xstate = (top - sizeof(Xstate)) & ~63ull;
  return {((xstate - sizeof(Frame)) & ~15ull) - 8, xstate};
}

}  // namespace

std::array<std::uint8_t, kExtendedStateBytes> extended_state(const GuestState& state) {
  static_assert(kXstateBytes == kExtendedStateBytes);
  const Xstate saved = save_vectors(state);
  std::array<std::uint8_t, kExtendedStateBytes> bytes;
  std::memcpy(bytes.data(), &saved, bytes.size());
  return bytes;
}

bool is_on_stack(std::uint64_t stack_pointer, const SignalStack& stack) {
  return stack_pointer > stack.address && stack_pointer - stack.address <= stack.size;
}

bool is_in_use(const SignalStack& stack, std::uint64_t stack_pointer) {
  return (stack.flags & (SS_DISABLE | kAutodisarm)) == 0 && is_on_stack(stack_pointer, stack);
}

bool enter_handler(GuestState& state, const FrameRequest& request) {
  const Place place = place_frame(state, request);
  const SignalStack& stack = request.signal_stack;
  if ((stack.flags & SS_DISABLE) == 0 && is_on_stack(place.xstate, stack) && place.frame < stack.address)
    return false;  // the alternate stack is too small
  Frame frame{};
  frame.return_address = request.action.restorer;
  frame.context = {kContextFlags, 0, stack, save_registers(state, request, place.xstate), request.saved_mask};
  frame.info = request.info;
  if (!store_guest(place.xstate, save_vectors(state)) || !store_guest(place.frame, frame)) return false;
  state.gpr[kRax] = 0;
  state.gpr[kRdi] = static_cast<std::uint64_t>(request.info.si_signo);
  state.gpr[kRsi] = place.frame + offsetof(Frame, info);
  state.gpr[kRdx] = place.frame + offsetof(Frame, context);
  state.gpr[kRsp] = place.frame;
  state.rip = request.action.handler;
  state.rflags &= ~kClearedFlags;
  clear_vectors(state);
  return true;
}

bool leave_handler(GuestState& state, SignalSet& mask, SignalStack& signal_stack) {
  // The handler's RET popped the return address.
  const auto context = load_guest<UserContext>(state.gpr[kRsp]);
  if (!context) return false;
  Xstate vectors{};
  if (context->machine.fpstate != 0) {
    constexpr std::size_t kLegacyBytes = offsetof(Xstate, header);
    const std::uint64_t from = context->machine.fpstate;
    if (!copy_from_guest(&vectors, from, kLegacyBytes)) return false;
    if (vectors.software.magic1 == kXstateMagic1 && !copy_from_guest(&vectors, from, sizeof vectors))
      return false;
  } else {
    reset_x87(vectors.fx);
    const std::uint32_t mxcsr = 0x1f80;
    std::memcpy(vectors.fx + kMxcsrOffset, &mxcsr, sizeof mxcsr);
  }
  restore_registers(state, context->machine);
  restore_vectors(state, vectors);
  mask = context->mask;
  signal_stack = context->stack;
  return true;
}

}  // namespace elision::vm
