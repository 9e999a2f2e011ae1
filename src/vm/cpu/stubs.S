// SPDX-License-Identifier: Apache-2.0
// The crossings between translated code and C++.
//
// A helper call keeps the guest's vector registers and TLS live: the helper is compiled with
// -mgeneral-regs-only and touches neither. It returns the Cpu to resume (often the same one), or null to leave to
// Engine::run. A full exit saves everything and returns from elision_enter.
//
// profile_stubs.S assembles this text again, with other names and with time stamps at the crossings.
//
// gs always points to the Cpu; the host's C++ code never uses gs. stub_offsets.h, which stub_offsets.cc
// generates, has the offsets of its fields.

#include "vm/cpu/stub_offsets.h"

        .text

.macro save_gprs
        movq %rax, %gs:GPR+0
        movq %rcx, %gs:GPR+8
        movq %rdx, %gs:GPR+16
        movq %rbx, %gs:GPR+24
        movq %rsp, %gs:GPR+32
        movq %rbp, %gs:GPR+40
        movq %rsi, %gs:GPR+48
        movq %rdi, %gs:GPR+56
        movq %r8,  %gs:GPR+64
        movq %r9,  %gs:GPR+72
        movq %r10, %gs:GPR+80
        movq %r11, %gs:GPR+88
        movq %r12, %gs:GPR+96
        movq %r13, %gs:GPR+104
        movq %r14, %gs:GPR+112
        movq %r15, %gs:GPR+120
.endm

.macro load_gprs
        movq %gs:GPR+8,   %rcx
        movq %gs:GPR+16,  %rdx
        movq %gs:GPR+24,  %rbx
        movq %gs:GPR+32,  %rsp
        movq %gs:GPR+40,  %rbp
        movq %gs:GPR+48,  %rsi
        movq %gs:GPR+56,  %rdi
        movq %gs:GPR+64,  %r8
        movq %gs:GPR+72,  %r9
        movq %gs:GPR+80,  %r10
        movq %gs:GPR+88,  %r11
        movq %gs:GPR+96,  %r12
        movq %gs:GPR+104, %r13
        movq %gs:GPR+112, %r14
        movq %gs:GPR+120, %r15
        movq %gs:GPR+0,   %rax
.endm

.macro vectors operation
.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        \operation \n
.endr
.endm
.macro save_ymm n
        vmovaps %ymm\n, %gs:YMM+32*\n
.endm
.macro load_ymm n
        vmovaps %gs:YMM+32*\n, %ymm\n
.endm

.macro save_vectors
        cmpb $0, %gs:X87_USED
        je 1f
        fxsave64 %gs:FX
1:      stmxcsr %gs:MXCSR
        vectors save_ymm
.endm

// FXRSTOR also loads MXCSR and the XMM registers, so it comes first.
.macro load_vectors
        cmpb $0, %gs:X87_USED
        je 1f
        fxrstor64 %gs:FX
1:      ldmxcsr %gs:MXCSR
        vectors load_ymm
        movq %gs:FS_BASE, %rcx
        wrfsbase %rcx
.endm

// Time stamps, only in the timed variant. note_crossing preserves all registers and flags; it saves RAX and RDX in
// the slots of the guest's registers. stamp preserves the flags.
.macro stamp where
#ifdef ELISION_TIMED
        rdtsc
        movl %eax, \where(%rip)
        movl %edx, \where+4(%rip)
#endif
.endm
.macro note_crossing where
#ifdef ELISION_TIMED
        movq %rax, %gs:GPR+0
        movq %rdx, %gs:GPR+16
        stamp \where
        movq %gs:GPR+16, %rdx
        movq %gs:GPR+0, %rax
#endif
.endm

// void elision_enter(Cpu*): runs guest code until a full exit.
        .globl elision_enter
        .type elision_enter, @function
elision_enter:
        pushq %rbx
        pushq %rbp
        pushq %r12
        pushq %r13
        pushq %r14
        pushq %r15
        subq $8, %rsp
        movq %rsp, HOST_RSP
        rdfsbase %rax
        movq %rax, HOST_FS
        stmxcsr HOST_MXCSR
        wrgsbase %rdi
        load_vectors
        jmp resume_cpu

