// SPDX-License-Identifier: Apache-2.0
// Instructions that programs have and random sequences cannot: a bit test that a register leads far away from its operand,
// the x87 environment, random numbers, flushes, and what faults: handlers see vector, error code and CR2 too.
#define _GNU_SOURCE
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

uint64_t bits[64] __attribute__((used));

static void bit_tests(void) {
  bits[40] = 1ul << 9;
  bits[3] = 1;
  unsigned char set[4];
  for (long at = 0; at < 4; ++at) {
    const long bit[4] = {40 * 64 + 9, 40 * 64 + 8, 3 * 64, -64};
    __asm__ volatile("bt %1, bits(%%rip)\n\tsetc %0" : "=r"(set[at]) : "r"(bit[at]) : "cc", "memory");
  }
  uint64_t before;
  __asm__ volatile("bts %1, bits(%%rip)\n\tsbb %0, %0" : "=r"(before) : "r"(63l * 64 + 63) : "cc", "memory");
  printf("bt %d %d %d %d, bts %ld %lx\n", set[0], set[1], set[2], set[3], (long)before, bits[63]);
}

static void short_loop(void) {
  long count = 5, turns = 0;
  __asm__ volatile("1: jecxz 2f\n\tinc %1\n\tdec %%ecx\n\tjmp 1b\n2:" : "+c"(count), "+r"(turns)::"cc");
  long high = 1l << 32, taken = 0;
  __asm__ volatile("jecxz 1f\n\tjmp 2f\n1: mov $1, %1\n2:" : "+c"(high), "+r"(taken));
  printf("jecxz %ld turns, of the low half alone: %ld\n", turns, taken);
}

static void x87_environment(void) {
  struct {
    uint16_t control, pad0, status, pad1, tag, pad2;
    uint32_t instruction[4];
  } saved, again;
  const uint16_t truncate = 0xf7f, standard = 0x37f;
  __asm__ volatile("fninit\n\tfldcw %2\n\tfldpi\n\tfld1\n\tfnstenv %0\n\tfldcw %3\n\tfldenv %0\n\tfnstenv %1\n\tfninit"
                   : "+m"(saved), "=m"(again)
                   : "m"(truncate), "m"(standard)
                   : "st", "st(1)");
  printf("fnstenv %x %x %x, after fldenv %x %x %x\n", saved.control, saved.status, saved.tag, again.control, again.status,
         again.tag);
}

/// CPUID.7.EBX: Haswell has RDRAND only.
static int has_rdseed(void) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 18 & 1) != 0;
}

static void random_numbers(void) {
  uint64_t seen[64];
  uint32_t seeds[64];
  int numbers = 0, different = 0, given = 0;
  const int rdseed = has_rdseed();
  for (int i = 0; i < 64; ++i) {
    unsigned char ok;
    __asm__ volatile("rdrand %0\n\tsetc %1" : "=r"(seen[i]), "=r"(ok)::"cc");
    numbers += ok;
    ok = 1;
    if (rdseed) __asm__ volatile("rdseed %0\n\tsetc %1" : "=r"(seeds[i]), "=r"(ok)::"cc");
    given += ok;
    different += i > 0 && seen[i] != seen[i - 1];
  }
  printf("rdrand %s, %s; rdseed %s\n", numbers > 32 ? "gives" : "fails", different > 32 ? "differ" : "repeat",
         given > 0 ? "gives" : "fails");
}

static sigjmp_buf back;
static unsigned char* faulting;
static char what[100];

static int on_amd(void) {
  unsigned most, b = 0, c, d;
  return __get_cpuid(0, &most, &b, &c, &d) && b == signature_AMD_ebx;
}

static void on_fault(int signal, siginfo_t* info, void* context) {
  const long long* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const long address = (long)info->si_addr, last = (long)registers[REG_CR2], pc = (long)registers[REG_RIP];
  // A virtual machine on an AMD CPU may show INT1's trap at the instruction. Intel's, and ours, show it behind.
  const int trap_shown_early = registers[REG_TRAPNO] == 1 && pc == (long)faulting && on_amd();
  const long from = (long)faulting - trap_shown_early;
  snprintf(what, sizeof what, "signal %d, code %d, address %lx, at +%ld, trap %lld, error %llx, %s", signal, info->si_code,
           address > 4096 ? address - from : address, pc > 4096 ? pc - from : pc, registers[REG_TRAPNO],
           registers[REG_ERR], last == address ? "of CR2" : "not of CR2");
  siglongjmp(back, 1);
}

#define FAULTS(name, instruction)                                       \
  if (sigsetjmp(back, 1) == 0) {                                        \
    __asm__ volatile("lea 1f(%%rip), %%rax\n\tmov %%rax, %0\n1: " instruction \
                     : "=m"(faulting)::"rax", "rcx", "rdx", "memory");  \
    printf(name ": no fault\n");                                        \
  } else {                                                              \
    printf(name ": %s\n", what);                                        \
  }

int main(void) {
  bit_tests();
  short_loop();
  x87_environment();
  random_numbers();
  bits[0] = 77;
  __asm__ volatile("clflush bits(%%rip)" ::: "memory");
  printf("clflush keeps %lu\n", bits[0]);

  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGILL, &action, NULL);
  sigaction(SIGTRAP, &action, NULL);
  FAULTS("rdmsr", "rdmsr")
  FAULTS("in", "in $0x80, %%al")
  FAULTS("out", "out %%al, $0x80")
  FAULTS("int 0x58", "int $0x58")
  FAULTS("int1", ".byte 0xf1")
  FAULTS("int 3", "int $3")
  FAULTS("int 4", "int $4")
  FAULTS("int 0xff", "int $0xff")
  FAULTS("cli", "cli")
  FAULTS("xgetbv of a register that is not there", "mov $7, %%ecx\n\txgetbv")
  FAULTS("hlt", "hlt")
  FAULTS("ud2", "ud2")
  FAULTS("read", "mov 16, %%rcx")
  FAULTS("write", "movb $1, 16")
  FAULTS("write to what may be read only", "movb $1, 1b(%%rip)")
  FAULTS("read beyond what an address can be", "movabs $0x8000000000000000, %%rax\n\tmov (%%rax), %%rcx")
  FAULTS("fetch of data", "lea bits(%%rip), %%rax\n\tjmp *%%rax")
  FAULTS("fetch of nothing", "mov $16, %%eax\n\tjmp *%%rax")
  return 0;
}
