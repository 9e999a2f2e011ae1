// SPDX-License-Identifier: Apache-2.0
// The state of the calling thread: initial-exec TLS, as it is here until its first transaction. Inside a
// hardware transaction the state is part of it: an abort restores path, depth and logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "abi/tm_counters.h"
#include "tm/abi.h"
#include "tm/fresh_memory.h"
#include "tm/pages.h"
#include "tm/undo_log.h"
#include "tm/write_log.h"

namespace elision::tm {

/// How the running outermost transaction runs.
enum class Path : std::uint8_t {
  kNone,      // no transaction runs, or a hardware transaction without state (Thread::is_plain)
  kHardware,  // a hardware transaction with state that no fallback runs beside
  kLogged,    // a hardware transaction beside which a fallback may run: its writes are logged
  kFallback,  // ALE's fallback: reads locked, writes buffered
  kSerial,    // holds the section lock
};

/// What a barrier does.
enum class Barriers : std::uint8_t {
  kDirect,
  kLogged,    // a write notes its stripe
  kBuffered,  // reads lock, writes are buffered
  kUndone,    // a write notes the old contents
};

/// A call at commit or at cancel.
struct UserAction {
  void (*function)(void*);
  void* argument;
};

/// What gives memory back. `size` goes to functions that take it.
struct Deallocation {
  void* memory;
  void (*function)(void* memory, std::size_t size);
  std::size_t size;
};

/// What a cancel of the transaction at `depth` returns to.
struct Checkpoint {
  Registers registers;
  std::uint32_t depth;
  std::uint32_t caught;    // exceptions
  std::uint32_t uncaught;  // exceptions
  bool was_irrevocable;    // the transaction around it
  std::size_t undo, allocated, freed, at_commit, at_cancel;
};

/// The stripes that a hardware transaction wrote. Bounded, because it takes up write capacity.
class StripeLog {
 public:
  static constexpr std::uint32_t kMost = 500;

  void clear() {
    count_ = 0;
    std::memset(recent_, 0xff, sizeof recent_);  // no stripe
  }
  /// Returns whether there was room. A stripe that was noted lately is not noted again.
  bool note(std::uint32_t stripe) {
    std::uint32_t& recent = recent_[stripe * 0x9e3779b1U >> 27];
    if (stripe == recent) return true;
    if (count_ == kMost) return false;
    recent = stripe;
    stripes_[count_++] = stripe;
    return true;
  }

  bool is_empty() const { return count_ == 0; }
  const std::uint32_t* begin() const { return stripes_; }
  const std::uint32_t* end() const { return stripes_ + count_; }

 private:
  alignas(64) std::uint32_t recent_[32];  // by hash
  std::uint32_t count_;
  std::uint32_t stripes_[kMost];
};

struct Logs {
  StripeLog stripes;
  WriteLog writes;
  UndoLog undo;
  Array<Checkpoint> checkpoints;
  Array<UserAction> at_commit;
  Array<UserAction> at_cancel;
  FreshMemory fresh;
  Array<Deallocation> allocated;
  Array<Deallocation> freed;
};

/// The length of hardware segments, as it adapts (ALE paper, 2.2).
struct Segments {
  static constexpr std::uint32_t kFirstLimit = 100;
  std::uint32_t limit;
  std::uint32_t accesses;  // barriers in the current segment
  std::uint32_t commits_in_a_row;
  bool in_hardware;
};

struct Thread {
  std::uint32_t depth;        // 0 also in a hardware transaction without state
  std::uint16_t is_slow = 1;  // 0: begin.S may begin a transaction in hardware
  std::uint16_t is_plain;     // 1: in a hardware transaction without state, or an aborted one
  Path path;
  Barriers barriers;
  bool is_known;
  bool unlogged;              // kLogged: it may have written unlogged, so it commits only beside no fallback
  bool is_irrevocable;        // kSerial
  bool has_pending;           // user actions or memory to free, after the commit
  bool holds_auxiliary;       // hle-scm
  bool holds_turn;            // ale
  bool may_cancel;            // the outermost transaction, if it is in hardware and has state
  std::uint32_t caught;       // handlers begun and not ended in the transaction
  std::uint64_t turn;         // ale: of a software transaction
  std::uint64_t outer_cfa;    // stack addresses below belong to frames of the transaction
  std::uint32_t last_locked;  // kFallback: the stripe that was locked last
  Segments segments;
  // What finish() is running now lies before these places in the logs.
  std::size_t first_action, first_freed;
  Logs* logs;
  abi::TmCounters* counters;
  std::uint64_t number;  // of the thread
  std::uint64_t ended;   // outermost transactions
};

static_assert(offsetof(Thread, depth) == 0 && offsetof(Thread, is_slow) == 4 &&
              offsetof(Thread, is_plain) == 6);  // begin.S

extern constinit thread_local Thread this_thread asm("elision_tm_thread");

/// Whether the thread runs a transaction.
inline bool is_inside(const Thread& thread) { return thread.path != Path::kNone || thread.is_plain != 0; }

/// An outermost transaction has ended; `counter` is of such ends.
[[gnu::always_inline]] inline void count_end(Thread& thread, std::uint64_t& counter) {
  ++counter;
  ++thread.ended;
}

/// Prepares the notice of threads that end inside a transaction. Without a key left, they go unnoticed.
void make_thread_key();

/// Completes this_thread. Makes system calls, so not inside a hardware transaction.
void introduce_thread(Thread& thread);

/// Forgets what does not belong to this process (the child of a fork).
void forget_thread(Thread& thread);

}  // namespace elision::tm
