// SPDX-License-Identifier: Apache-2.0
// fork [FORKS]: a child of fork finds memory as committed transactions left it, and runs transactions of
// its own, though other threads were in theirs.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

long left, padding[64], right;
std::atomic<bool> stops{false};

void change_both() {
  __transaction_atomic {
    leave_hardware();
    ++left;
    padding[left % 64] = right;
    ++right;
  }
}

long difference() {
  long result;
  __transaction_atomic { result = left - right; }
  return result;
}

[[noreturn]] void be_child() {
  bool good = difference() == 0;
  const long before = left;
  for (int i = 0; i < 50; ++i) change_both();
  good = good && left == before + 50 && difference() == 0;
  if (good) tm_test::run_threads(2, [](int) { change_both(); });
  _exit(good && left == before + 52 ? 0 : 1);
}

long failed_children(long forks) {
  long failed = 0;
  for (long i = 0; i < forks; ++i) {
    const pid_t child = fork();
    if (child == 0) be_child();
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++failed;
    change_both();
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const long forks = argc > 1 ? std::atol(argv[1]) : 20;
  long failed = 0;
  tm_test::run_threads(3, [&](int number) {
    if (number == 0) {
      failed = failed_children(forks);
      stops = true;
    }
    while (!stops) change_both();
  });
  expect("failed children", failed, 0);
  expect("difference", difference(), 0);
}
