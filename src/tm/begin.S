// SPDX-License-Identifier: Apache-2.0
// _ITM_beginTransaction, which may return twice: it notes the registers that a call preserves. A hardware
// transaction begins in elision_tm_begin and runs on in the caller; if it aborts, the CPU restores
// registers and stack. elision_tm_resume makes a begin return again after a cancel. Layout: Registers in
// abi.h.
  .text
  .p2align 6
  .globl _ITM_beginTransaction
  .type _ITM_beginTransaction, @function
_ITM_beginTransaction:
  .cfi_startproc
  movq (%rsp), %rcx
  leaq 8(%rsp), %rax
  subq $72, %rsp
  .cfi_adjust_cfa_offset 72
  movq %rax, (%rsp)
  movq %rbx, 8(%rsp)
  movq %rbp, 16(%rsp)
  movq %r12, 24(%rsp)
  movq %r13, 32(%rsp)
  movq %r14, 40(%rsp)
  movq %r15, 48(%rsp)
  movq %rcx, 56(%rsp)
  movq %rsp, %rsi
  call elision_tm_begin
  addq $72, %rsp
  .cfi_adjust_cfa_offset -72
  ret
  .cfi_endproc
  .size _ITM_beginTransaction, .-_ITM_beginTransaction

// elision_tm_resume(actions, registers)
  .p2align 4
  .globl elision_tm_resume
  .hidden elision_tm_resume
  .type elision_tm_resume, @function
elision_tm_resume:
  .cfi_startproc
  movl %edi, %eax
  movq 8(%rsi), %rbx
  movq 16(%rsi), %rbp
  movq 24(%rsi), %r12
  movq 32(%rsi), %r13
  movq 40(%rsi), %r14
  movq 48(%rsi), %r15
  movq 56(%rsi), %rdx
  movq (%rsi), %rsp
  jmp *%rdx
  .cfi_endproc
  .size elision_tm_resume, .-elision_tm_resume

  .section .note.GNU-stack, "", @progbits
