// SPDX-License-Identifier: Apache-2.0
// Code that changes while it runs: rewritten in place, beside data, by another thread, by the kernel, in a
// child, through another mapping, and an instruction that rewrites the next one.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*function)(void);

static unsigned char* code;

static unsigned char* pages(int protection) {
  void* const at = mmap(NULL, 16384, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) exit(2);
  return at;
}

// mov eax, value; ret
static void write_constant(unsigned char* at, int value) {
  at[0] = 0xb8;
  memcpy(at + 1, &value, 4);
  at[5] = 0xc3;
}

static int call(const unsigned char* at) { return ((function)(uintptr_t)at)(); }

static void rewritten_in_place(void) {
  long sum = 0;
  for (int i = 0; i < 3000; ++i) {
    write_constant(code, i);
    sum += call(code);
    sum += call(code);
  }
  printf("rewritten in place: %ld\n", sum);
}

static void only_an_operand(void) {
  long sum = 0;
  write_constant(code, 0);
  for (int i = 0; i < 300; ++i) {
    sum += call(code);
    *(volatile int*)(code + 1) += 3;
  }
  printf("only an operand: %ld\n", sum);
}

// A function whose data lies beside it: inc dword [rip + 58]; mov eax, [rip + 52]; ret
static void beside_data(void) {
  static const unsigned char kBytes[] = {0xff, 0x05, 58, 0, 0, 0, 0x8b, 0x05, 52, 0, 0, 0, 0xc3};
  memcpy(code + 4096, kBytes, sizeof kBytes);
  memset(code + 4096 + 64, 0, 4);
  int last = 0;
  for (int i = 0; i < 200; ++i) last = call(code + 4096);
  printf("beside data: %d\n", last);
}

// mov byte [rip + 1], 7 (the operand of what follows); mov eax, 1; ret
static void the_next_instruction(void) {
  static const unsigned char kBytes[] = {0xc6, 0x05, 1, 0, 0, 0, 7, 0xb8, 1, 0, 0, 0, 0xc3};
  memcpy(code + 256, kBytes, sizeof kBytes);
  const int first = call(code + 256);
  code[256 + 8] = 1;
  const int second = call(code + 256);
  printf("the next instruction: %d %d\n", first, second);
}

static void calls_into_what_changes(void) {
  // call code + 128; add eax, 1; ret
  unsigned char caller[] = {0xe8, 0, 0, 0, 0, 0x83, 0xc0, 1, 0xc3};
  const int32_t distance = 128 - (64 + 5);
  memcpy(caller + 1, &distance, 4);
  memcpy(code + 64, caller, sizeof caller);
  long sum = 0;
  for (int i = 0; i < 500; ++i) {
    write_constant(code + 128, i * 2);
    sum += call(code + 64);
  }
  printf("calls into what changes: %ld\n", sum);
}

static atomic_int version, seen;

static void* rewriter(void* unused) {
  for (int i = 1; i <= 200; ++i) {
    write_constant(code + 512, i);
    atomic_store(&version, i);
    while (atomic_load(&seen) != i) sched_yield();
  }
  return unused;
}

static void by_another_thread(void) {
  write_constant(code + 512, 0);
  long sum = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, rewriter, NULL);
  for (int i = 1; i <= 200; ++i) {
    while (atomic_load(&version) != i) sched_yield();
    sum += call(code + 512);
    atomic_store(&seen, i);
  }
  pthread_join(thread, NULL);
  printf("by another thread: %ld\n", sum);
}

static void by_the_kernel(void) {
  int ends[2];
  if (pipe(ends) != 0) exit(2);
  long sum = 0;
  for (int i = 0; i < 50; ++i) {
    unsigned char bytes[6];
    write_constant(bytes, i * 5);
    if (write(ends[1], bytes, 6) != 6 || read(ends[0], code + 768, 6) != 6) exit(2);
    sum += call(code + 768);
  }
  printf("by the kernel: %ld\n", sum);
}

// read(rdi, rsi, rdx) from a page that may be written: a pointer that is bad stays bad, and the page may read
// into itself.
static void calls_the_kernel(void) {
  static const unsigned char kBytes[] = {0x31, 0xc0, 0x0f, 0x05, 0xc3};  // xor eax, eax; syscall; ret
  memcpy(code + 2048, kBytes, sizeof kBytes);
  long (*const reads)(int, void*, unsigned long) =
      (long (*)(int, void*, unsigned long))(uintptr_t)(code + 2048);
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], "abcdef", 6) != 6) exit(2);
  const long refused = reads(ends[0], (void*)8, 2);
  const long done = reads(ends[0], code + 2304, 6);
  printf("calls the kernel: %ld %ld %.6s\n", refused, done, (const char*)code + 2304);
}

