// SPDX-License-Identifier: Apache-2.0
// process_vm_readv of the process's own memory: what it copies, what it does at bad addresses.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kPage = 4096 };

static char target[3 * kPage];

static void show(const char* what, ssize_t result) {
  printf("%s: %zd", what, result < 0 ? -(ssize_t)errno : result);
  if (result > 0) printf(" '%c' '%c'", target[0], target[result - 1]);
  printf("\n");
}

static ssize_t copy(const struct iovec* to, unsigned long tos, const struct iovec* from,
                    unsigned long froms) {
  memset(target, '-', sizeof target);
  return process_vm_readv(getpid(), to, tos, from, froms, 0);
}

int main(void) {
  char* const memory = mmap(NULL, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, 'a', kPage);
  memset(memory + kPage, 'b', kPage);
  munmap(memory + 2 * kPage, kPage);
  memset(memory + 3 * kPage, 'd', kPage);
  const struct iovec all = {target, sizeof target};
  const struct iovec two = {memory + 100, 2 * kPage - 200};
  show("two pages", copy(&all, 1, &two, 1));
  const struct iovec into_hole = {memory + kPage + 10, 2 * kPage};
  show("up to a hole", copy(&all, 1, &into_hole, 1));
  const struct iovec hole = {memory + 2 * kPage, 8};
  show("a hole", copy(&all, 1, &hole, 1));
  const struct iovec behind[] = {{memory, 8}, {memory + 2 * kPage, 8}, {memory + 3 * kPage, 8}};
  show("nothing behind a hole", copy(&all, 1, behind, 3));
  const struct iovec pieces[] = {{target, 3}, {target + 3, 0}, {target + 3, 10}};
  const struct iovec parts[] = {{memory + kPage - 5, 10}, {NULL, 0}, {memory + 3 * kPage, 100}};
  show("pieces", copy(pieces, 3, parts, 3));
  mprotect(memory, kPage, PROT_NONE);
  show("no access", copy(&all, 1, behind, 1));
  mprotect(memory, kPage, PROT_READ);
  const struct iovec read_only = {memory, 16}, source = {memory + kPage, 16};
  show("a target that may only be read", copy(&read_only, 1, &source, 1));
  const struct iovec kernels = {(void*)(1ul << 63), 16}, too_long = {target, ~0ul};
  show("a target beyond user space", copy(&kernels, 1, &source, 1));
  show("a source beyond user space", copy(&all, 1, &kernels, 1));
  show("a negative length", copy(&too_long, 1, &source, 1));
  show("no vectors", copy(NULL, 0, &source, 1));
  show("bad vectors", copy((const struct iovec*)8, 1, &source, 1));
  show("too many vectors", copy(&all, 1025, &source, 1));
  show("flags", process_vm_readv(getpid(), &all, 1, &source, 1, 1));
  show("nobody", process_vm_readv(0, &all, 1, &source, 1, 0));
  memset(target, '-', sizeof target);
  show("by thread number", process_vm_readv((int)syscall(SYS_gettid), &all, 1, &source, 1, 0));
  return 0;
}
