// SPDX-License-Identifier: Apache-2.0
// The one table of lock designs by name. The command line checks names against it; the preload library
// composes the designs (src/runtime/designs.cc).
//
// Freestanding: no allocation, no library calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elision::abi {

enum class LockBase : std::uint8_t { kPthread, kTatas, kTts, kTicket };
enum class LockWait : std::uint8_t { kPlain, kSpeculating, kSpeculatingWithPriority };
enum class LockElision : std::uint8_t {
  kNone,
  kRetries,         // N transactions, then the lock
  kOnceUnlessBusy,  // one transaction; none while the lock is held
  kConflictsQueue,  // after a conflict, threads try again one by one
  kByGlibc,         // glibc's own, if it has one
};

struct LockDesign {
  LockBase base = LockBase::kPthread;
  LockWait wait = LockWait::kPlain;
  LockElision elision = LockElision::kNone;
  std::uint32_t tries = 0;  // kRetries: N

  constexpr bool speculates() const { return wait != LockWait::kPlain; }
  /// Begins transactions that are meant to commit.
  constexpr bool elides() const { return elision != LockElision::kNone; }
  constexpr bool needs_htm() const { return speculates() || elides(); }
};

struct LockDesignRow {
  const char* name;  // with "N" for a number from 1 to kMostElisionTries
  LockDesign design;
  const char* meaning;
};

inline constexpr std::uint32_t kMostElisionTries = 1000000;

inline constexpr LockDesignRow kLockDesigns[] = {
    {"pthread", {}, "glibc's own locks, untouched"},
    {"glibc-elision",
     {LockBase::kPthread, LockWait::kPlain, LockElision::kByGlibc, 0},
     "glibc's own elision, which glibc 2.43 no longer has"},
    {"tts", {LockBase::kTts}, "test-and-test-and-set, one PAUSE between looks"},
    {"tatas", {LockBase::kTatas}, "test-and-test-and-set with exponential back-off"},
    {"ticket", {LockBase::kTicket}, "FIFO, back-off linear in the distance"},
    {"ttstle",
     {LockBase::kTts, LockWait::kPlain, LockElision::kOnceUnlessBusy, 1},
     "tts with one transaction before it, none while the lock is held"},
    {"htm-N",
     {LockBase::kTatas, LockWait::kPlain, LockElision::kRetries, 0},
     "elision: up to N transactions, then tatas"},
    {"htm-N-fb-aahtm",
     {LockBase::kTatas, LockWait::kSpeculating, LockElision::kRetries, 0},
     "htm-N whose fallback lock is tatas-aahtm"},
    {"hle-scm",
     {LockBase::kTatas, LockWait::kPlain, LockElision::kConflictsQueue, 0},
     "elision whose conflicting transactions queue for an auxiliary lock"},
    {"tatas-aahtm",
     {LockBase::kTatas, LockWait::kSpeculating, LockElision::kNone, 0},
     "tatas whose waiters speculate in transactions that always abort"},
    {"tatas-pri-aahtm",
     {LockBase::kTatas, LockWait::kSpeculatingWithPriority, LockElision::kNone, 0},
     "tatas-aahtm in which those that have speculated come first"},
    {"ticket-aahtm",
     {LockBase::kTicket, LockWait::kSpeculating, LockElision::kNone, 0},
     "ticket whose waiters speculate near the head of the queue"},
    {"pthread-aahtm",
     {LockBase::kPthread, LockWait::kSpeculating, LockElision::kNone, 0},
     "glibc's locks, whose waiters speculate"},
};

namespace detail {

/// Matches `name` against a row's name, in which "N" is a number; sets `number` to it.
constexpr bool matches(const char* name, const char* form, std::uint32_t& number) {
  for (; *form != '\0'; ++form) {
    if (*form != 'N') {
      if (*name++ != *form) return false;
      continue;
    }
    if (*name < '1' || *name > '9') return false;
    for (number = 0; *name >= '0' && *name <= '9'; ++name) {
      number = number * 10 + static_cast<std::uint32_t>(*name - '0');
      if (number > kMostElisionTries) return false;
    }
  }
  return *name == '\0';
}

}  // namespace detail

/// The design called `name`, with the number in its name as `tries`. False: there is none.
constexpr bool find_lock_design(const char* name, LockDesign& design) {
  for (const LockDesignRow& row : kLockDesigns) {
    std::uint32_t number = row.design.tries;
    if (!detail::matches(name, row.name, number)) continue;
    design = row.design;
    design.tries = number;
    return true;
  }
  return false;
}

}  // namespace elision::abi
