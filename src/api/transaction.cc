// SPDX-License-Identifier: Apache-2.0
// The functions of elision.h that inspect and abort transactions.
#include "api/process.h"
#include "elision/elision.h"

namespace {

using elision::abi::AbortCause;
using elision::api::this_thread;
using elision::htm::Status;

elision_cause cause_of(AbortCause cause) {
  switch (cause) {
    case AbortCause::kLockBusy:
      return ELISION_CAUSE_LOCK_BUSY;
    case AbortCause::kExplicit:
      return ELISION_CAUSE_EXPLICIT;
    case AbortCause::kConflict:
      return ELISION_CAUSE_CONFLICT;
    case AbortCause::kCapacity:
      return ELISION_CAUSE_CAPACITY;
    case AbortCause::kNested:
      return ELISION_CAUSE_NESTED;
    case AbortCause::kDebug:
      return ELISION_CAUSE_DEBUG;
    case AbortCause::kOther:
      break;
  }
  return ELISION_CAUSE_OTHER;
}

}  // namespace

int elision_in_transaction() { return elision::api::elides() && elision::htm::Rtm::in_transaction(); }

void elision_abort() {
  if (elision_in_transaction()) (void)elision::htm::Rtm::abort<elision::htm::kCodeGiveUp>();
}

void elision_give_way() {
  if (elision_in_transaction()) (void)elision::htm::Rtm::abort<elision::htm::kCodeNestedBusy>();
}

elision_abort_status elision_last_abort() {
  elision_abort_status result{this_thread.failed_attempts, this_thread.last_abort, ELISION_CAUSE_NONE, -1};
  if (result.number == 0) return result;
  const Status status{this_thread.last_abort};
  result.cause =
      status.has_code(elision::api::kOwnLockBusy) ? ELISION_CAUSE_LOCK_BUSY : cause_of(status.cause());
  const std::uint32_t code = status.raw >> 24;
  if ((status.raw & Status::kExplicitBit) != 0 && code <= elision::api::kLastUserCode)
    result.code = static_cast<int>(code);
  return result;
}

elision_counts elision_thread_counts() {
  const elision::abi::CounterEntry& counted = this_thread.counters;
  elision_counts result{counted.commits, counted.fallbacks, counted.busy, {}};
  for (std::size_t i = 0; i < elision::abi::kAbortCauses; ++i)
    result.aborts[cause_of(static_cast<AbortCause>(i))] = counted.aborts[i];
  return result;
}
