// SPDX-License-Identifier: Apache-2.0
// Uses every kind of lock and condition variable, uncontended and contended, from each thread's first lock
// operation on. Ends with 1 and says where if any code allocates meanwhile: by a function of the C library,
// which this program replaces, or by a system call, which a seccomp filter reports. Ends with 77 without such
// a filter. With an argument it allocates in that way itself, which must be noticed.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

std::atomic<bool> forbidden{false};

[[noreturn]] void fail(const char* what) {
  forbidden = false;
  (void)!write(STDOUT_FILENO, what, std::strlen(what));
  (void)!write(STDOUT_FILENO, "\n", 1);
  _exit(1);
}

void check(const char* function) {
  if (forbidden.load(std::memory_order_relaxed)) fail(function);
}

}  // namespace

extern "C" {
void* malloc(std::size_t size) {
  check("malloc");
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  check("calloc");
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  check("realloc");
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  check("memalign");
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  check("aligned_alloc");
  return __libc_memalign(alignment, size);
}
void free(void* memory) {
  check("free");
  __libc_free(memory);
}
}

namespace {

constexpr int kForbiddenCalls[] = {SYS_mmap,    SYS_munmap, SYS_mremap, SYS_brk,   SYS_mprotect,
                                   SYS_madvise, SYS_open,   SYS_openat, SYS_clone, SYS_memfd_create};

void on_forbidden_call(int, siginfo_t* info, void*) {
  char text[64];
  std::snprintf(text, sizeof text, "system call %d", info->si_syscall);
  fail(text);
}

/// From here on each of these system calls, by any thread, raises SIGSYS.
bool forbid_system_calls() {
  constexpr unsigned kCount = sizeof kForbiddenCalls / sizeof *kForbiddenCalls;
  sock_filter filter[kCount + 3];
  filter[0] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (unsigned i = 0; i < kCount; ++i) {
    filter[1 + i] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(kForbiddenCalls[i]),
                             static_cast<unsigned char>(kCount - i), 0);
  }
  filter[1 + kCount] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter[2 + kCount] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  const sock_fprog program{kCount + 3, filter};
  struct sigaction action {};
  action.sa_sigaction = on_forbidden_call;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

constexpr int kThreads = 3, kRounds = 100;
constexpr timespec kLongAgo{1, 0};
std::atomic<int> working{0};
pthread_mutex_t mutexes[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                             PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
pthread_rwlock_t rwlocks[] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP};
pthread_spinlock_t spin_lock;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
pthread_barrier_t barrier;
mtx_t c11_mutex;
cnd_t c11_cond;

void use_mutex(pthread_mutex_t* mutex) {
  pthread_mutex_lock(mutex);
  if (working.load() % 7 == 0) getppid();  // aborts a transaction
  pthread_mutex_unlock(mutex);
  if (pthread_mutex_trylock(mutex) == 0) pthread_mutex_unlock(mutex);
  if (pthread_mutex_timedlock(mutex, &kLongAgo) == 0) pthread_mutex_unlock(mutex);
  if (pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &kLongAgo) == 0) pthread_mutex_unlock(mutex);
  pthread_mutex_lock(mutex);
  pthread_cond_timedwait(&cond, mutex, &kLongAgo);
  pthread_cond_clockwait(&cond, mutex, CLOCK_MONOTONIC, &kLongAgo);
  pthread_cond_signal(&cond);
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(mutex);
  pthread_mutex_t own;
  pthread_mutex_init(&own, nullptr);
  pthread_mutex_lock(&own);
  pthread_mutex_unlock(&own);
  pthread_mutex_destroy(&own);
}

void use_rwlock(pthread_rwlock_t* lock) {
  pthread_rwlock_rdlock(lock);
  pthread_rwlock_unlock(lock);
  pthread_rwlock_wrlock(lock);
  pthread_rwlock_unlock(lock);
  if (pthread_rwlock_tryrdlock(lock) == 0) pthread_rwlock_unlock(lock);
  if (pthread_rwlock_trywrlock(lock) == 0) pthread_rwlock_unlock(lock);
  if (pthread_rwlock_timedrdlock(lock, &kLongAgo) == 0) pthread_rwlock_unlock(lock);
  if (pthread_rwlock_timedwrlock(lock, &kLongAgo) == 0) pthread_rwlock_unlock(lock);
  if (pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &kLongAgo) == 0) pthread_rwlock_unlock(lock);
}

void use_others() {
  pthread_spin_lock(&spin_lock);
  pthread_spin_unlock(&spin_lock);
  if (pthread_spin_trylock(&spin_lock) == 0) pthread_spin_unlock(&spin_lock);
  mtx_lock(&c11_mutex);
  cnd_timedwait(&c11_cond, &c11_mutex, &kLongAgo);
  cnd_signal(&c11_cond);
  cnd_broadcast(&c11_cond);
  mtx_unlock(&c11_mutex);
  if (mtx_trylock(&c11_mutex) == thrd_success) mtx_unlock(&c11_mutex);
  if (mtx_timedlock(&c11_mutex, &kLongAgo) == thrd_success) mtx_unlock(&c11_mutex);
}

/// Waits for the thread after the next, so that real waits and wake-ups happen too.
int turn = 0;
void take_turn(int mine) {
  pthread_mutex_lock(&mutexes[0]);
  while (turn % kThreads != mine) pthread_cond_wait(&cond, &mutexes[0]);
  ++turn;
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(&mutexes[0]);
}

void* work(void* number) {
  const int mine = static_cast<int>(reinterpret_cast<std::intptr_t>(number));
  while (!forbidden.load()) sched_yield();
  for (int round = 0; round < kRounds; ++round) {
    for (pthread_mutex_t& mutex : mutexes) use_mutex(&mutex);
    for (pthread_rwlock_t& lock : rwlocks) use_rwlock(&lock);
    use_others();
    if (round % 20 == 0) {
      take_turn(mine);
      pthread_barrier_wait(&barrier);
    }
    ++working;
  }
  while (true) pause();  // the end of a thread would free memory
}

void allocate(const char* how) {
  if (std::strcmp(how, "malloc") == 0) asm volatile("" : : "r"(malloc(1)) : "memory");
  if (std::strcmp(how, "mmap") == 0) mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
  pthread_barrier_init(&barrier, nullptr, kThreads);
  mtx_init(&c11_mutex, mtx_timed);
  cnd_init(&c11_cond);
  pthread_t threads[kThreads];
  for (std::intptr_t i = 0; i < kThreads; ++i)
    pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i));
  if (!forbid_system_calls()) {
    std::puts("no seccomp filter is to be had here");
    std::fflush(stdout);
    _exit(kSkipped);
  }
  forbidden = true;
  if (argc > 1) allocate(argv[1]);
  while (working.load() != kThreads * kRounds) sched_yield();
  forbidden = false;
  _exit(0);
}
