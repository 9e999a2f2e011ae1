// SPDX-License-Identifier: Apache-2.0
// A program for sanitizers (sanitizers_test.py builds it with each). The first argument names its error.
//
//   clean     nothing: threads under a mutex, an exception, a library that is loaded
//   fork      nothing, in two processes, and starts a program that has no sanitizer
//   freed     reads memory that was freed
//   beyond    writes beyond an array on the stack
//   lost      leaks memory, while two threads hold other memory only by their stacks and registers
//   race      two threads write without a lock
//   unset     branches on uninitialised memory
//   undefined overflows a signed number
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace {

constexpr int kThreads = 4, kRounds = 500;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int total;

void* add_locked(void*) {
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(&mutex);
    ++total;
    pthread_mutex_unlock(&mutex);
  }
  return std::malloc(1);
}

void* add_racing(void*) {
  for (int i = 0; i < kRounds; ++i) ++total;
  return nullptr;
}

void run_two(void* (*what)(void*)) {
  pthread_t one, other;
  pthread_create(&one, nullptr, what, nullptr);
  pthread_create(&other, nullptr, what, nullptr);
  pthread_join(one, nullptr);
  pthread_join(other, nullptr);
}

int clean() {
  pthread_t threads[kThreads];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, add_locked, nullptr);
  for (pthread_t thread : threads) {
    void* memory = nullptr;
    pthread_join(thread, &memory);
    std::free(memory);
  }
  std::printf("counted %d\n", total);
  try {
    throw std::runtime_error("an exception");
  } catch (const std::exception&) {
    std::printf("caught an exception\n");
  }
  void* const library = dlopen("libm.so.6", RTLD_NOW);
  const auto cosine = reinterpret_cast<double (*)(double)>(dlsym(library, "cos"));
  std::printf("cos(0) is %g\n", cosine(0));
  dlclose(library);
  return 0;
}

int forks() {
  const pid_t child = fork();
  if (child == 0) std::exit(7);
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("the child ended with %d\n", WEXITSTATUS(status));
  std::printf("a shell ended with %d\n", WEXITSTATUS(std::system("exit 5")));
  return 0;
}

__attribute__((noinline)) int freed() {
  volatile int* const memory = static_cast<int*>(std::malloc(40));
  std::free(const_cast<int*>(memory));
  return memory[3];
}

__attribute__((noinline)) int beyond(int index) {
  volatile char array[16];
  std::memset(const_cast<char*>(array), 0, sizeof array);
  array[index] = 1;
  return array[0];
}

sem_t held, done;

/// In a system call when the program ends: only its stack points to its memory.
void* hold_and_wait(void*) {
  void* volatile memory = std::malloc(100);
  sem_post(&held);
  sem_wait(&done);
  std::free(memory);
  return nullptr;
}

/// Running when the program ends: only a register points to its memory, a vector register if sanitizers scan
/// those.
void* hold_and_run(void*) {
  char* memory = static_cast<char*>(std::malloc(200));
  sem_post(&held);
  for (;;) __asm__ volatile("" : "+r"(memory));
}

__attribute__((noinline)) void lose(int size) {
  void* volatile memory = std::malloc(static_cast<std::size_t>(size));
  memory = nullptr;
}

__attribute__((noinline)) void clear_stack() {
  char unused[4096];
  std::memset(unused, 0, sizeof unused);
  __asm__ volatile("" ::"r"(unused) : "memory");
}

int lost() {
  sem_init(&held, 0, 0);
  sem_init(&done, 0, 0);
  for (const auto what : {hold_and_wait, hold_and_run}) {
    pthread_t thread;
    pthread_create(&thread, nullptr, what, nullptr);
    sem_wait(&held);
  }
  lose(77);
  clear_stack();
  return 0;
}

int unset(char** words) {
  int* const memory = static_cast<int*>(std::malloc(8));
  if (words[0] == nullptr) *memory = 1;
  const int result = *memory == 5 ? 3 : 0;
  std::free(memory);
  return result;
}

int undefined(int words) {
  volatile int most = 0x7fffffff;
  return most + words < 0 ? 0 : 3;
}

}  // namespace

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "";
  if (std::strcmp(what, "clean") == 0) return clean();
  if (std::strcmp(what, "fork") == 0) return forks();
  if (std::strcmp(what, "freed") == 0) return freed();
  if (std::strcmp(what, "beyond") == 0) return beyond(15 + count);
  if (std::strcmp(what, "lost") == 0) return lost();
  if (std::strcmp(what, "race") == 0) return run_two(add_racing), 0;
  if (std::strcmp(what, "unset") == 0) return unset(words);
  if (std::strcmp(what, "undefined") == 0) return undefined(count);
  return 2;
}
