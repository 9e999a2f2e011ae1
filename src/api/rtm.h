// SPDX-License-Identifier: Apache-2.0
// RTM for this library's locks: notes how attempts fail, and tells our aborts from others'.
//
// Transactions of the preload library may run inside of ours, and ours inside of its: the CPU makes one of
// them, every abort goes to whoever began first, and the register that says why has room for a code of eight
// bits. So codes are translated here, where they come in:
//
//   code in the register | whose                   | means to the lock of ours that began
//   ---------------------+-------------------------+---------------------------------------------------------
//   0x00-0x7f            | ELISION_ABORT_IF        | the section gives up elision
//   kOwnLockBusy         | this library            | its own lock was held: wait, no try is used up
//   kCodeLockBusy        | the preload library     | a further lock was held, of which we know nothing: a try
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
