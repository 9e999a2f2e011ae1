// SPDX-License-Identifier: Apache-2.0
// Begin, commit and cancel: the functions of the ABI that choose a path and leave it.
#include "locks/alone.h"
#include "tm/exported.h"
#include "tm/hardware.h"
#include "tm/process.h"
#include "tm/software.h"

namespace elision::tm {
namespace {

/// A nested transaction is flat; only in a serial one can it be cancelled by itself. Returns actions.
std::uint32_t begin_nested(Thread& thread, std::uint32_t properties, const Registers& registers) {
  if (thread.depth == 0) {  // in a hardware transaction without state, which has some from now on
    thread.depth = 1;
    thread.path = Path::kHardware;
    thread.may_cancel = false;
  }
  ++thread.depth;
  const bool has_instrumented = (properties & kHasInstrumentedCode) != 0;
  switch (thread.path) {
    case Path::kNone:
    case Path::kHardware:
      return run_directly(properties);
    case Path::kLogged:
      if (has_instrumented) return kRunInstrumented;
      thread.unlogged = true;
      return kRunUninstrumented;
    case Path::kFallback:
      if (has_instrumented && (properties & kHasNoAbort) != 0) return kRunInstrumented;
      become_serial(thread);
      break;
    case Path::kSerial:
      break;
  }
  return begin_nested_serial(thread, properties, registers);
}

[[gnu::noinline]] void commit_with_state(Thread& thread) {
  if (thread.depth > 1) {
    if (thread.path == Path::kSerial) leave_nested_serial(thread);
    --thread.depth;
    return;
  }
  if (thread.path == Path::kSerial || thread.path == Path::kFallback) {
    commit_software(thread);
  } else {
    commit_hardware(thread);
  }
}

bool may_run_in_hardware() { return process.mode != abi::TmMode::kSerial && !locks::is_single_threaded(); }

}  // namespace
}  // namespace elision::tm

using elision::tm::Path;
using elision::tm::this_thread;
using elision::tm::Thread;

/// From begin.S. `registers` lie on the caller's stack; `status`: see begin_hardware.
extern "C" [[gnu::visibility("hidden")]] std::uint32_t elision_tm_begin(
    std::uint32_t properties, const elision::tm::Registers* registers, elision::htm::Status status) {
  Thread& thread = this_thread;
  if (thread.depth != 0 || (thread.is_plain != 0 && status.started()))
    return elision::tm::begin_nested(thread, properties, *registers);
  if (!thread.is_known) [[unlikely]]
    introduce_thread(thread);
  if (elision::tm::may_run_in_hardware()) {
    if (elision::tm::process.is_quick) thread.is_slow = 0;
    if (const std::uint32_t actions = begin_hardware(thread, properties, status)) return actions;
  }
  return begin_software(thread, properties, *registers);
}

ELISION_TM_EXPORT void _ITM_commitTransaction() {
  Thread& thread = this_thread;
  if (thread.depth != 0) return elision::tm::commit_with_state(thread);
  if (thread.is_plain != 0) commit_without_state(thread);
}

/// An exception leaves the transaction, which commits.
ELISION_TM_EXPORT void _ITM_commitTransactionEH(void*) { _ITM_commitTransaction(); }

ELISION_TM_EXPORT void _ITM_abortTransaction(std::uint32_t reason) {
  Thread& thread = this_thread;
  const bool outermost = (reason & elision::tm::kOuterAbort) != 0;
  const bool in_software = thread.path == Path::kFallback || thread.path == Path::kSerial;
  if (is_inside(thread) && !in_software) cancel_hardware(thread, outermost);
  roll_back(thread, outermost);
}

ELISION_TM_EXPORT void _ITM_changeTransactionMode(std::uint32_t) { go_irrevocable(this_thread); }
