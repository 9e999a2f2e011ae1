// SPDX-License-Identifier: Apache-2.0
// The calling thread at one lock, for the designs (locks/entry.h): its transaction, the parameters of the
// process, and its counters for this lock and call site.
#pragma once

#include "locks/entry.h"
#include "runtime/process.h"
#include "runtime/thread_state.h"

namespace elision::runtime {

class CallerAt {
 public:
  /// A thread's first lock operation must be outside of transactions.
  CallerAt(const void* lock, const void* site) : lock_(lock), site_(site) { (void)known_thread(); }

  locks::TransactionContext& transaction() const { return this_thread.transaction; }
  const locks::Parameters& parameters() const { return process.configuration.parameters; }
  [[gnu::always_inline]] locks::Recorder recorder() const { return recorder_for(this_thread, lock_, site_); }
  locks::ActivityAt activity() const { return {this_thread.activity, lock_, site_}; }
  void took() const { note_taken(this_thread, lock_, site_, this_thread.activity->position); }
  /// In a transaction that elides this lock alone: next time the attempt may be inline (runtime/mutex.h).
  void open_short_way() const {
    if (this_thread.transaction.count != 1 ||
        (this_thread.short_lock == lock_ && this_thread.short_site == site_))
      return;
    this_thread.short_lock = lock_;
    this_thread.short_site = site_;
  }
  int thread_id() const { return this_thread.thread_id; }

 private:
  const void* lock_;
  const void* site_;
};
static_assert(locks::Caller<CallerAt>);

/// What unlock does in a speculating thread.
template <class Design>
void end_speculation_at_unlock() {
  if (process.configuration.parameters.abort_at_unlock) Design::end_speculation();
}

}  // namespace elision::runtime
