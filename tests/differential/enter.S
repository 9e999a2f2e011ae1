// SPDX-License-Identifier: Apache-2.0
// run_sequence (state.h).

#define FLAGS 128
#define FX    192
#define YMM   704

        .bss
host_rsp:  .quad 0
result:    .quad 0
target:    .quad 0
last_rax:  .quad 0
last_rsp:  .quad 0
host_mxcsr: .long 0
host_x87:  .short 0

        .text
.macro each_ymm operation
.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        \operation \n
.endr
.endm
.macro load_ymm n
        vmovdqu YMM+32*\n(%rdi), %ymm\n
.endm
.macro store_ymm n
        vmovdqu %ymm\n, YMM+32*\n(%rax)
.endm

        .globl run_sequence
        .type run_sequence, @function
run_sequence:
        pushq %rbx
        pushq %rbp
        pushq %r12
        pushq %r13
        pushq %r14
        pushq %r15
        movq %rsp, host_rsp(%rip)
        movq %rsi, result(%rip)
        movq %rdx, target(%rip)
        stmxcsr host_mxcsr(%rip)
        fnstcw host_x87(%rip)
        fxrstor64 FX(%rdi)
        each_ymm load_ymm
        pushq FLAGS(%rdi)
        popfq
        movq 0(%rdi), %rax
        movq 8(%rdi), %rcx
        movq 16(%rdi), %rdx
        movq 24(%rdi), %rbx
        movq 32(%rdi), %rsp
        movq 40(%rdi), %rbp
        movq 48(%rdi), %rsi
        movq 64(%rdi), %r8
        movq 72(%rdi), %r9
        movq 80(%rdi), %r10
        movq 88(%rdi), %r11
        movq 96(%rdi), %r12
        movq 104(%rdi), %r13
        movq 112(%rdi), %r14
        movq 120(%rdi), %r15
        movq 56(%rdi), %rdi
        jmp *target(%rip)
        .size run_sequence, .-run_sequence

        .globl sequence_end
sequence_end:
        movq %rax, last_rax(%rip)
        movq %rsp, last_rsp(%rip)
        movq result(%rip), %rax
        movq %rcx, 8(%rax)
        movq %rdx, 16(%rax)
        movq %rbx, 24(%rax)
        movq %rbp, 40(%rax)
        movq %rsi, 48(%rax)
        movq %rdi, 56(%rax)
        movq %r8, 64(%rax)
        movq %r9, 72(%rax)
        movq %r10, 80(%rax)
        movq %r11, 88(%rax)
        movq %r12, 96(%rax)
        movq %r13, 104(%rax)
        movq %r14, 112(%rax)
        movq %r15, 120(%rax)
        movq last_rsp(%rip), %rcx
        movq %rcx, 32(%rax)
        movq last_rax(%rip), %rcx
        movq %rcx, 0(%rax)
        movq host_rsp(%rip), %rsp
        pushfq
        popq FLAGS(%rax)
        cld
        fxsave64 FX(%rax)
        each_ymm store_ymm
        vzeroupper
        fninit
        fldcw host_x87(%rip)
        ldmxcsr host_mxcsr(%rip)
        popq %r15
        popq %r14
        popq %r13
        popq %r12
        popq %rbp
        popq %rbx
        ret

        .section .note.GNU-stack,"",@progbits