static void in_a_child(void) {
  write_constant(code + 1024, 1);
  printf("before the child: %d\n", call(code + 1024));
  fflush(stdout);
  if (fork() == 0) {
    write_constant(code + 1024, 2);
    printf("child: %d\n", call(code + 1024));
    fflush(stdout);
    _exit(0);
  }
  wait(NULL);
  printf("parent: %d\n", call(code + 1024));
}

static void written_or_executed(void) {
  unsigned char* const at = pages(PROT_READ | PROT_WRITE);
  long sum = 0;
  for (int i = 0; i < 100; ++i) {
    mprotect(at, 4096, PROT_READ | PROT_WRITE);
    write_constant(at, i);
    mprotect(at, 4096, PROT_READ | PROT_EXEC);
    sum += call(at);
  }
  printf("written or executed: %ld\n", sum);
}

// Flags pass from the caller: stc; call code; setc al; movzx eax, al; ret, and code: ret, then cmc; ret.
static void flags_pass(void) {
  static const unsigned char kCaller[] = {0xf9, 0xe8, 0x7a, 0,    0,    0,   0x0f,
                                          0x92, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3};
  memcpy(code + 1280, kCaller, sizeof kCaller);
  code[1280 + 128] = 0xc3;
  call(code + 1280);  // the first time shows that they pass
  const int kept = call(code + 1280);
  code[1280 + 128] = 0xf5;
  code[1280 + 129] = 0xc3;
  const int changed = call(code + 1280);
  printf("flags pass: %d %d\n", kept, changed);
}

// Flags that nobody read in the code that a page jumps to, until that is rewritten: cmp edi, 5; mov eax, [rsi]; jmp to the
// next page, and there add eax, 1; ret, then sete al; movzx eax, al; ret.
static void flags_for_another_page(void) {
  static const unsigned char kFirst[] = {0x83, 0xff, 5, 0x8b, 0x06, 0xe9, 0xf6, 0x0f, 0, 0};
  static const unsigned char kBefore[] = {0x83, 0xc0, 1, 0xc3}, kAfter[] = {0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3};
  unsigned char* const at = pages(PROT_READ | PROT_WRITE);
  int (*const run)(int, const int*) = (int (*)(int, const int*))(uintptr_t)at;
  const int one = 1;
  memcpy(at, kFirst, sizeof kFirst);
  memcpy(at + 4096, kBefore, sizeof kBefore);
  mprotect(at, 8192, PROT_READ | PROT_EXEC);
  long sum = 0;
  for (int i = 0; i < 50; ++i) sum += run(i, &one);
  mprotect(at + 4096, 4096, PROT_READ | PROT_WRITE);
  memcpy(at + 4096, kAfter, sizeof kAfter);
  mprotect(at + 4096, 4096, PROT_READ | PROT_EXEC);
  printf("flags for another page: %ld", sum);
  for (int i = 3; i < 8; ++i) printf(" %d", run(i, &one));
  printf("\n");
}

// As compilers do that have no memory both writable and executable: the same pages twice, or three times.
static void through_another_mapping(void) {
  const int file = memfd_create("code", 0);
  if (file < 0 || ftruncate(file, 8192) != 0) exit(2);
  unsigned char* const run = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  unsigned char* const write_here = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  long sum = 0;
  for (int i = 0; i < 300; ++i) {
    write_constant(write_here + 4096, i);
    sum += call(run + 4096);
    sum += call(run + 4096);
  }
  // A mapping made after the code has run, of the second page alone.
  unsigned char* const late = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096);
  write_constant(late, 1000);
  sum += call(run + 4096);
  // And one that becomes writable then.
  mprotect(write_here, 8192, PROT_READ);
  sum += call(run + 4096);
  mprotect(write_here, 8192, PROT_READ | PROT_WRITE);
  write_constant(write_here + 4096, 7);
  sum += call(run + 4096);
  if (pread(file, late, 4096, 4096) != 4096) exit(2);  // the kernel writes the same bytes
  printf("through another mapping: %ld\n", sum + call(run + 4096));
  munmap(late, 4096), munmap(write_here, 8192), munmap(run, 8192), close(file);
}

static void permissions_stay(void) {
  char line[256];
  FILE* const maps = fopen("/proc/self/maps", "r");
  char wanted[32];
  snprintf(wanted, sizeof wanted, "%lx-", (unsigned long)(uintptr_t)code);
  while (fgets(line, sizeof line, maps))
    if (strncmp(line, wanted, strlen(wanted)) == 0) printf("permissions: %.4s\n", strchr(line, ' ') + 1);
  fclose(maps);
}

int main(void) {
  code = pages(PROT_READ | PROT_WRITE | PROT_EXEC);
  rewritten_in_place();
  only_an_operand();
  beside_data();
  the_next_instruction();
  calls_into_what_changes();
  by_another_thread();
  by_the_kernel();
  calls_the_kernel();
  in_a_child();
  written_or_executed();
  flags_pass();
  flags_for_another_page();
  through_another_mapping();
  permissions_stay();
  return 0;
}
