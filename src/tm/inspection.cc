// SPDX-License-Identifier: Apache-2.0
// What a program may ask about its transaction, user actions, and versions.
#include "tm/exported.h"

using elision::tm::Path;
using elision::tm::this_thread;
using elision::tm::Thread;

ELISION_TM_EXPORT int _ITM_versionCompatible(int version) {
  return version == elision::tm::kAbiVersion ? 1 : 0;
}

ELISION_TM_EXPORT const char* _ITM_libraryVersion() { return "Elision, for GCC's libitm ABI 0.90"; }

/// GCC generates no calls of it.
ELISION_TM_EXPORT void _ITM_error(const void*, int) {
  elision::tm::fail("the program reports a broken transaction");
}

ELISION_TM_EXPORT std::uint32_t _ITM_inTransaction() {
  const Thread& thread = this_thread;
  if (!is_inside(thread)) return elision::tm::kOutside;
  return thread.is_irrevocable ? elision::tm::kIrrevocable : elision::tm::kRetryable;
}

ELISION_TM_EXPORT std::uint64_t _ITM_getTransactionId() {
  const Thread& thread = this_thread;
  if (!is_inside(thread)) return elision::tm::kNoTransactionId;
  return thread.number << 32 | (thread.ended & 0xffffffff);
}

ELISION_TM_EXPORT void _ITM_addUserCommitAction(void (*function)(void*), std::uint64_t resuming,
                                                void* argument) {
  if (resuming != elision::tm::kNoTransactionId) elision::tm::fail("a commit action resumes a transaction");
  Thread& thread = this_thread;
  if (!is_inside(thread)) return function(argument);
  thread.logs->at_commit.push({function, argument});
  thread.has_pending = true;
}

ELISION_TM_EXPORT void _ITM_addUserUndoAction(void (*function)(void*), void* argument) {
  Thread& thread = this_thread;
  const bool in_hardware = thread.path == Path::kHardware || thread.path == Path::kLogged;
  // The hardware undoes the transaction, but not by calling a function.
  if (in_hardware && thread.may_cancel) elision::tm::give_up_hardware();
  if (thread.barriers == elision::tm::Barriers::kUndone) thread.logs->at_cancel.push({function, argument});
}

/// The memory's old contents may be forgotten. They are kept: the ABI allows that.
ELISION_TM_EXPORT void _ITM_dropReferences(const void*, std::size_t) {}
