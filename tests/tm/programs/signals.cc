// SPDX-License-Identifier: Apache-2.0
// signals [SIGNALS]: a signal that interrupts a transaction disturbs nothing.
#include <atomic>
#include <csignal>

#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

long left, right;
std::atomic<long> handled{0};
std::atomic<bool> is_ready{false}, stops{false};

void handle(int) { handled.fetch_add(1); }

void change_both() {
  __transaction_atomic {
    leave_hardware();
    ++left;
    ++right;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long signals = argc > 1 ? std::atol(argv[1]) : 300;
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  static pthread_t interrupted;
  tm_test::run_threads(2, [&](int number) {
    if (number == 0) {
      interrupted = pthread_self();
      is_ready = true;
      while (!stops) change_both();
      return;
    }
    while (!is_ready) change_both();
    for (long i = 0; i < signals; ++i) {
      pthread_kill(interrupted, SIGUSR1);
      while (handled <= i) change_both();
    }
    stops = true;
  });
  expect("handled", handled, signals);
  expect("difference", left - right, 0);
}
