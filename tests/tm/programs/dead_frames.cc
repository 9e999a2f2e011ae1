// SPDX-License-Identifier: Apache-2.0
// Functions that a transaction calls and that write through pointers to their own locals. Their frames are
// gone at commit or cancel, and the library's frames lie where they were.
#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

long result;
long shared_values[64];

[[gnu::transaction_safe, gnu::noinline]] void fill(long* place, long count, long base) {
  for (long i = 0; i < count; ++i) place[i] = base + shared_values[i % 64];
}

/// Its frame covers what a commit or a cancel needs later.
[[gnu::transaction_safe, gnu::noinline]] long use_frame(long base) {
  long locals[512];
  fill(locals, 512, base);
  long sum = 0;
  for (long local : locals) sum += local;
  return sum;
}

/// Saves no registers, so its locals end right below the return address.
[[gnu::transaction_safe, gnu::noinline]] void scribble() {
  long locals[512];
  fill(locals, 512, 0x4141414141414141);
}

/// Has a transaction of its own, which logs what the locals were before. The cancel of the one around it
/// comes when this frame is gone.
[[gnu::transaction_safe, gnu::noinline]] void scribble_in_nested(bool cancels) {
  long locals[512];
  __transaction_atomic {
    fill(locals, 512, 0x4242424242424242);
    std::memset(locals, 0x43, sizeof locals);  // one entry in the log, longer than a frame of the library
    if (cancels) __transaction_cancel;
  }
}

long run_nested(long base) {
  long own[16] = {};
  __transaction_atomic {
    leave_hardware();
    result = base;
    scribble_in_nested(base == 77);
    fill(own, 16, base);
    if (base != 0) __transaction_cancel;
  }
  long sum = 0;
  for (long value : own) sum += value;
  return sum;
}

long run(long base, bool cancels) {
  long own[16] = {};
  __transaction_atomic {
    leave_hardware();
    result = use_frame(base);
    scribble();
    fill(own, 16, base);
    shared_values[3] += 1;
    if (cancels) __transaction_cancel;
  }
  long sum = 0;
  for (long value : own) sum += value;
  return sum;
}

/// The same for a transaction that the compiler knows to commit.
long run_to_commit(long base) {
  long own[16] = {};
  __transaction_atomic {
    leave_hardware();
    result = use_frame(base);
    scribble();
    fill(own, 16, base);
  }
  long sum = 0;
  for (long value : own) sum += value;
  return sum;
}

}  // namespace

int main() {
  const tm_test::Company company;
  expect("own after commit", run_to_commit(2), 32);
  expect("result", result, 1024);
  for (long i = 0; i < 20; ++i) {
    expect("own", run_to_commit(i), 16 * i);
    expect("result", result, 512 * i);
  }
  expect("own after cancel", run(5, true), 0);
  expect("result after cancel", result, 512 * 19);
  expect("own after commit", run(5, false), 80);
  expect("result after commit", result, 2560);
  expect("own after cancel around nested", run_nested(5), 0);
  expect("result after cancel around nested", result, 2560);
}
