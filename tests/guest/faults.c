// SPDX-License-Identifier: Apache-2.0
// Faults: SIGSEGV on an alternate stack left by siglongjmp, SIGFPE, SIGILL, write protection lifted by the
// handler.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static sigjmp_buf back;
static volatile int on_alternate_stack, faults, code;
static char stack[65536];
static char* page;

static void on_segv(int signal, siginfo_t* info, void* context) {
  char here;
  (void)signal, (void)context;
  on_alternate_stack = &here >= stack && &here < stack + sizeof stack;
  code = info->si_code;
  ++faults;
  if (page != NULL && (char*)info->si_addr == page + 5) {
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    return;
  }
  siglongjmp(back, 1);
}

static void on_arithmetic(int signal, siginfo_t* info, void* context) {
  ucontext_t* state = context;
  (void)signal;
  code = info->si_code;
  state->uc_mcontext.gregs[REG_RIP] += 2;  // over "div %ecx"
  state->uc_mcontext.gregs[REG_RAX] = 77;
}

static int overflow(int depth) {
  volatile char space[4096];
  space[depth % 4096] = (char)depth;
  return overflow(depth + 1) + space[0];
}

static void set(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(signal, &action, NULL);
}

int main(void) {
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  set(SIGSEGV, on_segv);
  set(SIGFPE, on_arithmetic);
  set(SIGILL, on_segv);
  if (sigsetjmp(back, 1) == 0) *(volatile int*)16 = 1;
  printf("null: code %d, alternate stack %d\n", code, on_alternate_stack);
  if (sigsetjmp(back, 1) == 0) overflow(0);
  printf("stack overflow: alternate stack %d, faults %d\n", on_alternate_stack, faults);
  page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  page[5] = 'x';
  printf("write protection: code %d, value %c\n", code, page[5]);
  int result = 1;
  __asm__ volatile("xor %%edx, %%edx; xor %%ecx, %%ecx; div %%ecx" : "+a"(result) : : "ecx", "edx");
  printf("division: code %d, result %d\n", code, result);
  if (sigsetjmp(back, 1) == 0) __asm__ volatile("ud2");
  printf("illegal instruction: code %d\n", code);
  if (sigsetjmp(back, 1) == 0) ((void (*)(void))page)();
  printf("jump into data: code %d, faults %d\n", code, faults);
  return 0;
}
