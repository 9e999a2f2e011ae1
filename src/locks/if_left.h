// SPDX-License-Identifier: Apache-2.0
// What is undone of a wait when its thread leaves it for good: it was cancelled asynchronously, or a signal
// handler jumped out of it (siglongjmp). POSIX leaves both undefined; a lock whose waiters queue would then
// wait for that thread for ever.
//
// The C library keeps a list, for each thread, of what to do when a frame is left in either way; the preload
// library says how to enter it (runtime/process.cc), and without it nothing is undone. It costs a few
// instructions of a thread that waits, and nothing of one that does not.
//
// Invariants:
//  - An undo runs in the thread that waited, in a signal handler: it uses atomics and futexes only.
//  - A wait is not covered in the few instructions between a step, such as the one that draws a ticket, and
//    the record of it. A thread that leaves there may block this lock, or this queue, and nothing else.
#pragma once

namespace elision::locks {

/// As large as the C library's, which fills it.
struct LeavingRecord {
  void* words[4];
};

using Undo = void (*)(void*);
using EnterLeavingList = void (*)(LeavingRecord* record, Undo undo, void* argument);
using DropFromLeavingList = void (*)(LeavingRecord* record, int run);
/// Written once, before locks are in use. Null: nothing is undone.
inline constinit EnterLeavingList enter_leaving_list = nullptr;
inline constinit DropFromLeavingList drop_from_leaving_list = nullptr;

/// While this lives, `undo(argument)` runs if the thread leaves the frame without coming back; a null `undo`
/// does nothing. Objects are destroyed in the reverse order of their construction.
class IfLeft {
 public:
  IfLeft(Undo undo, void* argument) : entered_(undo != nullptr && enter_leaving_list != nullptr) {
    if (entered_) enter_leaving_list(&record_, undo, argument);
  }
  ~IfLeft() {
    if (entered_) drop_from_leaving_list(&record_, 0);
  }
  IfLeft(const IfLeft&) = delete;
  IfLeft& operator=(const IfLeft&) = delete;

 private:
  const bool entered_;
  LeavingRecord record_;
};

}  // namespace elision::locks
