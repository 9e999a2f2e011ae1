// SPDX-License-Identifier: Apache-2.0
// canary [TRANSACTIONS]: figure 1(A) of the ALE paper. Writers keep x and y equal, in software; readers
// look at both. A reader that finds them different aborts its hardware transaction with a code of its own,
// so that the abort is counted (foreign_aborts); outside of one the program ends with 1.
#include <unistd.h>

#include "program.h"

struct alignas(512) Number {
  long value;
};
/// Visible everywhere, so that the compiler keeps the order of stores to them around pass_time().
Number x, y, work;

namespace {

[[gnu::transaction_pure, gnu::noinline]] void leave_hardware_always() {
  long result = SYS_gettid;
  asm volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
}

[[gnu::transaction_pure, gnu::noinline]] void look(long first, long second) {
  if (first == second) [[likely]]
    return;
  asm volatile("xabort $0x77" : : : "memory");
  static const char kText[] = "WRONG x and y differ outside of a hardware transaction\n";
  (void)!write(STDOUT_FILENO, kText, sizeof kText - 1);
  _exit(1);
}

[[gnu::transaction_pure, gnu::noinline]] void pass_time(long loops) {
  for (long i = 0; i < loops; ++i) asm volatile("" : : : "memory");
}

void write_both(long value) {
  __transaction_atomic {
    leave_hardware_always();
    x.value = value;
    pass_time(400);
    y.value = value;
  }
}

void read_both(long delay) {
  __transaction_atomic {
    pass_time(delay);
    const long first = x.value;
    pass_time(50);
    look(first, y.value);
    work.value = first;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long transactions = argc > 1 ? std::atol(argv[1]) : 2000;
  tm_test::run_threads(4, [&](int number) {
    for (long i = 0; i < transactions; ++i) {
      if (number == 0) {
        write_both(i);
      } else {
        read_both(i * 37 % 900);
      }
    }
  });
  tm_test::expect("difference", x.value - y.value, 0);
}
