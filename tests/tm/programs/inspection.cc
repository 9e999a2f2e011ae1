// SPDX-License-Identifier: Apache-2.0
// What a program may ask the library.
#include <cstdint>

#include "program.h"

extern "C" {
[[gnu::transaction_pure]] int _ITM_inTransaction();
[[gnu::transaction_pure]] std::uint64_t _ITM_getTransactionId();
int _ITM_versionCompatible(int);
const char* _ITM_libraryVersion();
}

using tm_test::expect;
using tm_test::leave_hardware;

int main() {
  const tm_test::Company company;
  static std::uint64_t ids[3];
  static int inside, irrevocable;
  expect("version 90", _ITM_versionCompatible(90) != 0, 1);
  expect("version 91", _ITM_versionCompatible(91), 0);
  expect("has a name", std::strlen(_ITM_libraryVersion()) > 0, 1);
  expect("outside", _ITM_inTransaction(), 0);
  expect("no id", static_cast<long>(_ITM_getTransactionId()), 1);
  for (int i = 0; i < 3; ++i) {
    __transaction_atomic {
      leave_hardware();
      ids[i] = _ITM_getTransactionId();
      inside = _ITM_inTransaction();
    }
    expect("inside", inside != 0, 1);
  }
  expect("ids differ", ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != 1, 1);
  __transaction_relaxed {
    leave_hardware();
    std::fputs("irrevocable\n", stdout);
    std::fflush(stdout);
    irrevocable = _ITM_inTransaction();
  }
  expect("irrevocable", irrevocable, 2);
  expect("outside again", _ITM_inTransaction(), 0);
}
