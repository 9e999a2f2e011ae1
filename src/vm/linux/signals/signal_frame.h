// SPDX-License-Identifier: Apache-2.0
// The stack frame of a signal handler (struct rt_sigframe, arch/x86/include/asm/sigframe.h and
// uapi/asm/sigcontext.h), entered and left.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>

#include "vm/interface/engine_services.h"
#include "vm/interface/guest_state.h"
#include "vm/interface/signal_types.h"

namespace elision::vm {

struct FrameRequest {
  siginfo_t info;
  SignalAction action;
  SignalSet saved_mask;      // restored by sigreturn
  SignalStack signal_stack;  // alternate stack as set by sigaltstack
  Trap trap;                 // the thread's last
};

/// Writes the frame and sets `state` to the start of the handler. False, with `state` unchanged, if the stack
/// cannot be written.
bool enter_handler(GuestState& state, const FrameRequest& request);

/// rt_sigreturn: restores `state` from the frame at its stack pointer. False if the frame cannot be read.
bool leave_handler(GuestState& state, SignalSet& mask, SignalStack& signal_stack);

/// The vector registers as XSAVE lays them out (x87, SSE, AVX).
inline constexpr std::size_t kExtendedStateBytes = 832;
std::array<std::uint8_t, kExtendedStateBytes> extended_state(const GuestState& state);

/// True if `stack_pointer` lies on `stack`.
bool is_on_stack(std::uint64_t stack_pointer, const SignalStack& stack);
/// True if a handler runs on `stack`: the next handler continues there.
bool is_in_use(const SignalStack& stack, std::uint64_t stack_pointer);

}  // namespace elision::vm
