// SPDX-License-Identifier: Apache-2.0
// _ITM_beginTransaction, which may return twice.
//
// In the ordinary case the hardware transaction begins here. It takes no stack: a load in a transaction is
// slow if its value was stored shortly before. All else is for elision_tm_begin, which
// gets the registers that a call preserves: elision_tm_resume makes a begin return again after a cancel.
// If a transaction aborts, the CPU restores registers and stack. Layout: Registers and the properties in
// abi.h, the places in thread.h and ownership.h, the codes in htm/backend.h and hardware.h.
#define HAS_NO_ABORT 8
#define HAS_UNINSTRUMENTED_CODE 2
#define IS_PLAIN 6
#define FALLBACK 64
#define CODE_LOCK_BUSY 0xfc
#define CODE_FALLBACK_RUNS 0xfb

  .text
  .p2align 6
  .globl _ITM_beginTransaction
  .type _ITM_beginTransaction, @function
_ITM_beginTransaction:
  .cfi_startproc
  movl $-1, %eax
  movq elision_tm_thread@GOTTPOFF(%rip), %rdx
  cmpq $0, %fs:(%rdx)  // depth, is_slow and is_plain
  jne .Lslow
  testb $HAS_NO_ABORT, %dil
  je .Lslow
  cmpl $0, elision_tm_shared(%rip)
  jne .Lslow
  cmpq $0, elision_tm_shared+FALLBACK(%rip)
  jne .Lslow
  movw $1, %fs:IS_PLAIN(%rdx)
  xbegin .Lslow
  cmpl $0, elision_tm_shared(%rip)
  jne .Llock_busy
  cmpq $0, elision_tm_shared+FALLBACK(%rip)
  jne .Lfallback_runs
  andl $HAS_UNINSTRUMENTED_CODE, %edi
  shrl $1, %edi
  leal 1(%rdi), %eax
  ret
.Llock_busy:
  xabort $CODE_LOCK_BUSY
.Lfallback_runs:
  xabort $CODE_FALLBACK_RUNS
.Lslow:
  movq (%rsp), %rcx
  leaq 8(%rsp), %rdx
  subq $72, %rsp
  .cfi_adjust_cfa_offset 72
  movq %rdx, (%rsp)
  movq %rbx, 8(%rsp)
  movq %rbp, 16(%rsp)
  movq %r12, 24(%rsp)
  movq %r13, 32(%rsp)
  movq %r14, 40(%rsp)
  movq %r15, 48(%rsp)
  movq %rcx, 56(%rsp)
  movq %rsp, %rsi
  movl %eax, %edx
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
