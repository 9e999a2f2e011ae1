// SPDX-License-Identifier: Apache-2.0
// What the files of preload_semantics_test share.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <thread>

namespace elision::preload::test {

inline constexpr timespec kLongAgo{1, 0};
inline constexpr timespec kBeforeTime{-1, 0};
inline constexpr timespec kInvalid{1, 1000000000};

/// What another thread gets from `call`.
inline int elsewhere(const std::function<int()>& call) {
  int result = -1;
  std::thread([&] { result = call(); }).join();
  return result;
}

/// The exit status of a child process that runs `body`.
inline int in_child(const std::function<int()>& body) {
  constexpr unsigned kLongEnough = 600;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kLongEnough);  // a child that hangs ends
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

inline bool variable_is(const char* name, const char* value) {
  const char* set = std::getenv(name);
  return set != nullptr && std::strcmp(set, value) == 0;
}

/// Whether threads wait without ever sleeping: in the lock, or in a transaction until its holder releases it.
inline bool waits_spin() {
  const char* design = std::getenv("ELISION_LOCK");
  const bool loops_inside =
      design != nullptr && std::strncmp(design, "htm-", 4) == 0 && variable_is("ELISION_BUSY", "inside");
  return loops_inside || variable_is("ELISION_WAIT", "spin");
}

/// `many`, or a tenth where waiting is spinning: queues of spinning threads crawl when CPUs are few.
inline unsigned rounds(unsigned many) { return waits_spin() ? many / 10 : many; }

/// Gives threads that are about to wait the time to: likely they do afterwards; if not, the test is only
/// easier.
inline void let_them_wait() {
  for (unsigned i = 0; i < rounds(1000); ++i) sched_yield();
}

/// Whether a design of ours is in force: glibc's answers to what POSIX leaves open differ here and there.
inline bool ours() {
  const char* design = std::getenv("ELISION_LOCK");
  return design != nullptr && std::strncmp(design, "pthread", 7) != 0 &&
         std::strcmp(design, "glibc-elision") != 0;
}

}  // namespace elision::preload::test
