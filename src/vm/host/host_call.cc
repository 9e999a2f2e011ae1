// SPDX-License-Identifier: Apache-2.0
// A signal recorded just before a blocking host call still interrupts it: the handler moves the program
// counter out of the window between the check of the flag and the SYSCALL instruction, as C libraries do for
// cancellation points.
#include "vm/host/host_call.h"

#include <cerrno>

extern "C" {
volatile int elision_host_signal_recorded = 0;
long elision_interruptible_call(long number, const std::uint64_t* arguments, const volatile int* flag);
extern const char elision_interruptible_begin[];
extern const char elision_interruptible_end[];
extern const char elision_interruptible_exit[];
}

asm(R"(
.pushsection .text
.p2align 4
.globl elision_interruptible_call
.hidden elision_interruptible_call
.type elision_interruptible_call, @function
elision_interruptible_call:
  mov %rdi, %rax
  mov %rsi, %r11
  mov %rdx, %rcx
  mov 0(%r11), %rdi
  mov 8(%r11), %rsi
  mov 16(%r11), %rdx
  mov 24(%r11), %r10
  mov 32(%r11), %r8
  mov 40(%r11), %r9
.globl elision_interruptible_begin
.hidden elision_interruptible_begin
elision_interruptible_begin:
  cmpl $0, (%rcx)
  jne elision_interruptible_exit
.globl elision_interruptible_end
.hidden elision_interruptible_end
elision_interruptible_end:
  syscall
  ret
.globl elision_interruptible_exit
.hidden elision_interruptible_exit
elision_interruptible_exit:
  mov $-4, %rax
  ret
.size elision_interruptible_call, .-elision_interruptible_call
.popsection
)");

namespace elision::vm {

static_assert(EINTR == 4, "the assembly above returns -EINTR");

long host_call_interruptible(long number, const std::uint64_t (&arguments)[6], const volatile int& flag) {
  return elision_interruptible_call(number, arguments, &flag);
}

void interrupt_host_call(ucontext_t* context) {
  greg_t& rip = context->uc_mcontext.gregs[REG_RIP];
  const bool inside = rip >= reinterpret_cast<greg_t>(elision_interruptible_begin) &&
                      rip <= reinterpret_cast<greg_t>(elision_interruptible_end);
  if (inside) rip = reinterpret_cast<greg_t>(elision_interruptible_exit);
}

}  // namespace elision::vm
