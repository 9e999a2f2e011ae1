// SPDX-License-Identifier: Apache-2.0
// thread_end thread|process: a relaxed transaction ends its thread, which nobody can commit then, or ends
// the process with 3, which is no error.
#include "program.h"

namespace {

long number;

/// The compiler must not commit the transaction while the stack is unwound, so it is told that nothing is.
[[gnu::nothrow, gnu::noinline]] void end(bool whole_process) {
  if (whole_process) std::exit(3);
  pthread_exit(nullptr);
}

void* run(void* whole_process) {
  __transaction_relaxed {
    ++number;
    end(whole_process != nullptr);
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const tm_test::Company company;
  pthread_t thread;
  pthread_create(&thread, nullptr, run, std::strcmp(argv[1], "process") == 0 ? &number : nullptr);
  pthread_join(thread, nullptr);
  run(nullptr);  // would wait for ever
  std::printf("WRONG a thread ended inside of a transaction\n");
  return 1;
}
