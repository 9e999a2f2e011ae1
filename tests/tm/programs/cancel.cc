// SPDX-License-Identifier: Apache-2.0
// A cancelled transaction leaves memory and locals as they were before.
#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

struct Record {
  char bytes[37];
  double real;
  long numbers[50];
};

long shared_number = 5;
Record record;
long double wide = 2.5L;
_Complex double pair = 1.0;
long cancelled_at = 0;

/// Returns what a local is worth after the cancel.
long cancel_with_local(long limit) {
  long local = 10;
  long* const escaped = &local;
  __transaction_atomic {
    leave_hardware();
    ++*escaped;
    shared_number += local;
    for (long i = 0; i < 50; ++i) record.numbers[i] = i + limit;
    std::memset(record.bytes, 'x', sizeof record.bytes);
    record.real = 1.5;
    wide *= 2;
    pair *= 3;
    if (shared_number > limit) __transaction_cancel;
  }
  return local;
}

long sum_of_record() {
  long sum = 0;
  for (long number : record.numbers) sum += number;
  for (char byte : record.bytes) sum += byte;
  return sum;
}

}  // namespace

int main() {
  const tm_test::Company company;
  expect("local after cancel", cancel_with_local(0), 10);
  expect("number after cancel", shared_number, 5);
  expect("record after cancel", sum_of_record(), 0);
  expect("wide after cancel", static_cast<long>(wide * 10), 25);
  expect("pair after cancel", static_cast<long>(__real__ pair), 1);
  expect("local after commit", cancel_with_local(1000), 11);
  expect("number after commit", shared_number, 16);
  expect("record after commit", sum_of_record(), 37 * 'x' + 50 * 1000 + 49 * 25);
  for (long i = 0; i < 100; ++i) {
    __transaction_atomic {
      leave_hardware();
      ++shared_number;
      if (i % 3 == 0) __transaction_cancel;
    }
    if (i % 3 == 0) ++cancelled_at;
  }
  expect("number after 100", shared_number, 16 + 100 - cancelled_at);
}
