// SPDX-License-Identifier: Apache-2.0
// Flags where few programs have them: AC, ID and NT are the program's own, also in a signal handler and on another thread;
// arithmetic flags pass through jump tables, across calls that leave them alone, and out of functions. Each way is
// gone once, since the virtual machine might learn from the first time.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

enum { kNestedTask = 1 << 14, kAlignmentCheck = 1 << 18, kIdentification = 1 << 21 };
static const uint64_t kSystem = kNestedTask | kAlignmentCheck | kIdentification;

static uint64_t flags_after(uint64_t set) {
  uint64_t got;
  __asm__ volatile("push %1; popfq; pushfq; pop %0; push $0x202; popfq" : "=r"(got) : "r"(set | 0x202) : "cc", "memory");
  return got & kSystem;
}

static uint64_t in_handler;

static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  uint64_t now;
  __asm__ volatile("pushfq; pop %0" : "=r"(now));
  in_handler = ((uint64_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] & kSystem) << 32 | (now & kSystem);
}

static void* on_a_thread(void* unused) {
  (void)unused;
  printf("a thread starts with %lx, sets %lx\n", flags_after(0), flags_after(kIdentification));
  return NULL;
}

// What follows is assembly throughout, so that the compiler has no say in what lies between writing and reading a flag.
long by_table(long a, long b, long which);
long across_call(long a, long b);
long out_of_function(long a, long b);
long out_of_pointer(long a, long b);
__asm__(
    ".text\n"
    "by_table:\n"
    "  lea table(%rip), %rcx\n"
    "  movslq (%rcx,%rdx,4), %rdx\n"
    "  add %rcx, %rdx\n"
    "  cmp %rsi, %rdi\n"
    "  jmp *%rdx\n"
    "first:\n"
    "  mov $10, %eax\n"
    "  mov $20, %ecx\n"
    "  cmovl %rcx, %rax\n"
    "  ret\n"
    "second:\n"
    "  mov $30, %eax\n"
    "  jle 1f\n"
    "  mov $40, %eax\n"
    "1: ret\n"
    ".section .rodata\n"
    "table: .long first - table, second - table\n"
    ".text\n"
    "leaves_flags:\n"
    "  movq $0, -8(%rsp)\n"
    "  movups %xmm0, -64(%rsp)\n"
    "  ret\n"
    "across_call:\n"
    "  cmp %rsi, %rdi\n"
    "  jg 2f\n"
    "  lea -16(%rsp), %rax\n"
    "  call leaves_flags\n"
    "  mov $1, %eax\n"
    "  je 3f\n"
    "  mov $2, %eax\n"
    "3: ret\n"
    "2: mov $3, %eax\n"
    "  ret\n"
    "compares:\n"
    "  mov (%rsp), %rax\n"
    "  cmp %rsi, %rdi\n"
    "  ret\n"
    "out_of_function:\n"
    "  call compares\n"
    "  mov $0, %eax\n"
    "  setb %al\n"
    "  ret\n"
    "out_of_pointer:\n"
    "  lea compares(%rip), %rdx\n"
    "  call *%rdx\n"
    "  mov $0, %eax\n"
    "  seta %al\n"
    "  ret\n");

int main(void) {
  printf("%lx %lx %lx %lx\n", flags_after(0), flags_after(kSystem), flags_after(kAlignmentCheck), flags_after(kIdentification));

  // An unaligned access with AC set would fault; the program makes none meanwhile.
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, NULL);
  uint64_t after;
  __asm__ volatile("push %1; popfq" : "=r"(after) : "r"(kIdentification | 0x202ul) : "cc", "memory");
  raise(SIGUSR1);
  __asm__ volatile("pushfq; pop %0; push $0x202; popfq" : "=r"(after)::"cc", "memory");
  printf("handler %lx, after it %lx\n", in_handler, after & kSystem);

  uint16_t word;
  __asm__ volatile("pushw $0xcd5; popfw; pushfw; pop %0; cld" : "=r"(word)::"cc", "memory");
  printf("16 bits: %x\n", word & 0xcd5);

  pthread_t thread;
  flags_after(kAlignmentCheck);
  pthread_create(&thread, NULL, on_a_thread, NULL);
  pthread_join(thread, NULL);

  // The first of each kind is one that left-over flags of a comparison of addresses would get wrong: those say "greater".
  printf("across a call: %ld", across_call(5, 5));
  printf(" %ld", across_call(4, 5));
  printf(" %ld\n", across_call(6, 5));
  printf("jump table: %ld", by_table(1, 2, 0));
  printf(" %ld", by_table(1, 2, 1));
  printf(" %ld", by_table(2, 1, 0));
  printf(" %ld\n", by_table(2, 1, 1));
  printf("out of a function: %ld", out_of_function(1, 2));
  printf(" %ld\n", out_of_function(2, 1));
  printf("through a pointer: %ld", out_of_pointer(1, 2));
  printf(" %ld\n", out_of_pointer(2, 1));
  return 0;
}
