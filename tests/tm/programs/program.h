// SPDX-License-Identifier: Apache-2.0
// What the programs of these tests share. Their output must be the same with every transactional library,
// on every path. So each of them takes a thread along that only waits: alone, a process runs all
// transactions serially. And each transaction calls leave_hardware(), which ends a hardware transaction
// where TM_SOFTWARE asks for it.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tm_test {

inline const bool in_software = std::getenv("TM_SOFTWARE") != nullptr;

/// A system call, which no hardware transaction survives.
[[gnu::transaction_pure, gnu::noinline]] inline void leave_hardware() {
  if (!in_software) return;
  long result = SYS_gettid;
  asm volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
}

/// The program's parts that GCC's libitm gets wrong run only if an argument asks for them.
inline bool with_all_parts(int argc) { return argc > 1; }

/// While it exists, the process has two threads.
class Company {
 public:
  Company() {
    sem_init(&leave_, 0, 0);
    pthread_create(&thread_, nullptr, wait, &leave_);
  }
  ~Company() {
    sem_post(&leave_);
    pthread_join(thread_, nullptr);
  }
  Company(const Company&) = delete;
  Company& operator=(const Company&) = delete;

 private:
  static void* wait(void* leave) {
    while (sem_wait(static_cast<sem_t*>(leave)) != 0) {
    }
    return nullptr;
  }
  sem_t leave_;
  pthread_t thread_;
};

/// Prints what was found, and ends the program with 1 if it is not what was expected.
inline void expect(const char* what, long found, long expected) {
  std::printf("%s: %ld\n", what, found);
  if (found == expected) return;
  std::printf("WRONG %s: expected %ld\n", what, expected);
  std::exit(1);
}

/// `count` threads, each calling body(number).
template <class Body>
void run_threads(int count, Body body) {
  struct Start {
    Body* body;
    int number;
  } starts[64];
  pthread_t threads[64];
  for (int i = 0; i < count; ++i) {
    starts[i] = {&body, i};
    pthread_create(
        &threads[i], nullptr,
        [](void* argument) -> void* {
          auto* start = static_cast<Start*>(argument);
          (*start->body)(start->number);
          return nullptr;
        },
        &starts[i]);
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
}

}  // namespace tm_test
