/* SPDX-License-Identifier: Apache-2.0
   Usage: sequence_runner FILE native|virtual

   Executes the records of FILE (sequence.h), each from the same state of registers and memory, and prints a line for
   each: its number, the signal that ended it, si_code, where the program counter and the address were. The code
   and its data lie far away from everything else; a timer ends what goes on for ever. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "sequence.h"

enum { kPage = 4096, kInside = 1024 };

static unsigned char* const code = (unsigned char*)0x300000000000;
static unsigned char* const data = (unsigned char*)0x300000010000;
static unsigned char* const stack = (unsigned char*)0x300000020000;

static sigjmp_buf back;
static volatile int signal_seen, code_seen;
static volatile uint64_t pc_seen, address_seen;

static void on_signal(int signal, siginfo_t* info, void* context) {
  /* AC may be set. */
  __asm__ volatile("pushf; andl $~0x40000, (%%rsp); popf" ::: "memory", "cc");
  signal_seen = signal;
  code_seen = info->si_code;
  address_seen = (uint64_t)info->si_addr;
  pc_seen = (uint64_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  siglongjmp(back, 1);
}

static void map(unsigned char* at, int pages) {
  if (mmap(at, (size_t)pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
           0) != at)
    exit(3);
}

__attribute__((noreturn)) static void enter(const unsigned char* at) {
  __asm__ volatile(
      "push $0x2; popf\n"
      "mov %%rdx, %%rsp\n"
      "lea 0x200(%%rdi), %%rsi\nlea 0x400(%%rdi), %%rbx\nlea 0x600(%%rdi), %%rbp\nlea 0x800(%%rdi), %%r8\n"
      "mov $3, %%ecx\nmov $5, %%edx\nmov $7, %%r9d\nlea 0xa00(%%rdi), %%r10\nmov $-1, %%r11\nmov %%rsi, %%r12\n"
      "xor %%r13d, %%r13d\nmov $0x80000000, %%r14d\nlea 1(%%rdi), %%r15\nvzeroall\n"
      "jmp *%%rax"
      :
      : "a"(at), "D"(data), "d"(stack + kPage)
      : "memory");
  __builtin_unreachable();
}

static void set_timer(long microseconds) {
  const struct itimerval timer = {{0, 0}, {0, microseconds}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

static const char* place_of(uint64_t address, char* text, size_t size) {
  const int64_t from_code = (int64_t)(address - (uint64_t)code);
  const int64_t from_data = (int64_t)(address - (uint64_t)data);
  if (address == 0) return "0";
  if (from_code >= -kPage && from_code <= 2 * kPage) {
    snprintf(text, size, "code%+lld", (long long)from_code);
  } else if (from_data >= -4 * kPage && from_data <= 4 * kPage) {
    snprintf(text, size, "data%+lld", (long long)from_data);
  } else {
    snprintf(text, size, "elsewhere");
  }
  return text;
}

static void run(const unsigned char* record, int number, int is_virtual) {
  const int flags = record[0];
  char line[160], first[64], second[64];
  if ((flags & (kVirtualAlone | kInTransaction)) != 0 && !is_virtual) return;
  unsigned char* const at = (flags & kAtPageEnd) != 0 ? code + kPage - kCodeBytes : code + kInside;
  mprotect(code, kPage, PROT_READ | PROT_WRITE);
  memset(code, 0xcc, kPage);
  memcpy(at, record + 1, kCodeBytes);
  mprotect(code, kPage, PROT_READ | PROT_EXEC);
  for (int i = 0; i < kPage; ++i) data[i] = (unsigned char)(i * 7);
  memset(stack, 0x11, 2 * kPage);
  if (sigsetjmp(back, 1) == 0) {
    set_timer(2000);
    if ((flags & kInTransaction) != 0) __asm__ volatile("xbegin 1f\n1:" ::: "eax", "memory");
    enter(at);
  }
  set_timer(0);
  const int size = snprintf(line, sizeof line, "%d %d %d %s %s\n", number, signal_seen, code_seen,
                            place_of(pc_seen, first, sizeof first), place_of(address_seen, second, sizeof second));
  if (write(1, line, (size_t)size) != size) exit(4);
}

int main(int argc, char** argv) {
  static unsigned char records[kMostRecords * kRecordBytes];
  static char alternate[65536];
  const int file = argc == 3 ? open(argv[1], O_RDONLY) : -1;
  const ssize_t size = read(file, records, sizeof records);
  if (size < 0) return 2;
  const stack_t other_stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  sigaltstack(&other_stack, NULL);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  static const int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGALRM, SIGSYS};
  for (unsigned i = 0; i < sizeof kSignals / sizeof *kSignals; ++i) sigaction(kSignals[i], &action, NULL);
  map(code, 1), map(data, 1), map(stack, 2);
  for (int i = 0; (i + 1) * kRecordBytes <= size; ++i)
    run(records + i * kRecordBytes, i, strcmp(argv[2], "virtual") == 0);
  return 0;
}
