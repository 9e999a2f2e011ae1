// SPDX-License-Identifier: Apache-2.0
// Nested transactions: a cancel of the inner one leaves the outer one as it was before the inner one.
#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

long outer_number, inner_number, third_number;

[[gnu::transaction_safe, gnu::noinline]] void inner(bool cancels) {
  __transaction_atomic {
    inner_number += 10;
    outer_number += 100;
    if (cancels) __transaction_cancel;
  }
}

[[gnu::transaction_safe, gnu::noinline]] void flat(long times) {
  __transaction_atomic {
    ++third_number;
    if (times > 1) flat(times - 1);
  }
}

[[gnu::transaction_may_cancel_outer, gnu::noinline]] void cancel_all(bool cancels) {
  ++third_number;
  if (cancels) __transaction_cancel [[outer]];
}

void run(bool inner_cancels) {
  __transaction_atomic {
    leave_hardware();
    ++outer_number;
    inner(inner_cancels);
    ++outer_number;
  }
}

void run_outer(bool inner_cancels, bool outer_cancels) {
  __transaction_atomic [[outer]] {
    leave_hardware();
    ++outer_number;
    inner(inner_cancels);
    cancel_all(outer_cancels);
    ++outer_number;
  }
}

}  // namespace

int main(int argc, char**) {
  const tm_test::Company company;
  run(false);
  expect("outer, inner commits", outer_number, 102);
  run_outer(false, true);
  expect("outer after its own cancel", outer_number, 102);
  expect("third after cancel", third_number, 0);
  run_outer(false, false);
  expect("outer in the end", outer_number, 204);
  expect("inner in the end", inner_number, 20);
  __transaction_atomic {
    leave_hardware();
    flat(20);
  }
  expect("20 levels", third_number, 21);
  if (!tm_test::with_all_parts(argc)) return 0;
  run(true);
  expect("outer, inner cancels", outer_number, 206);
  run_outer(true, true);
  expect("outer, both cancel", outer_number, 206);
  run_outer(true, false);
  expect("outer, inner cancels in may-cancel", outer_number, 208);
  expect("inner", inner_number, 20);
  for (int i = 0; i < 2; ++i) {
    __transaction_relaxed {
      leave_hardware();
      std::fputs("inside\n", stdout);
      ++outer_number;
      inner(i == 0);
    }
  }
  expect("outer, inner cancels in irrevocable", outer_number, 310);
}