// Resumes the Cpu that gs points to. Its vectors and FS base are loaded.
resume_cpu:
        cmpb $0, %gs:DIRECTION
        jne resume_backward
        movl %gs:FLAGS, %eax
        addb $127, %al
        sahf
        stamp elision_profile_left
        load_gprs
        jmp *%gs:RESUME
resume_backward:
        movl %gs:FLAGS, %eax
        addb $127, %al
        sahf
        std
        stamp elision_profile_left
        load_gprs
        jmp *%gs:RESUME

.macro helper_call function
        save_gprs
        cld
        movq HOST_RSP, %rsp
        movq %gs:SELF, %rdi
        call \function
        cmpq %gs:SELF, %rax
        je resume_cpu
        jmp switch_cpu
.endm

// RAX: another Cpu to resume; or 0 for the engine's run loop; or the current Cpu with bit 0 set. The current Cpu's
// general registers are saved, its vectors still live.
switch_cpu:
        testq %rax, %rax
        jz leave
        testb $1, %al
        jnz reload_cpu
        save_vectors
        wrgsbase %rax
        load_vectors
        jmp resume_cpu

// The CPU's transaction was rolled back: loads its vectors from memory.
reload_cpu:
        load_vectors
        jmp resume_cpu

// Most slow accesses are loads from a line on its way. elision_late_load makes these; it preserves all registers
// but RAX and runs on the host's stack. The stub first checks the filter for such a line.
        .globl elision_stub_slow_access
elision_stub_slow_access:
        note_crossing elision_profile_arrived
        movq %rax, %gs:GPR+0
        movq %rdi, %gs:GPR+56
        movq %gs:CHECK_ADDRESS, %rdi
        movl %edi, %eax
        shrl $2, %eax
        andl $INDEX_BITS, %eax
        andq $-64, %rdi
        xorq %gs:FILTER(%rax), %rdi
        xorq %gs:EPOCH, %rdi
        orq $NO_STORE, %rdi
        cmpq $(NO_STORE | IN_FLIGHT), %rdi
        jne 1f
        cmpb $0, %gs:DIRECTION
        jne 1f
        movq %rsp, %gs:GPR+32
        movq HOST_RSP, %rsp
        movq %gs:SELF, %rdi
        call elision_late_load
        movq %gs:GPR+32, %rsp
        testb %al, %al
        jz 1f
        movq %gs:GPR+56, %rdi
        movq %gs:GPR+0, %rax
        note_crossing elision_profile_left
        jmp *%gs:RESUME
1:      movq %gs:GPR+56, %rdi
        movq %gs:GPR+0, %rax
        helper_call elision_slow_access

        .globl elision_stub_budget
elision_stub_budget:
        note_crossing elision_profile_arrived
        helper_call elision_budget_exhausted

        .globl elision_stub_string
elision_stub_string:
        note_crossing elision_profile_arrived
        helper_call elision_string_step

        .globl elision_stub_fetch
elision_stub_fetch:
        note_crossing elision_profile_arrived
        helper_call elision_fetch

// BranchPredictor::resolve for Cpu::branch, and the charge of a misprediction. Called on the host's stack, so that
// the host predicts its return. Changes only the flags. Does not branch on the outcome, because the host would
// often mispredict such a branch.
        .globl elision_stub_branch
elision_stub_branch:
        movq %rax, %gs:GPR+0
        movq %rcx, %gs:GPR+8
        movq %rdx, %gs:GPR+16
        movl %gs:BRANCH, %ecx
        movl %ecx, %edx
        shrl $1, %edx
        andl $1, %ecx
        movzbl %gs:BIAS(%rdx), %eax
        movzbl %gs:NEXT_BIAS(%rcx,%rax,2), %eax
        testb $WRONG, %al
        jnz 2f
        movb %al, %gs:BIAS(%rdx)
        shll $2, %edx
        movl %gs:HISTORY, %eax
        xorl %eax, %edx
        leal (%rcx,%rax,2), %eax
        andl $HISTORY_MASK, %eax
        movl %eax, %gs:HISTORY
        movzbl %gs:PATTERN(%rdx), %eax
        movzbl %gs:NEXT_COUNTER(%rcx,%rax,2), %eax
        movb %al, %gs:PATTERN(%rdx)
        andl $WRONG, %eax
