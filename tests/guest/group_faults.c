// SPDX-License-Identifier: Apache-2.0
// A fault in the middle of instructions whose accesses are checked together: what stands in front has
// happened, what stands behind has not, and the handler sees the registers that the code still needs, whether
// the lines were known (the instructions run without access checks) or not (their slow copy).
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static long data[64] __attribute__((aligned(64)));
static sigjmp_buf back;
static long long seen[5];
extern const char faulting[];

static void handler(int number, siginfo_t* info, void* context) {
  const greg_t* r = ((ucontext_t*)context)->uc_mcontext.gregs;
  (void)number, (void)info;
  seen[0] = r[REG_RIP] == (greg_t)faulting;
  seen[1] = r[REG_RAX];
  seen[2] = r[REG_RBX];
  seen[3] = r[REG_RCX];
  seen[4] = r[REG_EFL] & 0x8d5;
  siglongjmp(back, 1);
}

__attribute__((noinline)) static void group(long* good, const long* bad, long value) {
  __asm__ volatile(
      "mov %2, %%rax\n"
      "mov $77, %%rbx\n"
      "cmp $5, %%rax\n"
      "mov %%rax, (%0)\n"
      "mov 8(%0), %%rcx\n"
      "mov %%rbx, 16(%0)\n"
      ".globl faulting\n"
      "faulting: mov (%1), %%rdx\n"
      "mov %%rcx, 24(%0)\n"
      "setb 32(%0)\n"
      "add %%rbx, %%rax\n"
      :
      : "r"(good), "r"(bad), "r"(value)
      : "rax", "rbx", "rcx", "rdx", "memory", "cc");
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  long* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int round = 0; round < 6; ++round) {
    data[1] = 1000 + round;
    data[3] = data[4] = -1;
    page[0] = round;
    for (int k = 0; k < 3; ++k) group(data, page, round);  // now all lines are known
    data[3] = data[4] = -1;
    if (round % 2 == 1) mprotect(page, 4096, PROT_NONE);
    if (sigsetjmp(back, 1) == 0) {
      group(data + (round >= 4 ? 6 : 0), round % 2 == 1 ? page : (long*)8, round);  // over two lines from round 4 on
      puts("no fault");
    }
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    printf("%d: %lld %lld %lld %lld %llx; %ld %ld %ld %ld %ld\n", round, seen[0], seen[1], seen[2], seen[3], seen[4],
           data[0], data[1], data[2], data[3], data[4]);
    for (int i = 6; i < 12; ++i) printf(" %ld", data[i]);
    puts("");
  }
  return 0;
}
