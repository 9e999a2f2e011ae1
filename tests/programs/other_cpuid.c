// SPDX-License-Identifier: Apache-2.0
// A preloaded library that changes the results of CPUID in this process, if the CPU can trap CPUID. So one machine shows
// the output of `elision doctor` on others. OTHER_CPUID="7.ebx-800,7.edx+800" clears and sets bits
// (hexadecimal) of a leaf's register. Without the trap it ends the process with code 77.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { kCannotTrap = 77, kMostChanges = 8 };

struct change {
  unsigned leaf, reg, bits;
  int set;
};

static struct change changes[kMostChanges];
static int change_count;

static int let_cpuid_run(int on) { return (int)syscall(SYS_arch_prctl, ARCH_SET_CPUID, (long)on); }

static void answer(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  greg_t* g = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* code = (const unsigned char*)g[REG_RIP];
  if (code[0] != 0x0f || code[1] != 0xa2) {
    signal(SIGSEGV, SIG_DFL);  // some other fault: happens again and ends the process
    return;
  }
  const unsigned leaf = (unsigned)g[REG_RAX];
  unsigned r[4];
  let_cpuid_run(1);
  __cpuid_count(leaf, (unsigned)g[REG_RCX], r[0], r[1], r[2], r[3]);
  let_cpuid_run(0);
  for (int i = 0; i < change_count; ++i) {
    if (changes[i].leaf != leaf) continue;
    if (changes[i].set) r[changes[i].reg] |= changes[i].bits;
    if (!changes[i].set) r[changes[i].reg] &= ~changes[i].bits;
  }
  g[REG_RAX] = r[0], g[REG_RBX] = r[1], g[REG_RCX] = r[2], g[REG_RDX] = r[3];
  g[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
  const char* text = getenv("OTHER_CPUID");
  while (text != NULL && *text != '\0' && change_count < kMostChanges) {
    struct change* c = &changes[change_count++];
    char reg, sign;
    if (sscanf(text, "%x.e%cx%c%x", &c->leaf, &reg, &sign, &c->bits) != 4) abort();
    c->reg = (unsigned)(reg - 'a');
    c->set = sign == '+';
    text = strchr(text, ',');
    if (text != NULL) ++text;
  }
  struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  if (let_cpuid_run(0) != 0) _exit(kCannotTrap);
}
