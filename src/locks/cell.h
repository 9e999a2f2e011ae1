// SPDX-License-Identifier: Apache-2.0
// The words of one lock, wherever they lie: the caller places them (inside a pthread_mutex_t, a
// pthread_rwlock_t...), the algorithms of this folder use those that they need.
//
//   who uses it           | word             | gate | ticket | warm
//   ----------------------+------------------+------+--------+-------------
//   ticket, ticket-aahtm  |                  |      | lock   |
//   tatas-pri-aahtm       | lock             |      |        | warm threads
//   the other designs     | lock             |      |        |
//   reader-writer locks   | state (rwlock.h) | orders those who wait: one of the two
//
// `warm` may share its place with `ticket`: no design uses both.
#pragma once

#include <atomic>
#include <cstdint>

namespace elision::locks {

struct TicketState;

struct Cell {
  std::atomic<int>* word = nullptr;
  std::atomic<int>* gate = nullptr;
  TicketState* ticket = nullptr;
  std::atomic<std::uint32_t>* warm = nullptr;
  std::atomic<std::uint32_t>* generation = nullptr;  // reader-writer locks: the fork since which threads wait
  bool writers_first = false;                        // reader-writer locks: readers let a waiting writer pass
};

}  // namespace elision::locks
