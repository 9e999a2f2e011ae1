// SPDX-License-Identifier: Apache-2.0
// Actions at commit run in order after it, actions at cancel in reverse order after the memory is restored.
#include <cstdint>

#include "program.h"

extern "C" {
using Action = void (*)(void*);
[[gnu::transaction_pure]] void _ITM_addUserCommitAction(Action, std::uint64_t, void*);
[[gnu::transaction_pure]] void _ITM_addUserUndoAction(Action, void*);
}

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

constexpr std::uint64_t kNone = 1;
long number, in_action, in_undo_action;
long* kept;  // allocated in an action at cancel
bool acts_in_transactions = false;

void print(void* text) { std::printf("%s, number %ld\n", static_cast<const char*>(text), number); }
void add(void*) {
  __transaction_atomic {
    leave_hardware();
    in_action += number;
  }
}
/// An action at cancel with transactions: one that the compiler knows to commit, and one that may cancel.
void add_undone(void* memory) {
  __transaction_atomic {
    in_undo_action += 1 + *static_cast<long*>(memory);
    kept = static_cast<long*>(std::malloc(sizeof(long)));
    *kept = 7;
  }
  for (int i = 0; i < 2; ++i) {
    __transaction_atomic {
      in_undo_action += 100;
      if (i == 0) __transaction_cancel;
    }
  }
}
void* text(const char* words) { return const_cast<char*>(words); }

void run(bool inner_cancels, bool cancels) {
  __transaction_atomic {
    leave_hardware();
    ++number;
    _ITM_addUserCommitAction(print, kNone, text("commit 1"));
    _ITM_addUserUndoAction(print, text("undo 1"));
    __transaction_atomic {
      number += 10;
      _ITM_addUserCommitAction(print, kNone, text("commit inner"));
      _ITM_addUserUndoAction(print, text("undo inner"));
      if (inner_cancels) __transaction_cancel;
    }
    if (acts_in_transactions) _ITM_addUserCommitAction(add, kNone, nullptr);
    _ITM_addUserCommitAction(print, kNone, text("commit 2"));
    _ITM_addUserUndoAction(print, text("undo 2"));
    if (cancels) __transaction_cancel;
  }
}

void cancel_with_transactions(bool inner_cancels, bool cancels) {
  static long ten = 10;
  __transaction_atomic {
    leave_hardware();
    ++number;
    _ITM_addUserUndoAction(print, text("undo 1"));
    __transaction_atomic {
      ++number;
      _ITM_addUserUndoAction(print, text("undo inner"));
      _ITM_addUserUndoAction(add_undone, &ten);
      if (inner_cancels) __transaction_cancel;
    }
    if (cancels) __transaction_cancel;
  }
}

}  // namespace

int main(int argc, char**) {
  const tm_test::Company company;
  run(false, false);
  expect("both commit", number, 11);
  run(false, true);
  expect("outer cancels", number, 11);
  if (!tm_test::with_all_parts(argc)) return 0;
  run(true, false);
  expect("inner cancels", number, 12);
  run(true, true);
  expect("both cancel", number, 12);
  acts_in_transactions = true;
  run(false, false);
  expect("added in actions", in_action, 23);
  number = 0;
  cancel_with_transactions(false, true);
  expect("number after cancel", number, 0);
  expect("added in the action at cancel", in_undo_action, 111);
  expect("kept", *kept, 7);
  std::free(kept);
  cancel_with_transactions(true, false);
  expect("number after inner cancel", number, 1);
  expect("added in the action at inner cancel", in_undo_action, 222);
  expect("kept by the outer", *kept, 7);
  cancel_with_transactions(true, true);
  expect("number after both cancel", number, 1);
  expect("undone with the outer", in_undo_action, 222);
}
