// SPDX-License-Identifier: Apache-2.0
// alone_first: 200 transactions of the first thread, then 50 of each of two others.
#include "program.h"

namespace {

long total;

void add(long times) {
  for (long i = 0; i < times; ++i) {
    __transaction_atomic { ++total; }
  }
}

}  // namespace

int main() {
  add(200);
  tm_test::run_threads(2, [](int) { add(50); });
  tm_test::expect("total", total, 300);
}
