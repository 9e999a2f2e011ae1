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
long number, in_action;
bool acts_in_transactions = false;

void print(void* text) { std::printf("%s, number %ld\n", static_cast<const char*>(text), number); }
void add(void*) {
  __transaction_atomic {
    leave_hardware();
    in_action += number;
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
}
