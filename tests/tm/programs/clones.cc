// SPDX-License-Identifier: Apache-2.0
// Calls through pointers: the library finds the transactional clone, or makes the transaction irrevocable.
#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

long number;

[[gnu::transaction_safe, gnu::noinline]] long twice(long value) { return 2 * value + number; }
[[gnu::transaction_safe, gnu::noinline]] long thrice(long value) { return 3 * value + number; }
[[gnu::transaction_safe, gnu::noinline]] long fourfold(long value) { return 4 * value + number; }
[[gnu::noinline]] long unsafe(long value) {
  asm volatile("" ::: "memory");
  return value + number;
}
using Safe = long (*)(long) transaction_safe;
using Any = long (*)(long);
const Safe safe[] = {twice, thrice, fourfold};
const Any any[] = {twice, unsafe, thrice, fourfold};

struct Base {
  virtual long value() const transaction_safe { return 1; }
};
struct Derived : Base {
  long value() const transaction_safe override { return number; }
};
Base base;
Derived derived;
const Base* const objects[] = {&base, &derived};

/// What the calls of one kind make of a number, without transactions.
template <class Function>
long model(const Function* functions, long count, long added) {
  for (long i = 0; i < 30; ++i) {
    number += added;
    number = functions[i % count](i) % 1000;
    number += added;
  }
  return number;
}

}  // namespace

int main() {
  const tm_test::Company company;
  const long after_safe = model(safe, 3, 0);
  const long after_any = model(any, 4, 1);
  number = 0;
  for (long i = 0; i < 30; ++i) {
    __transaction_atomic {
      leave_hardware();
      number = safe[i % 3](i) % 1000;
    }
  }
  expect("safe pointers", number, after_safe);
  for (long i = 0; i < 30; ++i) {
    __transaction_relaxed {
      leave_hardware();
      ++number;
      number = any[i % 4](i) % 1000;
      ++number;
    }
  }
  expect("any pointers", number, after_any);
  number = 3;
  for (long i = 0; i < 10; ++i) {
    __transaction_atomic {
      leave_hardware();
      number += objects[i % 2]->value();
    }
  }
  expect("virtual functions", number, (3 + 1) * 32 + 31 - 1);
}
