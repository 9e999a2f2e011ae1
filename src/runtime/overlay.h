// SPDX-License-Identifier: Apache-2.0
// Where our lock state lies inside the 40 bytes of a pthread_mutex_t, and what its kind word says.
//
//   bytes  glibc       ours
//    0- 3  __lock      the word of tatas and htm-N: glibc's own protocol (locks/tatas.h)
//    4- 7  __count     depth of a recursive mutex, as in glibc
//    8-11  __owner     thread id of the holder, as in glibc, of recursive and error-checking mutexes; in
//                      others only glibc writes it, taking them after a wait, and our unlock clears it
//   12-15  __nusers    unused: zero, so that glibc's destroy finds no users
//   16-19  __kind      glibc's, never written
//   20-23  __spins, __elision: unused
//   24-39  __list      the state of ticket designs (locks/ticket.h); only robust mutexes use the list
//
// All zero is a free lock: static initialisers need nothing from us.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "locks/ticket.h"

namespace elision::runtime {

struct MutexOverlay {
  std::atomic<int> word;
  std::uint32_t count;
  std::atomic<int> owner;
  std::uint32_t users;
  int kind;
  std::uint32_t unused;
  locks::TicketState ticket;
};
static_assert(sizeof(MutexOverlay) == sizeof(pthread_mutex_t));
static_assert(offsetof(MutexOverlay, word) == offsetof(pthread_mutex_t, __data.__lock));
static_assert(offsetof(MutexOverlay, count) == offsetof(pthread_mutex_t, __data.__count));
static_assert(offsetof(MutexOverlay, owner) == offsetof(pthread_mutex_t, __data.__owner));
static_assert(offsetof(MutexOverlay, users) == offsetof(pthread_mutex_t, __data.__nusers));
static_assert(offsetof(MutexOverlay, kind) == offsetof(pthread_mutex_t, __data.__kind));
static_assert(offsetof(MutexOverlay, ticket) == offsetof(pthread_mutex_t, __data.__list));

inline MutexOverlay& overlay_of(pthread_mutex_t* mutex) { return *reinterpret_cast<MutexOverlay*>(mutex); }

/// The kind word (glibc nptl/pthreadP.h): type in bits 0-1, then robust, priority inheritance,
/// priority protection, process-shared, and two flags of glibc's own elision, which mean nothing to us.
class MutexKind {
 public:
  explicit MutexKind(int raw) : raw_(static_cast<unsigned>(raw)) {}

  /// Whether we may lock it ourselves: no robust, priority or process-shared mutex, and not a destroyed
  /// one (kind -1), which glibc answers with EINVAL.
  bool is_ours() const { return (raw_ & ~(kTypeBits | kGlibcElisionBits)) == 0; }
  /// Ours, and with no type to look after.
  bool is_plain() const { return (raw_ & ~kGlibcElisionBits) == 0; }
  bool is_recursive() const { return (raw_ & kTypeBits) == PTHREAD_MUTEX_RECURSIVE; }
  bool is_error_checking() const { return (raw_ & kTypeBits) == PTHREAD_MUTEX_ERRORCHECK; }

 private:
  static constexpr unsigned kTypeBits = 3;
  static constexpr unsigned kGlibcElisionBits = 256 | 512;
  unsigned raw_;
};

}  // namespace elision::runtime
