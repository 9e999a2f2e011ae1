// SPDX-License-Identifier: Apache-2.0
// Crashes in the way its argument names, through functions whose names and order crash_reports_test.py knows.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define OUT_OF_LINE __attribute__((noinline, noclone))
// Keeps a call from becoming a jump.
#define FRAME __asm__ volatile("" ::: "memory")

static volatile int* nowhere = (int*)16;
static volatile int zero, one = 1, sink;

OUT_OF_LINE static void innermost(void) {
  *nowhere = 1;
  FRAME;
}
OUT_OF_LINE static void middle(void) {
  innermost();
  FRAME;
}
OUT_OF_LINE static void outer(void) {
  middle();
  FRAME;
}

static void* in_thread(void* unused) {
  pthread_setname_np(pthread_self(), "worker");
  outer();
  return unused;
}

static void in_handler(int signal) {
  (void)signal;
  outer();
}

static int compare(const void* a, const void* b) {
  outer();
  return *(const int*)a - *(const int*)b;
}

OUT_OF_LINE static void jump_to(uintptr_t address) {
  ((void (*)(void))address)();
  FRAME;
}

OUT_OF_LINE static int recurse(int depth) {
  volatile char space[4096];
  space[depth % 4096] = (char)depth;
  return recurse(depth + 1) + space[0];
}

OUT_OF_LINE static void divide(void) {
  sink = one / zero;
  FRAME;
}
OUT_OF_LINE static void illegal(void) {
  __asm__ volatile("ud2");
  FRAME;
}
OUT_OF_LINE static void breakpoint(void) {
  __asm__ volatile("int3");
  FRAME;
}
OUT_OF_LINE static void wide(int times) {
  // vaddps %zmm2, %zmm1, %zmm0
  for (int i = 0; i < times; ++i) __asm__ volatile(".byte 0x62, 0xf1, 0x74, 0x48, 0x58, 0xc2");
  FRAME;
}
// Faults with a return address at the stack pointer that nobody will return to.
OUT_OF_LINE static void stale(void) {
  sink = getpid();  // a function that calls none may have no frame pointer
  __asm__ volatile("call 1f\n1: ud2" ::: "memory");
  FRAME;
}
OUT_OF_LINE static void give_up(void) { abort(); }
OUT_OF_LINE static void beyond_file(void) {
  const int file = memfd_create("short", 0);
  (void)!ftruncate(file, 4096);
  volatile char* bytes = mmap(NULL, 8192, PROT_READ, MAP_SHARED, file, 0);
  sink = bytes[4096];
  FRAME;
}

// Code made at run time, which calls `outer` with a frame of its own and without one.
OUT_OF_LINE static void generated(int with_frame) {
  unsigned char* code =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char* at = code;
  if (with_frame) {
    memcpy(at, "\x55\x48\x89\xe5", 4);  // push %rbp; mov %rsp, %rbp
    at += 4;
    memcpy(at, "\x48\x83\xec\x20", 4);  // sub $32, %rsp
    at += 4;
  }
  memcpy(at, "\x0f\x0b", 2);  // ud2
  ((void (*)(void))code)();
  FRAME;
}

static void* waits(void* mutex) {
  pthread_setname_np(pthread_self(), "waiter");
  pthread_mutex_lock(mutex);
  return mutex;
}
OUT_OF_LINE static void deadlock(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_t thread;
  pthread_mutex_lock(&mutex);
  pthread_create(&thread, NULL, waits, &mutex);
  pthread_join(thread, NULL);
  FRAME;
}

static void ignore(int signal) { (void)signal; }
static void over_vaddps(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 6;
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  const struct rlimit none = {0, 0};
  if (argc < 3 || strcmp(argv[2], "core") != 0) setrlimit(RLIMIT_CORE, &none);
  if (strcmp(way, "fault") == 0) outer();
  if (strcmp(way, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
  }
  if (strcmp(way, "handler") == 0) {
    signal(SIGUSR1, in_handler);
    raise(SIGUSR1);
  }
  if (strcmp(way, "callback") == 0) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof *numbers, compare);
  }
  if (strcmp(way, "jump") == 0) jump_to(0x10);
  if (strcmp(way, "jump-to-data") == 0) jump_to((uintptr_t)&sink);
  if (strcmp(way, "overflow") == 0) sink = recurse(0);
  if (strcmp(way, "overflow-handled") == 0) {
    signal(SIGSEGV, ignore);
    sink = recurse(0);
  }
  if (strcmp(way, "divide") == 0) divide();
  if (strcmp(way, "illegal") == 0) illegal();
  if (strcmp(way, "stale") == 0) stale();
  if (strcmp(way, "breakpoint") == 0) breakpoint();
  if (strcmp(way, "wide") == 0) wide(1);
  if (strcmp(way, "wide-handled") == 0) {
    const struct sigaction skip = {.sa_sigaction = over_vaddps, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &skip, NULL);
    wide(3);
  }
  if (strcmp(way, "abort") == 0) give_up();
  if (strcmp(way, "beyond-file") == 0) beyond_file();
  if (strcmp(way, "generated") == 0) generated(0);
  if (strcmp(way, "generated-with-frame") == 0) generated(1);
  if (strcmp(way, "deadlock") == 0) deadlock();
  if (strcmp(way, "unknown-calls") == 0) return syscall(9999) == -1 && syscall(9999) == -1 ? 3 : 4;
  if (strcmp(way, "spin") == 0 || strcmp(way, "wait") == 0) {
    puts("ready");
    fflush(stdout);
    while (way[0] == 's') ++sink;
    for (;;) pause();
  }
  if (strcmp(way, "smashed") == 0) {  // a stack of nonsense
    __asm__ volatile(
        "mov $0x414141414140, %%rbp; lea -64(%%rsp), %%rsp; movq $0x42424242, (%%rsp); jmp *%%rbp" ::
            : "memory");
  }
  if (strcmp(way, "child") == 0) {
    const pid_t child = fork();
    if (child == 0) outer();
    int status = 0;
    waitpid(child, &status, 0);
    return WTERMSIG(status);
  }
  if (strcmp(way, "vfork-child") == 0) {
    const pid_t child = vfork();
    if (child == 0) {
      outer();
      _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WTERMSIG(status);
  }
  if (strcmp(way, "kill") == 0) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) pause();
    kill(child, SIGSEGV);
    int status = 0;
    waitpid(child, &status, 0);
    return WTERMSIG(status);
  }
  return 0;
}
