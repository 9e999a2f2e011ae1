// SPDX-License-Identifier: Apache-2.0
// Relaxed transactions: input and output happen once, and uninstrumented code sees what instrumented code
// wrote.
#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

long values[300];
long seen;

/// Not transaction-safe: the compiler makes no clone of it.
[[gnu::noinline]] void sum_up() {
  asm volatile("" ::: "memory");
  seen = 0;
  for (long value : values) seen += value;
}

void (*volatile unknown)() = sum_up;

void write_and_call(long base) {
  __transaction_relaxed {
    leave_hardware();
    for (long i = 0; i < 300; ++i) values[i] = base + i;
    unknown();
    for (long i = 0; i < 300; i += 2) values[i] -= seen > 0 ? 1 : 0;
  }
}

void print_sometimes(long i) {
  __transaction_relaxed {
    leave_hardware();
    ++values[0];
    if (i % 5 == 0) {
      sum_up();
      std::printf("inside: %ld\n", seen);
    }
    ++values[1];
  }
}

}  // namespace

int main() {
  const tm_test::Company company;
  write_and_call(0);
  expect("seen inside", seen, 299 * 150);
  sum_up();
  expect("sum after", seen, 299 * 150 - 150);
  write_and_call(10);
  expect("seen inside again", seen, 299 * 150 + 3000);
  for (long i = 0; i < 20; ++i) print_sometimes(i);
  sum_up();
  expect("sum in the end", seen, 299 * 150 + 3000 - 150 + 40);
}
