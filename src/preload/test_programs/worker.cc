// SPDX-License-Identifier: Apache-2.0
// Run by counters_test under the preload library. The first argument selects the work. Takes only the mutexes
// that it names.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "elision/elision.h"

namespace {

struct alignas(128) Shared {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  alignas(128) volatile std::uint64_t counter = 0;
};
Shared shared;

/// One section, with a window between load and store. `forced` makes a system call in it, which aborts a
/// transaction, and makes the window so long that whole sections of other threads fit into it.
void section(bool forced) {
  pthread_mutex_lock(&shared.mutex);
  if (forced) getppid();
  const std::uint64_t value = shared.counter;
  for (int i = 0; i < (forced ? 2000 : 10); ++i) asm volatile("");
  if (forced) sched_yield();  // in case that all threads have one CPU
  shared.counter = value + 1;
  pthread_mutex_unlock(&shared.mutex);
}

void* work(void* rounds) {
  for (std::uint64_t i = 0; i < *static_cast<const std::uint64_t*>(rounds); ++i) section(false);
  return nullptr;
}

/// 1 if updates were lost.
int run_threads(std::uint64_t threads, std::uint64_t rounds) {
  pthread_t handles[64];
  for (std::uint64_t i = 0; i < threads; ++i) {
    if (pthread_create(&handles[i], nullptr, work, &rounds) != 0) return 2;
  }
  for (std::uint64_t i = 0; i < threads; ++i) pthread_join(handles[i], nullptr);
  return shared.counter == threads * rounds ? 0 : 1;
}

volatile bool forced_is_done = false;

void* work_until_forced_is_done(void* sections) {
  for (auto& count = *static_cast<std::uint64_t*>(sections); !forced_is_done; ++count) section(false);
  return nullptr;
}

/// Forced sections beside ordinary ones, from the first to the last. 1 if updates were lost.
int run_mixed(std::uint64_t rounds) {
  pthread_t other;
  std::uint64_t sections = 0;
  if (pthread_create(&other, nullptr, work_until_forced_is_done, &sections) != 0) return 2;
  for (std::uint64_t i = 0; i < rounds; ++i) section(true);
  forced_is_done = true;
  pthread_join(other, nullptr);
  return shared.counter == rounds + sections ? 0 : 1;
}

pthread_mutex_t mutex_of(int type, int robustness) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setrobust(&attributes, robustness);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &attributes);
  return mutex;
}

/// Kinds of locks and ways to take them, eight sections in total. A recursive mutex that is taken again and a
/// robust one, which is glibc's, make none. 1 if a call returns a wrong result.
int every_kind() {
  const timespec long_ago{1, 0};
  pthread_mutex_t recursive = mutex_of(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
  pthread_mutex_t checking = mutex_of(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
  pthread_mutex_t robust = mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_spinlock_t spin;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  const auto unlock = [&] { return pthread_rwlock_unlock(&rwlock); };

  int wrong =
      pthread_mutex_lock(&recursive) | pthread_mutex_lock(&recursive) | pthread_mutex_trylock(&recursive);
  for (int depth = 0; depth < 3; ++depth) wrong |= pthread_mutex_unlock(&recursive);
  wrong |= pthread_mutex_lock(&checking) | (pthread_mutex_lock(&checking) ^ EDEADLK);
  wrong |= pthread_mutex_unlock(&checking);
  wrong |= pthread_mutex_lock(&robust) | pthread_mutex_unlock(&robust);
  wrong |= pthread_mutex_trylock(&robust) | pthread_mutex_unlock(&robust);
  // A passed deadline does not matter without a wait.
  wrong |= pthread_mutex_timedlock(&shared.mutex, &long_ago) | pthread_mutex_unlock(&shared.mutex);
  wrong |= pthread_rwlock_rdlock(&rwlock) | unlock();
  wrong |= pthread_rwlock_timedrdlock(&rwlock, &long_ago) | unlock();
  wrong |= pthread_rwlock_timedwrlock(&rwlock, &long_ago) | unlock();
  wrong |= pthread_rwlock_trywrlock(&rwlock) | unlock();
  wrong |= pthread_spin_lock(&spin) | pthread_spin_unlock(&spin);
  return wrong != 0;
}

int many_short_threads(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t one = 1;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, work, &one) != 0) return 2;
    pthread_join(thread, nullptr);
  }
  return shared.counter == count ? 0 : 1;
}

