// SPDX-License-Identifier: Apache-2.0
// Counts the events of a lock, in one counter entry of the calling thread.
//
// Never used inside a transaction: an abort would undo the counts, and their line would join the
// transaction's write set.
#pragma once

#include <atomic>

#include "abi/counters.h"
#include "htm/own_code.h"
#include "locks/waiting.h"

namespace elision::locks {

/// Is told of each wait for a lock that has ended, in ticks. Null: nobody. Not inside a transaction.
using WaitObserver = void (*)(const abi::CounterEntry& entry, std::uint64_t ticks);
inline constinit WaitObserver wait_observer = nullptr;

class Recorder {
 public:
  /// `shared`: several threads write the entry, so counting must be atomic.
  Recorder(abi::CounterEntry& entry, bool shared) : entry_(&entry), shared_(shared) {}

  void busy() const { add(entry_->busy, 1); }
  void speculation() const { add(entry_->speculations, 1); }
  /// A transaction was aborted; called before it is tried again.
  void abort(abi::AbortCause cause) const {
    add(entry_->aborts[static_cast<std::size_t>(cause)], 1);
    if (cause == abi::AbortCause::kOther) [[unlikely]]
      keep_code_in_use();
  }
  /// The lock was taken after a wait or as fallback; the wait began at `start` (0: there was none).
  void acquired(std::uint64_t start) const {
    add(entry_->acquisitions, 1);
    if (start != 0) waited(ticks() - start);
  }
  /// Stores what a commit needs to count in the same entry.
  void prepare_commit(abi::CounterEntry*& entry, bool& shared) const {
    entry = entry_;
    shared = shared_;
  }
  void fell_back() const { add(entry_->fallbacks, 1); }
  /// A section committed that had waited for `waited_ticks`.
  [[gnu::always_inline]] void committed(std::uint64_t waited_ticks) const {
    add(entry_->commits, 1);
    if (waited_ticks != 0) [[unlikely]]
      waited(waited_ticks);
  }

 private:
  [[gnu::always_inline]] void add(std::uint64_t& counter, std::uint64_t amount) const {
    add(counter, amount, shared_);
  }
  [[gnu::always_inline]] static void add(std::uint64_t& counter, std::uint64_t amount, bool shared) {
    if (shared) [[unlikely]] {
      __atomic_fetch_add(&counter, amount, __ATOMIC_RELAXED);
    } else {
      __atomic_store_n(&counter, counter + amount, __ATOMIC_RELAXED);
    }
  }
  /// Touches the library's code now and then. Kernels clear the accessed bits of page tables to see what is
  /// in use (reclaim, DAMON), and setting such a bit aborts a transaction. Code that runs only inside
  /// transactions would then never commit again. The CPU reports no cause for this abort, nor for interrupts
  /// and system calls, which may be frequent; hence the minimum distance.
  [[gnu::noinline, gnu::cold]] static void keep_code_in_use() {
    constexpr std::uint64_t kTicksBetween = 1 << 20;
    const std::uint64_t now = ticks();
    if (now - code_used_at.load(std::memory_order_relaxed) < kTicksBetween) return;
    code_used_at.store(now, std::memory_order_relaxed);
    htm::touch_own_code();
  }
  static inline constinit std::atomic<std::uint64_t> code_used_at{0};

  void waited(std::uint64_t amount) const { waited(*entry_, shared_, amount); }
  [[gnu::noinline]] static void waited(abi::CounterEntry& entry, bool shared, std::uint64_t amount) {
    add(entry.wait_ticks, amount, shared);
    // Two threads that share an entry may lose a maximum: harmless.
    if (amount > entry.longest_wait_ticks) {
      __atomic_store_n(&entry.longest_wait_ticks, amount, __ATOMIC_RELAXED);
    }
    if (wait_observer != nullptr) wait_observer(entry, amount);
  }

  abi::CounterEntry* entry_;
  bool shared_;
};

/// Measures a wait from start(). An uncontended lock never reads the clock.
class WaitClock {
 public:
  void start() {
    if (start_ == 0) start_ = ticks();
  }
  /// 0: not started.
  std::uint64_t started_at() const { return start_; }
  /// Ticks since the start. Starts now if it has not.
  std::uint64_t waited() {
    const std::uint64_t now = ticks();
    if (start_ == 0) start_ = now;
    return now - start_;
  }

 private:
  std::uint64_t start_ = 0;
};

}  // namespace elision::locks
