// SPDX-License-Identifier: Apache-2.0
// RTM for this library's locks. Records aborts, and tells our codes from others'.
//
// Transactions of the preload library may be nested in ours, and ours in its. The CPU then runs one
// transaction, every abort returns to the outermost begin, and the status has a code of eight bits. So codes
// are translated here:
//
//   code in the status   | set by                  | meaning for our lock that began the transaction
//   ---------------------+-------------------------+---------------------------------------------------------
//   0x00-0x7f            | ELISION_ABORT_IF        | the section gives up elision
//   kOwnLockBusy         | this library            | its own lock was held: wait, without using up a try
//   kCodeLockBusy        | the preload library     | a further lock, unknown to us, was held: uses up a try
//   kCodeNestedBusy      | either                  | the same
//   kCodeGiveUp          | either                  | the section gives up elision
#pragma once

#include "api/thread.h"
#include "htm/rtm.h"

namespace elision::api {

inline constexpr std::uint8_t kOwnLockBusy = 0xec;
inline constexpr std::uint8_t kLastUserCode = 0x7f;

struct NotedRtm {
  [[gnu::always_inline]] static htm::Status begin() {
    const htm::Status status = htm::Rtm::begin();
    return status.started() ? status : note(status);
  }
  [[gnu::always_inline]] static void commit() { htm::Rtm::commit(); }

  template <std::uint8_t kCode>
  [[gnu::always_inline]] static htm::Status abort() {
    (void)htm::Rtm::abort<kCode == htm::kCodeLockBusy ? kOwnLockBusy : kCode>();
    return htm::Status::explicit_abort(kCode);
  }

 private:
  [[gnu::noinline]] static htm::Status note(htm::Status status) {
    this_thread.last_abort = status.raw;
    ++this_thread.failed_attempts;
    if (status.has_code(kOwnLockBusy)) return htm::Status::explicit_abort(htm::kCodeLockBusy);
    if (status.has_code(htm::kCodeLockBusy)) return htm::Status::explicit_abort(htm::kCodeNestedBusy);
    if ((status.raw & htm::Status::kExplicitBit) != 0 && status.raw >> 24 <= kLastUserCode)
      return htm::Status::explicit_abort(htm::kCodeGiveUp);
    return status;
  }
};
static_assert(htm::Transactional<NotedRtm>);

}  // namespace elision::api
