// SPDX-License-Identifier: Apache-2.0
// The words of one lock. The caller places them (inside a pthread_mutex_t, a pthread_rwlock_t...), and the
// algorithms of this folder use those that they need.
//
//   who uses it           | word             | gate | ticket | warm
//   ----------------------+------------------+------+--------+-------------
//   ticket, ticket-aahtm  |                  |      | lock   |
//   tatas-pri-aahtm       | lock             |      |        | warm threads
//   the other designs     | lock             |      |        |
//   reader-writer locks   | state (rwlock.h) | one of the two orders the waiters
//
// `warm` may share its place with `ticket`: no design uses both.
//
// LockWords is passed by value along the path of an uncontended lock, so it fits two registers: the word's
// address, and a constant table of the other words' offsets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace elision::locks {

struct TicketState;

/// Offsets from `word` in bytes. A design sets those that it uses.
struct WordOffsets {
  std::ptrdiff_t gate = 0;
  std::ptrdiff_t ticket = 0;
  std::ptrdiff_t warm = 0;
  std::ptrdiff_t generation = 0;  // reader-writer locks: the fork generation of the waiters
  bool writers_first = false;     // reader-writer locks: arriving readers let a waiting writer pass
};

struct LockWords {
  std::atomic<int>* word = nullptr;
  const WordOffsets* offsets = nullptr;

  std::atomic<int>& gate() const { return at<std::atomic<int>>(offsets->gate); }
  TicketState& ticket() const { return at<TicketState>(offsets->ticket); }
  std::atomic<std::uint32_t>& warm() const { return at<std::atomic<std::uint32_t>>(offsets->warm); }
  std::atomic<std::uint32_t>& generation() const {
    return at<std::atomic<std::uint32_t>>(offsets->generation);
  }
  bool writers_first() const { return offsets->writers_first; }

 private:
  template <class T>
  T& at(std::ptrdiff_t place) const {
    return *reinterpret_cast<T*>(reinterpret_cast<std::byte*>(word) + place);
  }
};
static_assert(sizeof(LockWords) == 2 * sizeof(void*));

}  // namespace elision::locks
