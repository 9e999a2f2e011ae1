// SPDX-License-Identifier: Apache-2.0
// A back end for tests that replays a script, with one entry for each transaction.
//
// For a lock algorithm, an abort at any point of a transaction looks the same: begin() returns a status, with
// all registers and memory restored, after other threads may have acted. So a script entry is a status and an
// action of other threads. The algorithm may abort a running transaction itself: abort<kCodeLockBusy>()
// returns to the frame that began it. Any other code may come from a later call and throws AbortedByItself;
// the test then restores what the hardware would restore.
//
// Tests only; one script a thread; uses the standard library.
#pragma once

#include <deque>
#include <functional>

#include "htm/backend.h"

namespace elision::htm {

struct ScriptedStep {
  Status status;                            // started, or how the transaction aborts
  std::function<void()> meanwhile = [] {};  // runs before begin() returns
};

struct Script {
  std::deque<ScriptedStep> steps;  // when empty, transactions start
  std::uint64_t begun = 0;
  std::uint64_t committed = 0;
  std::uint64_t aborted_by_itself = 0;
  bool inside = false;
  bool always_abort = false;
};

struct Scripted {
  struct AbortedByItself {
    std::uint8_t code;
  };

  static inline thread_local Script script;
  static void reset() { script = Script(); }

  static Status begin() { return next(false); }
  static void commit() {
    script.inside = false;
    ++script.committed;
  }
  template <std::uint8_t kCode>
  static Status abort() {
    if (!script.inside) return Status::explicit_abort(kCode);
    script.inside = script.always_abort = false;
    ++script.aborted_by_itself;
    if constexpr (kCode != kCodeLockBusy) throw AbortedByItself{kCode};
    return Status::explicit_abort(kCode);
  }

  static Status begin_always_abort() { return next(true); }
  static bool in_always_abort() { return script.always_abort; }

 private:
  static Status next(bool always_abort) {
    ++script.begun;
    ScriptedStep step{Status{}};
    if (!script.steps.empty()) {
      step = script.steps.front();
      script.steps.pop_front();
    }
    step.meanwhile();
    script.inside = step.status.started();
    script.always_abort = script.inside && always_abort;
    return step.status;
  }
};
static_assert(Transactional<Scripted> && AlwaysAborting<Scripted>);

}  // namespace elision::htm
