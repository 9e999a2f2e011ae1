// SPDX-License-Identifier: Apache-2.0
// The back end without transactional memory: every transaction aborts at once, with the status of one that
// can never succeed. With it the same tests run without HTM.
#pragma once

#include "htm/backend.h"

namespace elision::htm {

struct None {
  static Status begin() { return Status{0}; }
  static void commit() {}
  template <std::uint8_t kCode>
  static Status abort() {
    return Status::explicit_abort(kCode);
  }

  static Status begin_always_abort() { return Status{0}; }
  static bool in_always_abort() { return false; }
};
static_assert(Transactional<None> && AlwaysAborting<None>);

}  // namespace elision::htm
