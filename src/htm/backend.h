// SPDX-License-Identifier: Apache-2.0
// What a lock algorithm needs from hardware transactional memory: a concept of static functions, so that a
// back end costs only its instructions.
//
// Callers: src/locks. Every function may be called inside a transaction.
#pragma once

#include <concepts>
#include <cstdint>

#include "abi/counters.h"

namespace elision::htm {

/// Operands of our XABORT instructions, which the hardware returns in bits 31:24 of the status. Not 0xff:
/// glibc and oneTBB use that for busy locks of theirs, also inside our transactions.
inline constexpr std::uint8_t kCodeLockBusy = 0xfc;    // the lock to elide was held
inline constexpr std::uint8_t kCodeNestedBusy = 0xfe;  // a further lock inside the transaction was held
inline constexpr std::uint8_t kCodeGiveUp = 0xfd;      // what follows cannot run in a transaction

/// EAX after XBEGIN (Intel SDM volume 1, 16.3.5): all ones if the transaction runs, else why it aborted.
struct Status {
  static constexpr std::uint32_t kStarted = ~0u;
  static constexpr std::uint32_t kExplicitBit = 1u << 0;
  static constexpr std::uint32_t kRetryBit = 1u << 1;
  static constexpr std::uint32_t kConflictBit = 1u << 2;
  static constexpr std::uint32_t kCapacityBit = 1u << 3;
  static constexpr std::uint32_t kDebugBit = 1u << 4;
  static constexpr std::uint32_t kNestedBit = 1u << 5;

  std::uint32_t raw = kStarted;

  /// The status of an XABORT with operand `code`.
  static constexpr Status explicit_abort(std::uint8_t code) {
    return Status{kExplicitBit | std::uint32_t{code} << 24};
  }

  constexpr bool started() const { return raw == kStarted; }
  constexpr bool has_code(std::uint8_t code) const { return (raw & kExplicitBit) != 0 && raw >> 24 == code; }

  /// cause() == kConflict.
  constexpr bool is_conflict() const { return (raw & (kExplicitBit | kConflictBit)) == kConflictBit; }

  constexpr abi::AbortCause cause() const {
    if (has_code(kCodeLockBusy) || has_code(kCodeNestedBusy)) return abi::AbortCause::kLockBusy;
    if ((raw & kExplicitBit) != 0) return abi::AbortCause::kExplicit;
    if ((raw & kConflictBit) != 0) return abi::AbortCause::kConflict;
    if ((raw & kCapacityBit) != 0) return abi::AbortCause::kCapacity;
    if ((raw & kNestedBit) != 0) return abi::AbortCause::kNested;
    if ((raw & kDebugBit) != 0) return abi::AbortCause::kDebug;
    return abi::AbortCause::kOther;
  }
};

/// Transactions that can commit. Inside a transaction abort<code>() does not return; instead begin() returns
/// again, with the status that abort() is declared to return. So callers can continue with it either way.
template <class B>
concept Transactional = requires {
  { B::begin() } -> std::same_as<Status>;
  B::commit();
  { B::template abort<kCodeLockBusy>() } -> std::same_as<Status>;
};

/// Transactions that never commit (Izraelevitz et al., section II-B).
template <class B>
concept AlwaysAborting = requires {
  { B::begin_always_abort() } -> std::same_as<Status>;
  { B::in_always_abort() } -> std::same_as<bool>;
  { B::template abort<kCodeGiveUp>() } -> std::same_as<Status>;
};

}  // namespace elision::htm
