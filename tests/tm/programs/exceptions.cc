// SPDX-License-Identifier: Apache-2.0
// Exceptions: one that leaves a transaction commits it, one that is caught inside does not end it, and a
// cancel forgets the exceptions and handlers of the transaction.
#include <exception>

#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

struct Plain {
  long value;
};
long number;

[[gnu::transaction_safe, gnu::noinline]] void throw_if(long value) {
  if (value > 0) throw value;
}

[[gnu::transaction_safe, gnu::noinline]] void throw_plain(long value) {
  number += 1000;
  throw Plain{number + value};
}

long leave_by_exception(long value) {
  try {
    __transaction_atomic {
      leave_hardware();
      number += value;
      throw_if(value);
      number += 100;
    }
  } catch (long thrown) {
    return thrown;
  }
  return 0;
}

void catch_inside(bool cancels) {
  __transaction_atomic {
    leave_hardware();
    ++number;
    try {
      throw_plain(7);
    } catch (const Plain& plain) {
      number += plain.value;
      if (cancels) __transaction_cancel;
    }
    ++number;
  }
}

void catch_nested() {
  try {
    __transaction_atomic {
      leave_hardware();
      try {
        __transaction_atomic { throw_if(3); }
      } catch (long thrown) {
        number += thrown;
        throw_if(thrown + 1);
      }
    }
  } catch (long thrown) {
    number += thrown * 10;
  }
}

}  // namespace

int main(int argc, char**) {
  const tm_test::Company company;
  expect("thrown", leave_by_exception(5), 5);
  expect("number after throw", number, 5);
  expect("not thrown", leave_by_exception(-5), 0);
  expect("number after commit", number, 100);
  for (int i = 0; i < 50; ++i) {
    number = 0;
    expect("thrown again", leave_by_exception(i), i);
  }
  if (!tm_test::with_all_parts(argc)) return 0;
  number = 100;
  catch_inside(false);
  expect("caught inside", number, 100 + 1 + 1000 + 1108 + 1);
  catch_inside(true);
  expect("caught and cancelled", number, 2210);
  expect("exceptions in flight", std::uncaught_exceptions(), 0);
  expect("exceptions handled", std::current_exception() == nullptr ? 0 : 1, 0);
  number = 0;
  catch_nested();
  expect("nested", number, 43);
  for (int i = 0; i < 50; ++i) {
    catch_inside(i % 2 == 0);
    number = 0;
    expect("thrown after", leave_by_exception(i), i);
  }
}
