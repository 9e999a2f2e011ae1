// SPDX-License-Identifier: Apache-2.0
// Run by activity_test under the preload library: ends with locks held, so that its counter files show what
// its threads did. The first argument selects the work. The locks lie at an address that the test knows.
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>

#include "abi/thread_activity.h"
#include "elision/elision.h"

extern "C" [[gnu::weak]] elision::abi::ThreadActivity* elision_thread_activity(std::uint32_t);

namespace {

struct Locks {
  alignas(64) pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
  alignas(64) pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
  alignas(64) elision_mutex of_api = ELISION_MUTEX_INIT;
  alignas(64) elision_mutex of_api_too = ELISION_MUTEX_INIT;
};
static_assert(offsetof(Locks, second) == 64 && offsetof(Locks, of_api) == 128);

Locks* make_locks() {
  void* const place = reinterpret_cast<void*>(std::uintptr_t{0x200000000});
  void* const memory =
      mmap(place, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return memory == place ? new (memory) Locks : nullptr;
}

volatile bool other_holds = false;

template <class Lock>
void* hold(void* lock) {
  if constexpr (std::is_same_v<Lock, elision_mutex>) {
    elision_mutex_lock(static_cast<elision_mutex*>(lock));
    elision_abort();
  } else {
    pthread_mutex_lock(static_cast<pthread_mutex_t*>(lock));
    (void)getppid();  // ends a transaction
  }
  other_holds = true;
  while (true) pause();
}

/// A process whose threads hold a lock forks. In the child another thread is the first to take one, and then
/// the thread that forked releases the lock that it has from its parent.
template <class Lock, class Release>
int fork_with(Lock* mine, Lock* others, Release release) {
  const pid_t child = fork();
  if (child != 0) return waitpid(child, nullptr, 0) != child;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, hold<Lock>, others) != 0) return 1;
  while (!other_holds) sched_yield();
  release(mine);
  _exit(0);
}

/// A wait for a condition with a mutex that is glibc's, while another one is held.
int wait_with_robust_mutex(Locks& locks) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&locks.second, &attributes);
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const timespec long_ago{1, 0};
  pthread_mutex_lock(&locks.first);
  pthread_mutex_lock(&locks.second);
  const int result = pthread_cond_timedwait(&condition, &locks.second, &long_ago);
  pthread_mutex_unlock(&locks.second);
  return result != ETIMEDOUT;
}

/// The preload library answers its own version alone.
int ask_by_version() {
  using elision::abi::kActivityVersion;
  if (&elision_thread_activity == nullptr || elision_thread_activity(kActivityVersion) == nullptr) return 1;
  for (const std::uint32_t other : {kActivityVersion - 1, kActivityVersion + 1})
    if (elision_thread_activity(other) != nullptr) return 1;
  return 0;
}

/// A lock of libelision-api first, then nothing but a barrier.
int barrier_after_api(Locks& locks) {
  elision_mutex_lock(&locks.of_api);
  elision_mutex_unlock(&locks.of_api);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 1);
  return pthread_barrier_wait(&barrier) > 0;  // an error
}

// A signal handler that forks while unlock wakes a thread.

pid_t child_of_handler = -1;

void fork_in_handler(int) { child_of_handler = fork(); }

/// From now on the calling thread's wake-ups of `mutex` raise SIGSYS. False: this kernel forbids that.
bool trap_wakes_of(const pthread_mutex_t& mutex) {
  const auto address = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&mutex));
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, address, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void* lock_and_exit(void* mutex) {
  pthread_mutex_lock(static_cast<pthread_mutex_t*>(mutex));
  return nullptr;
}

int fork_while_waking(pthread_mutex_t& mutex) {
  struct sigaction action {};
  action.sa_handler = fork_in_handler;
  sigaction(SIGSYS, &action, nullptr);
  pthread_mutex_lock(&mutex);
  const volatile int& word = mutex.__data.__lock;
  const int held = word;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, lock_and_exit, &mutex) != 0) return 1;
  while (word == held) sched_yield();  // until it sleeps
  if (!trap_wakes_of(mutex)) return 77;
  pthread_mutex_unlock(&mutex);
  if (child_of_handler == 0) _exit(0);
  int status = 1;
  return child_of_handler < 0 || waitpid(child_of_handler, &status, 0) < 0 || status != 0;
}

}  // namespace

int main(int count, char** arguments) {
  Locks* const locks = make_locks();
  if (count != 2 || locks == nullptr) return 2;
  const char* const work = arguments[1];
  int result = 2;
  if (std::strcmp(work, "fork") == 0) {
    pthread_mutex_lock(&locks->first);
    result = fork_with(&locks->first, &locks->second, pthread_mutex_unlock);
  } else if (std::strcmp(work, "fork-api") == 0) {
    elision_mutex_lock(&locks->of_api);
    result = fork_with(&locks->of_api, &locks->of_api_too, elision_mutex_unlock);
  } else if (std::strcmp(work, "wait") == 0) {
    result = wait_with_robust_mutex(*locks);
  } else if (std::strcmp(work, "fork-while-waking") == 0) {
    result = fork_while_waking(locks->first);
  } else if (std::strcmp(work, "barrier-after-api") == 0) {
    result = barrier_after_api(*locks);
  } else if (std::strcmp(work, "versions") == 0) {
    result = ask_by_version();
  } else if (std::strcmp(work, "api") == 0) {
    elision_mutex_lock(&locks->of_api);
    result = 0;
  } else if (std::strcmp(work, "both") == 0) {
    pthread_mutex_lock(&locks->first);
    elision_mutex_lock(&locks->of_api);
    result = 0;
  }
  _exit(result);
}
