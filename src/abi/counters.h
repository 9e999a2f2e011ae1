// SPDX-License-Identifier: Apache-2.0
// The preload library's counters for every thread, lock and call site, in memory shared with the launcher,
// which reads them from a file while the program runs or after its end.
//
// The library creates DIR/NNNN.counters (next free number, exclusively; one file a process) when
// ELISION_COUNTERS_DIR=DIR is set. A file is a CountersHeader, padded to kCountersHeaderBytes, then
// `slot_count` slots of kCounterSlotBytes. The file is sparse: unclaimed slots take no disk space. Read it
// with read(2), because on a full tmpfs a load from a mapped hole raises SIGBUS.
//
// A virtual machine that counts a part of a run leaves copies of a file as it was when the part began and
// ended, named NNNN.counters.begin and NNNN.counters.end. If it counts several, each part has a folder of its
// own, "1" and so on, with NNNN.counters.begin and, as it was at the end, NNNN.counters.
//
// A process that cannot create its file, because of missing room or a limit, leaves the empty file
// DIR/no-counters-ERRNO if it can. Processes with the same error share it.
//
// Invariants:
//  - A slot is written only by the thread that claimed it, outside of transactions. When slots run out,
//    threads share slot 0 and add with locked instructions.
//  - Numbers only grow. A reader sees recent values while the program runs.
//  - `version` changes when the meaning or place of a field changes.
//
// Freestanding. Who may write: src/runtime and src/locks; src/api the activity. Who may read: anyone
// (counters_reader.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/thread_activity.h"

namespace elision::abi {

inline constexpr std::uint64_t kCountersMagic = 0x31544e434e4f4c45ULL;  // "ELONCNT1"
inline constexpr std::uint32_t kCountersVersion = 4;
inline constexpr const char* kCountersExtension = ".counters";
inline constexpr const char* kCountersAtBegin = ".begin";  // behind the file's name
inline constexpr const char* kCountersAtEnd = ".end";
inline constexpr const char* kNoCountersMark = "no-counters-";  // before the errno
inline constexpr std::size_t kCountersHeaderBytes = 4096;
inline constexpr std::size_t kCounterSlotBytes = 16 * 1024;
inline constexpr std::uint32_t kCounterSlots = 1024;

/// The cause of an abort (in elided sections and always-abort speculation alike), as its status tells. An
/// abort counts under one cause: the first in this order that the status shows.
enum class AbortCause : std::uint32_t {
  kLockBusy,  // our own XABORT: the subscribed lock was held
  kExplicit,  // any other XABORT, also ours before an operation that no transaction can do (a futex wake)
  kConflict,
  kCapacity,
  kNested,
  kDebug,
  kOther,  // status 0: interrupt, system call, fault, or an instruction that no transaction may execute
};
inline constexpr std::size_t kAbortCauses = 7;
inline constexpr const char* kAbortCauseNames[kAbortCauses] = {
    "lock-busy", "explicit", "conflict", "capacity", "nested", "debug", "other"};

/// How always-abort transactions are made in this process.
enum class AlwaysAbortKind : std::uint32_t { kNone, kVirtualCpu, kNestedRtm };
inline constexpr const char* kAlwaysAbortNames[] = {"none", "virtual-cpu", "nested-rtm"};

/// The counts of one thread for one lock at one call site.
struct CounterEntry {
  std::uint64_t lock = 0;  // address; 0 with site 0: the entry for all that finds no place in the table
  std::uint64_t site = 0;  // return address of the lock call; 0: not known
  std::uint64_t acquisitions = 0;  // times the lock was taken after a wait or as fallback
  std::uint64_t commits = 0;       // sections that committed as a transaction
  std::uint64_t fallbacks = 0;     // acquisitions because elision was given up
  std::uint64_t speculations = 0;  // always-abort transactions begun (each ends in one of `aborts`)
  std::uint64_t busy = 0;          // times the lock was found held
  std::uint64_t wait_ticks = 0;    // time-stamp counter ticks from the call to the start of the section
  std::uint64_t longest_wait_ticks = 0;
  std::uint64_t aborts[kAbortCauses] = {};
};
static_assert(sizeof(CounterEntry) == 128);

inline constexpr std::size_t kCounterEntries = kCounterSlotBytes / sizeof(CounterEntry) - 3;

/// Undefined uses of locks (POSIX): their number, and lock and call site of the last one.
struct MisuseCounter {
  std::uint64_t count = 0;
  std::uint64_t lock = 0;
  std::uint64_t site = 0;
};

/// The counters of one thread, and after its end also of threads that took over the slot.
struct CounterSlot {
  std::uint32_t thread_id = 0;  // Linux thread id of the owner; 0: never claimed
  std::uint32_t entries_used = 0;
  MisuseCounter bad_unlocks;   // unlocks of a lock that was not held
  MisuseCounter bad_destroys;  // destroys of a lock that was held
  std::uint64_t merged = 0;    // times that a lock and site found no place, so that entry 0 was used
  // Locks taken for real by threads that share the slot; `activity` counts those of a thread of its own.
  std::uint64_t shared_taken = 0;
  ThreadActivity activity;
  std::uint64_t reserved[8] = {};
  CounterEntry entries[kCounterEntries];  // [0]: all that found no place; the others in no order
};
static_assert(sizeof(CounterSlot) == kCounterSlotBytes);
static_assert(offsetof(CounterSlot, activity) == 128);

/// The description of a process. Written once at load, except `locks_seen`.
struct CountersHeader {
  std::uint64_t magic = 0;  // written last: a file without it is not complete
  std::uint32_t version = 0;
  std::uint32_t slot_count = 0;
  std::uint32_t process_id = 0;
  std::uint32_t parent_id = 0;
  char asked_design[32] = {};           // ELISION_LOCK as given
  char design[32] = {};                 // the design in use: `pthread` if the one asked for is unknown
  char program[64] = {};                // last path component of the executable
  std::uint32_t unknown_design = 0;     // 1: `asked_design` is unknown
  std::uint32_t has_rtm = 0;            // 1: RTM transactions commit here (CPUID and a probe)
  std::uint32_t rtm_always_aborts = 0;  // 1: CPUID says RTM but the CPU or hypervisor aborts all of it
  AlwaysAbortKind always_abort = AlwaysAbortKind::kNone;
  std::uint32_t wait_spins = 0;     // 1: --wait spin
  std::uint32_t locks_seen = 0;     // 1: at least one interposed lock was taken (also under `pthread`)
  std::uint32_t used_fallback = 0;  // 1: a design without its HTM: its fallback or plain lock is in use
  std::uint32_t next_slot = 0;      // slots claimed so far, slot 0 (shared) included; atomic
  std::uint64_t tsc_khz = 0;        // 0: not known from CPUID; see start_*
  std::uint64_t start_tsc = 0;      // time-stamp counter and CLOCK_MONOTONIC at load
  std::uint64_t start_monotonic_ns = 0;
  std::uint32_t keeps_activity = 0;  // 1: threads note what they do at locks (thread_activity.h)
};
static_assert(sizeof(CountersHeader) <= kCountersHeaderBytes);

inline constexpr std::size_t kCountersFileBytes = kCountersHeaderBytes + kCounterSlots * kCounterSlotBytes;

}  // namespace elision::abi

/// Exported by the preload library: the counters of this process, in a file or not. Null before they are
/// there.
extern "C" const elision::abi::CountersHeader* elision_counters;