1:      movq %gs:GPR+16, %rdx
        shrl $WRONG_BIT, %eax
        addq %rax, %gs:MISPREDICTIONS
        imulq %gs:MISPREDICTION, %rax
        movq %gs:GPR+8, %rcx
        subq %rax, %gs:PROGRESS
        movq %gs:GPR+0, %rax
        ret
2:      xorl $WRONG, %eax
        movb %al, %gs:BIAS(%rdx)
        movl $WRONG, %eax
        jmp 1b

// Records the branch of Cpu::branch_site, and goes on behind it. Preserves all registers and flags. Cpu::scratch
// holds the guest's RCX and RDX during an indirect branch, and Cpu::flags_slot its flags.
        .globl elision_stub_record_branch
elision_stub_record_branch:
        movq %rax, %gs:GPR+0
        movq %rcx, %gs:GPR+8
        movq %rdx, %gs:GPR+16
        lahf
        seto %al
        movq %rax, %gs:GPR+24
        movq %gs:BRANCH_SITE, %rcx
        movl %gs:BRANCH_COUNT, %eax
        incq %gs:BRANCH_COUNT
        andl $BRANCH_MASK, %eax
        shll $BRANCH_SHIFT, %eax
        movq SITE_FROM(%rcx), %rdx
        movq %rdx, %gs:BRANCH_FROM(%rax)
        movq SITE_TO(%rcx), %rdx
        testq %rdx, %rdx
        jnz 1f
        movq %gs:EXIT_VALUE, %rdx
1:      movq %rdx, %gs:BRANCH_TO(%rax)
        movq SITE_KIND(%rcx), %rdx
        movq %rdx, %gs:BRANCH_KIND(%rax)
        movzbl %gs:IN_TRANSACTION, %edx
        andl $1, %edx
        movq %rdx, %gs:BRANCH_IN_TRANSACTION(%rax)
        movq SITE_DONE(%rcx), %rax
        movq %rax, %gs:SCRATCH+16
        movl %gs:GPR+24, %eax
        addb $127, %al
        sahf
        movq %gs:GPR+16, %rdx
        movq %gs:GPR+8, %rcx
        movq %gs:GPR+0, %rax
        jmp *%gs:SCRATCH+16

// Full exit: saves all registers and flags.
        .globl elision_stub_exit
elision_stub_exit:
        note_crossing elision_profile_arrived
        save_gprs
        lahf
        seto %al
        movq %rax, %gs:FLAGS
leave:
#ifndef ELISION_TIMED
        .globl elision_stub_fault_exit
elision_stub_fault_exit:
#endif
        cld
        save_vectors
        vzeroupper
        movq HOST_RSP, %rsp
        movq HOST_FS, %rax
        wrfsbase %rax
        ldmxcsr HOST_MXCSR
        addq $8, %rsp
        popq %r15
        popq %r14
        popq %r13
        popq %r12
        popq %rbp
        popq %rbx
        ret
        .size elision_enter, .-elision_enter

#ifndef ELISION_TIMED
// int elision_copy_line(void* destination, const void* source); elision_restore_line and elision_copy_word have the
// same parameters. elision_restore_line writes only words that differ. After a fault in one of them the signal
// handler sets RIP to elision_copy_line_failed, and the function returns 1.
        .globl elision_copy_line
        .globl elision_restore_line
        .globl elision_copy_word
        .globl elision_copy_line_end
        .globl elision_copy_line_failed
        .type elision_copy_line, @function
elision_copy_line:
.irp offset, 0,8,16,24,32,40,48,56
        movq \offset(%rsi), %rax
        movq %rax, \offset(%rdi)
.endr
        xorl %eax, %eax
        ret
elision_restore_line:
.irp offset, 0,8,16,24,32,40,48,56
        movq \offset(%rsi), %rax
        cmpq %rax, \offset(%rdi)
        je 1f
        movq %rax, \offset(%rdi)
1:
.endr
        xorl %eax, %eax
        ret
elision_copy_word:
        movq (%rsi), %rax
        movq %rax, (%rdi)
elision_copy_line_end:
        xorl %eax, %eax
        ret
elision_copy_line_failed:
        movl $1, %eax
        ret
        .size elision_copy_line, .-elision_copy_line
#endif

        .section .note.GNU-stack,"",@progbits