void* stay(void*) {
  while (true) pause();
}

/// Starts a second thread, since a process with one thread elides nothing.
void have_company() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, stay, nullptr) != 0) abort();
}

pthread_cond_t never_signalled = PTHREAD_COND_INITIALIZER;

/// One section, and then an end by return, by pthread_exit, or by cancellation in a wait, whose cleanup runs
/// with the mutex held. The wait's own two sections count too.
void* end_somehow(void* way) {
  section(false);
  const auto which = reinterpret_cast<std::uintptr_t>(way) % 3;
  if (which == 1) pthread_exit(nullptr);
  if (which == 2) {
    pthread_mutex_lock(&shared.mutex);
    pthread_cleanup_push([](void*) { pthread_mutex_unlock(&shared.mutex); }, nullptr);
    while (true) pthread_cond_wait(&never_signalled, &shared.mutex);
    pthread_cleanup_pop(0);
  }
  return nullptr;
}

/// Threads one after the other, each with a different end.
int many_ends(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, end_somehow, reinterpret_cast<void*>(i)) != 0) return 2;
    if (i % 3 == 2) pthread_cancel(thread);
    pthread_join(thread, nullptr);
  }
  return shared.counter == count ? 0 : 1;
}

int fork_and_count(std::uint64_t mine, std::uint64_t childs) {
  have_company();
  for (std::uint64_t i = 0; i < mine; ++i) section(false);
  const pid_t child = fork();
  if (child == 0) {
    have_company();
    for (std::uint64_t i = 0; i < childs; ++i) section(false);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// Holds the mutex until a second thread has tried to take it several times. The second thread's speculations
/// know that they are speculations, and leave no trace.
volatile bool asks = false;
volatile std::uint64_t speculated = 0;
bool ends_speculation = false;  // by XABORT, when elision_speculating() is true

void* ask(void*) {
  asks = true;
  pthread_mutex_lock(&shared.mutex);
  if (elision_speculating()) {
    speculated = speculated + 1;
    if (ends_speculation) asm volatile("xabort $7");
  }
  shared.counter = shared.counter + 1;
  pthread_mutex_unlock(&shared.mutex);
  return nullptr;
}

/// Twenty times: holds the mutex while another thread runs `asker`, and does `meanwhile` when that tries to
/// take it.
bool hold_while_asked(void* (*asker)(void*), void (*meanwhile)()) {
  for (int round = 0; round < 20; ++round) {
    asks = false;
    pthread_mutex_lock(&shared.mutex);
    pthread_t thread;
    if (pthread_create(&thread, nullptr, asker, nullptr) != 0) return false;
    while (!asks) sched_yield();
    meanwhile();
    pthread_mutex_unlock(&shared.mutex);
    pthread_join(thread, nullptr);
  }
  return true;
}

int speculate() {
  const bool done = hold_while_asked(ask, [] {
    for (int i = 0; i < 100; ++i) sched_yield();
  });
  if (!done) return 2;
  return shared.counter == 20 && speculated == 0 && !elision_speculating() ? 0 : 1;
}

void* ask_at_length(void*) {
  pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;  // a thread's first lock operation differs
  pthread_mutex_lock(&first);
  pthread_mutex_unlock(&first);
  asks = true;
  pthread_mutex_lock(&shared.mutex);
  if (elision_speculating()) {
    for (int i = 0; i < 20000; ++i) asm volatile("");
    asm volatile("xabort $7");
  }
  pthread_mutex_unlock(&shared.mutex);
  return nullptr;
}

/// While another thread speculates, stores next to the lock's word, as a release stores to it.
int speculate_beside_stores() {
  const bool done = hold_while_asked(ask_at_length, [] {
    auto* const beside = &reinterpret_cast<volatile char*>(&shared.mutex)[sizeof shared.mutex + 8];
    for (int i = 0; i < 200000; ++i) *beside = static_cast<char>(i);
  });
  return done ? 0 : 2;
}

/// 1 if a page of the library's code is not mapped into this process, 77 if that is unknown.
int code_is_mapped() {
  have_company();
  section(false);
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  const int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (maps == nullptr) return 2;
  if (pages < 0) return 77;
  int found = 0, missing = 0;
  for (char line[512]; std::fgets(line, sizeof line, maps) != nullptr;) {
    std::uint64_t from, to;
    if (std::strstr(line, "r-xp") == nullptr || std::strstr(line, "/libelision.so") == nullptr ||
        std::sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2)
      continue;
    for (std::uint64_t page = from / 4096; page < to / 4096; ++page, ++found) {
      std::uint64_t entry = 0;
      if (pread(pages, &entry, sizeof entry, static_cast<off_t>(page * sizeof entry)) != sizeof entry)
        return 2;
      missing += (entry >> 63) == 0;
    }
  }
  return found == 0 ? 2 : missing != 0;
}

/// Sections while the accessed bits of their pages are cleared now and then, as when a kernel reclaims
/// memory.
int age(std::uint64_t rounds, std::uint64_t sections) {
  have_company();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const int marks = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (marks < 0 || write(marks, "1", 1) != 1) return 77;
    close(marks);
    for (std::uint64_t i = 0; i < sections; ++i) section(false);
  }
  return 0;
}

int limited() {
  // Counts normally, and then with a limit on file sizes.
  const rlimit limit{1 << 20, 1 << 20};
  setrlimit(RLIMIT_FSIZE, &limit);
  char* const words[] = {const_cast<char*>("/proc/self/exe"), const_cast<char*>("count"),
                         const_cast<char*>("2"), const_cast<char*>("100"), nullptr};
  execv(words[0], words);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const auto is = [&](const char* what) { return argc > 1 && std::strcmp(argv[1], what) == 0; };
  const auto number = [&](int index) -> std::uint64_t {
    return argc > index ? std::strtoull(argv[index], nullptr, 10) : 0;
  };
  if (is("nothing")) return 0;
  if (is("count")) return run_threads(number(2), number(3));
  if (is("kinds")) return every_kind();
  if (is("mixed")) return run_mixed(number(2));
  if (is("ends")) return many_ends(number(2));
  if (is("privileged")) return getauxval(AT_SECURE) != 0 ? run_threads(2, 100) : 77;
  if (is("threads")) return many_short_threads(number(2));
  if (is("fork")) return fork_and_count(number(2), number(3));
  ends_speculation = is("speculate-told");
  if (is("speculate") || ends_speculation) return speculate();
  if (is("speculate-beside-stores")) return speculate_beside_stores();
  if (is("code-is-mapped")) return code_is_mapped();
  if (is("age")) return age(number(2), number(3));
  if (is("limited")) return limited();
  if (is("bad-unlock"))
    return pthread_mutex_lock(&shared.mutex) | pthread_mutex_unlock(&shared.mutex) |
           pthread_mutex_unlock(&shared.mutex);
  if (is("bad-destroy")) {
    pthread_mutex_lock(&shared.mutex);
    return pthread_mutex_destroy(&shared.mutex) == EBUSY ? pthread_mutex_unlock(&shared.mutex) : 1;
  }
  if (is("crash")) {
    for (std::uint64_t i = 0; i < number(2); ++i) section(false);
    raise(SIGKILL);
  }
  return 2;
}
