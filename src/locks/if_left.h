// SPDX-License-Identifier: Apache-2.0
// Undoes a wait that its thread leaves for good: by asynchronous cancellation, or because a signal handler
// jumped out of it (siglongjmp). POSIX leaves both undefined; without the undo, a lock with a queue would
// wait for that thread for ever.
//
// The C library keeps a list for each thread of functions to call when a frame is left in either way. The
// preload library says how to add to that list (runtime/process.cc); elsewhere nothing is undone. The cost is
// a few instructions for a thread that waits, and none for others.
//
// Invariants:
//  - An undo runs in the thread that waited, in a signal handler. It uses only atomics and futexes.
//  - A wait is not covered in the few instructions between a step, such as drawing a ticket, and its record.
//    A thread that leaves there may block this lock or this queue, but nothing else.
#pragma once

namespace elision::locks {

/// As large as the C library's record; the C library fills it.
struct LeavingRecord {
  void* words[4];
};

using Undo = void (*)(void*);
using EnterLeavingList = void (*)(LeavingRecord* record, Undo undo, void* argument);
using DropFromLeavingList = void (*)(LeavingRecord* record, int run);
/// Written once, before locks are in use. Null: nothing is undone.
inline constinit EnterLeavingList enter_leaving_list = nullptr;
inline constinit DropFromLeavingList drop_from_leaving_list = nullptr;

/// While this lives, `undo(argument)` runs if the thread leaves the frame for good. A null `undo` does
/// nothing. Objects must be destroyed in the reverse order of their construction.
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
