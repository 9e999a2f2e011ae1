// SPDX-License-Identifier: Apache-2.0
// The calling thread at one lock, as the designs see it (locks/entry.h): its transaction, the parameters of
// the process, its counters for this lock and call site.
#pragma once

#include "locks/entry.h"
#include "runtime/process.h"
#include "runtime/thread_state.h"

namespace elision::runtime {

class CallerAt {
 public:
  CallerAt(const void* lock, const void* site) : thread_(known_thread()), lock_(lock), site_(site) {}

  locks::TransactionContext& transaction() { return thread_.transaction; }
  const locks::Parameters& parameters() const { return process.configuration.parameters; }
  locks::Recorder recorder() { return recorder_for(thread_, lock_, site_); }
  void count_uncontended() { runtime::count_uncontended(thread_); }
  int thread_id() const { return thread_.thread_id; }

 private:
  ThreadState& thread_;
  const void* lock_;
  const void* site_;
};
static_assert(locks::Caller<CallerAt>);

/// What an unlock does to a thread that speculates.
template <class Design>
void end_speculation_at_unlock() {
  if (process.configuration.parameters.abort_at_unlock) Design::end_speculation();
}

}  // namespace elision::runtime
