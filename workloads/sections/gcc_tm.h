// SPDX-License-Identifier: Apache-2.0
// Sections as GCC's transactions. For sources that are compiled with -fgnu-tm: the compiler instruments the
// accesses.
#pragma once

#include "sections/plain.h"

namespace workloads::sections {

class GccTm {
 public:
  using Transaction = Plain;
  static constexpr bool kCountsAborts = false;  // libitm does not report them

  /// The library sets itself up with its first transaction, which should not be measured.
  GccTm() {
    __transaction_atomic { first_ = true; }
  }

  class Thread {
   public:
    explicit Thread(GccTm&) {}
    /// Not inlined: a restart would otherwise also restore registers of the caller.
    template <class Body>
    [[gnu::noinline]] void atomically(Body body) {
      Transaction transaction;
      __transaction_atomic { body(transaction); }
      ++counts.commits;
    }
    Counts counts;
  };

 private:
  bool first_ = false;
};

}  // namespace workloads::sections
