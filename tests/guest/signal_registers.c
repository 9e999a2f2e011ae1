// SPDX-License-Identifier: Apache-2.0
// All registers, flags and vectors survive a handler that changes them.
#define _GNU_SOURCE
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static volatile int handled;

__attribute__((target("avx2"))) static void on_alarm(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info, (void)context;
  __asm__ volatile(
      "vpcmpeqd %%ymm0, %%ymm0, %%ymm0; vpcmpeqd %%ymm7, %%ymm7, %%ymm7; vpcmpeqd %%ymm15, %%ymm15, %%ymm15;"
      "fninit; fldpi; xor %%r8d, %%r8d; xor %%r11d, %%r11d; std; cld" ::
          : "r8", "r11", "xmm0", "xmm7", "xmm15", "st");
  ++handled;
}

__attribute__((target("avx2"))) static int run(void) {
  unsigned char before[32], after[32];
  double x87 = 0;
  unsigned long r8 = 0, r11 = 0, rbx = 0;
  for (int i = 0; i < 32; ++i) before[i] = (unsigned char)(i * 7 + 1);
  handled = 0;
  const struct itimerval soon = {{0, 0}, {0, 2000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  __asm__ volatile(
      "vmovdqu %[before], %%ymm15\n"
      "fldl2e\n"
      "mov $0x1122334455667788, %%r8\n"
      "mov $0x99aabbccddeeff00, %%r11\n"
      "mov $0x123456789, %%rbx\n"
      "movq $0x77, -64(%%rsp)\n"
      "1: cmpl $0, %[handled]\n"
      "je 1b\n"
      "cmpq $0x77, -64(%%rsp)\n"  // the red zone
      "jne 2f\n"
      "mov %%r8, %[r8]\n"
      "mov %%r11, %[r11]\n"
      "mov %%rbx, %[rbx]\n"
      "2: vmovdqu %%ymm15, %[after]\n"
      "fstpl %[x87]\n"
      "vzeroupper\n"
      : [after] "=m"(after), [x87] "=m"(x87), [r8] "+m"(r8), [r11] "+m"(r11), [rbx] "+m"(rbx)
      : [before] "m"(before), [handled] "m"(handled)
      : "r8", "r11", "rbx", "xmm15", "memory", "cc");
  return memcmp(before, after, 32) == 0 && x87 > 1.44 && x87 < 1.45 && r8 == 0x1122334455667788 &&
         r11 == 0x99aabbccddeeff00 && rbx == 0x123456789;
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_alarm;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGALRM, &action, NULL);
  int good = 0;
  for (int i = 0; i < 5; ++i) good += run();
  printf("survived %d of 5\n", good);
  return 0;
}
