// SPDX-License-Identifier: Apache-2.0
// The counters of the transactional memory library (src/tm), as they lie in a file: a header, then one slot
// a thread. A slot belongs to its thread while that runs, and a later thread continues it. A reader adds
// all slots up. Slot 0 serves threads for which no slot was left; its sums may miss some.
//
// Version 1. All numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/counters.h"

namespace elision::abi {

inline constexpr std::uint64_t kTmCountersMagic = 0x31304d5453494c45;  // "ELISTM01"
inline constexpr std::uint32_t kTmCountersVersion = 1;
inline constexpr std::uint32_t kTmCounterSlots = 256;
inline constexpr const char* kTmCountersExtension = ".tm";

struct alignas(64) TmCounters {
  // Outermost transactions, by the path on which they committed. Each is in one of the first five.
  std::uint64_t plain_commits;      // in hardware, without write logging
  std::uint64_t read_only_commits;  // in hardware, with write logging, nothing written
  std::uint64_t logged_commits;     // in hardware, with write logging
  std::uint64_t fallback_commits;   // in ALE's fallback
  std::uint64_t serial_commits;     // under the section lock from begin or from some point on
  std::uint64_t cancels;            // ended by __transaction_cancel
  // Aborts of the fast path.
  std::uint64_t aborts[kAbortCauses];  // by AbortCause; kLockBusy: the section lock was held
  std::uint64_t validation_aborts;     // a logged stripe was locked by the fallback (also in kExplicit)
  std::uint64_t foreign_aborts;        // XABORT of the program's own (also in kExplicit)
  // The fallback path.
  std::uint64_t segments;          // committed in hardware
  std::uint64_t segment_accesses;  // barriers in those
  std::uint64_t segment_aborts;
  std::uint64_t software_segments;  // run with one memory barrier a lock
  std::uint64_t write_backs;        // that had something to write
  std::uint64_t write_backs_under_lock;
};
static_assert(kAbortCauses == 7 && sizeof(TmCounters) == 192);

struct TmCountersHeader {
  std::uint64_t magic;  // written last
  std::uint32_t version;
  std::uint32_t slot_bytes;
  std::uint32_t slots;
  std::uint32_t reserved;  // 0
  std::uint32_t process_id;
  std::uint32_t mode;       // TmMode in force
  std::uint32_t two_speed;  // ale: 1 if the fast path may run without write logging
  std::uint32_t has_rtm;
};
inline constexpr std::size_t kTmCountersHeaderBytes = 4096;
static_assert(sizeof(TmCountersHeader) <= kTmCountersHeaderBytes);
inline constexpr std::size_t kTmCountersFileBytes =
    kTmCountersHeaderBytes + kTmCounterSlots * sizeof(TmCounters);

}  // namespace elision::abi
