// SPDX-License-Identifier: Apache-2.0
// mmap, mremap, mprotect, munmap, brk, getrandom, bad pointers.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096 };

static void* map(void* at, size_t size, int flags) {
  return mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void test_mappings(void) {
  char* a = map(NULL, 4 * kPage, 0);
  memset(a, 'a', 4 * kPage);
  char* b = mremap(a, 4 * kPage, 64 * kPage, MREMAP_MAYMOVE);
  printf("grown: %d, contents %d\n", b != MAP_FAILED,
         b[0] == 'a' && b[4 * kPage - 1] == 'a' && b[5 * kPage] == 0);
  char* c = map(NULL, 8 * kPage, 0);
  char* d = mremap(b, 64 * kPage, 8 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, c);
  printf("moved: %d, contents %d\n", d == c, d[100] == 'a');
  /* The C library hands a fifth argument on or not, and Linux looks at it. */
  char* const bad_hint = (char*)(d + 1);
  printf("hint: misaligned %d, overlaps %d\n",
         (void*)syscall(SYS_mremap, d, 8 * kPage, 8 * kPage, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, bad_hint) ==
                 MAP_FAILED &&
             errno == EINVAL,
         (void*)syscall(SYS_mremap, d, 8 * kPage, 8 * kPage, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, d + kPage) ==
                 MAP_FAILED &&
             errno == EINVAL);
  printf(
      "refused: beyond all %d, unknown flag %d, without the right to move %d %d\n",
      (void*)syscall(SYS_mremap, d, 8 * kPage, 8 * kPage, MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
                     0x7fffffffe000) == MAP_FAILED &&
          errno == EINVAL,
      (void*)syscall(SYS_mremap, d, 8 * kPage, 8 * kPage, MREMAP_MAYMOVE | 8, 0) == MAP_FAILED &&
          errno == EINVAL,
      (void*)syscall(SYS_mremap, d, 8 * kPage, 8 * kPage, MREMAP_DONTUNMAP, 0) == MAP_FAILED &&
          errno == EINVAL,
      (void*)syscall(SYS_mremap, d, 8 * kPage, 8 * kPage, MREMAP_FIXED, 0) == MAP_FAILED && errno == EINVAL);
  char* e = (char*)syscall(SYS_mremap, d, 8 * kPage, 8 * kPage, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
  printf("moved, and the old pages are empty: %d %d %d\n", e != d && e != MAP_FAILED,
         e[0] == 'a' || e[0] != d[0], d[0]);
  printf("and back: %d\n", mremap(e, 8 * kPage, 8 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, d) == d);
  printf("shrunk in place: %d\n", mremap(d, 8 * kPage, kPage, 0) == d);
  printf("split: %d %d\n", munmap(map(NULL, 3 * kPage, 0), kPage),
         munmap((void*)(uintptr_t)(d + kPage), kPage));
  char* fixed = (char*)0x600000000000;
  printf("fixed: %d\n", map(fixed, 2 * kPage, MAP_FIXED) == fixed);
  printf("not replaced: %d\n", map(fixed, kPage, MAP_FIXED_NOREPLACE) == MAP_FAILED && errno == EEXIST);
  printf("hint taken: %d\n", map((char*)0x610000000000, kPage, 0) == (char*)0x610000000000);
  printf("hint in use: %d\n", map(fixed, kPage, 0) != fixed);
  printf("misaligned: %d\n", map(fixed + 1, kPage, MAP_FIXED) == MAP_FAILED && errno == EINVAL);
  printf("nothing: %d\n", map(NULL, 0, 0) == MAP_FAILED && errno == EINVAL);
  printf("unmapped: mprotect %d\n",
         mprotect((void*)0x620000000000, kPage, PROT_READ) == -1 && errno == ENOMEM);
  char* large = map(NULL, 1ul << 33, MAP_NORESERVE);
  large[1ul << 32] = 1;
  printf("8 GB: %d\n", large[1ul << 32] + large[5]);
  const int dropped = madvise(large, 1ul << 33, MADV_DONTNEED);
  printf("dropped: %d %d\n", dropped, large[1ul << 32]);
}

static void test_file(void) {
  char path[] = "/tmp/guestXXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  (void)!write(file, "0123456789", 10);
  char* shared = mmap(NULL, 10, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  char* private_copy = mmap(NULL, 10, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  private_copy[0] = 'p';
  shared[1] = 's';
  char text[11] = {0};
  (void)!pread(file, text, 10, 0);
  printf("file %s, private %.3s\n", text, private_copy);
}

static void test_break(void) {
  char* const start = sbrk(0);
  char* const grown = sbrk(100000);
  printf("brk grows: %d\n", grown == start && (memset(grown, 1, 100000), grown[99999] == 1));
  sbrk(-100000);
  printf("brk shrinks: %d\n", (char*)sbrk(0) == start);
  void* blocks[100];
  for (int i = 0; i < 100; ++i) memset(blocks[i] = malloc((size_t)i * 9973 + 1), i, (size_t)i * 9973 + 1);
  for (int i = 0; i < 100; ++i) free(blocks[i]);
}

/// Where the virtual machine has memory of its own, and natively nobody has.
static void test_what_is_nobodys(void) {
  char* const nobodys = (char*)0x70000000;
  unsigned char pages[2];
  printf("mincore %d", mincore(nobodys, kPage, pages) == -1 && errno == ENOMEM);
  printf(" msync %d", msync(nobodys, kPage, MS_ASYNC) == -1 && errno == ENOMEM);
  printf(" misaligned %d", mincore(nobodys + 1, kPage, pages) == -1 && errno == EINVAL);
  printf(" mprotect %d", mprotect(nobodys, kPage, PROT_READ) == -1 && errno == ENOMEM);
  printf(" munmap %d", munmap(nobodys, kPage) == 0);
  char* const own = map(NULL, 2 * kPage, 0);
  own[0] = 1;
  const int looked = mincore(own, 2 * kPage, pages);
  printf(", own %d %d %d\n", looked, pages[0] & 1, msync(own, kPage, MS_ASYNC));
}

static void test_random(void) {
  unsigned char a[300], b[300];
  const ssize_t all = getrandom(a, sizeof a, 0), one = getrandom(b, 1, GRND_NONBLOCK);
  printf("getrandom %zd %zd\n", all, one);
  (void)!getrandom(b, sizeof b, 0);
  printf("differ %d\n", memcmp(a, b, sizeof a) != 0);
}

static void test_bad_pointers(void) {
  struct stat status;
  char* const bad = (char*)16;
  char* const edge = (char*)map(NULL, 2 * kPage, 0) + kPage;
  munmap(edge, kPage);
  memcpy(edge - 5, "/tmp", 5);
  printf("string up to the edge: %d\n", stat(edge - 5, &status));
  printf("EFAULT:");
  printf(" %d", syscall(SYS_clock_gettime, CLOCK_MONOTONIC, bad) == -1 && errno == EFAULT);
  printf(" %d", syscall(SYS_nanosleep, bad, NULL) == -1 && errno == EFAULT);
  printf(" %d", syscall(SYS_open, bad, O_RDONLY) == -1 && errno == EFAULT);
  printf(" %d", syscall(SYS_write, 1, bad, 1) == -1 && errno == EFAULT);
  printf(" %d", syscall(SYS_rt_sigaction, 10, bad, NULL, 8) == -1 && errno == EFAULT);
  printf(" %d", syscall(SYS_rt_sigprocmask, 0, bad, NULL, 8) == -1 && errno == EFAULT);
  printf(" %d", syscall(SYS_getrandom, bad, 8, 0) == -1 && errno == EFAULT);
  printf(" %d", syscall(SYS_futex, bad, 0, 0, NULL, NULL, 0) == -1 && errno == EFAULT);
  printf(" %d", syscall(SYS_poll, bad, 1, 0) == -1 && errno == EFAULT);
  printf(" %d\n", syscall(SYS_execve, bad, NULL, NULL) == -1 && errno == EFAULT);
}

/// Pages from a thread's stack pointer down to where nothing is mapped.
static void* pages_to_nothing(void* unused) {
  (void)unused;
  unsigned char in_core;
  char* page = (char*)((uintptr_t)&in_core & ~(uintptr_t)(kPage - 1));
  long count = 0;
  while (count < 100000 && mincore(page - count * kPage, kPage, &in_core) == 0) ++count;
  return (void*)count;
}

/// Without a guard a stack that overflows must meet nothing all the same.
static void test_stack_without_guard(void) {
  enum { kStack = 1 << 20 };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_attr_setguardsize(&attributes, 0);
  pthread_t thread;
  void* pages = NULL;
  pthread_create(&thread, &attributes, pages_to_nothing, NULL);
  pthread_join(thread, &pages);
  printf("a stack without a guard ends at nothing %d\n", (long)pages <= kStack / kPage);
}

int main(void) {
  test_stack_without_guard();
  test_mappings();
  test_file();
  test_break();
  test_what_is_nobodys();
  test_random();
  test_bad_pointers();
  return 0;
}
