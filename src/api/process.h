// SPDX-License-Identifier: Apache-2.0
// The state of this library in the process. Set up once, at load or by the first operation, and then only
// read.
#pragma once

#include "api/rtm.h"
#include "locks/designs.h"

namespace elision::api {

struct Process {
  bool elides = false;      // transactions commit here
  bool speculates = false;  // the CPU has always-abort transactions
  // htm-10 (AAHTM paper, IV-A).
  locks::Parameters parameters{.elision_tries = 10};
};

extern constinit Process process;

void ensure_set_up();

/// The calling thread, which must be known, at the lock whose words begin at `lock`. There are no counters
/// per lock.
class Self {
 public:
  Self(const void* lock, const void* site) : lock_(lock), site_(site) {}

  locks::TransactionContext& transaction() const { return this_thread.transaction; }
  const locks::Parameters& parameters() const { return process.parameters; }
  locks::Recorder recorder() const { return locks::Recorder(this_thread.counters, false); }
  locks::ActivityAt activity() const { return {this_thread.activity, lock_, site_}; }
  void took() const { take(lock_); }

 protected:
  void take(const void* lock) const {
    this_thread.activity->take(lock, site_);
    ++this_thread.activity->taken_elsewhere;
  }

 private:
  const void* lock_;
  const void* site_;
};
static_assert(locks::Caller<Self>);

inline Self self_at(const void* lock, const void* site) {
  (void)known_thread();
  return {lock, site};
}

/// A lock of this library, elided, and the same words without transactions.
using Elided = locks::ElidedDesign<NotedRtm, locks::Tatas<locks::Park>, locks::Plainly>;
using Plain = locks::WordDesign<locks::Tatas<locks::Park>, locks::Plainly>;

/// Whether sections are elided; sets the library up.
[[gnu::always_inline]] inline bool elides() {
  if (process.elides) [[likely]]
    return true;
  ensure_set_up();
  return process.elides;
}

/// Whether `entry` means that the thread is inside. If the current transaction already elides this lock,
/// aborts it, and the thread deadlocks as it would without elision.
[[gnu::always_inline]] inline bool is_inside(locks::Entry entry) {
  if (entry == locks::Entry::kOwn) [[unlikely]]
    Elided::require_real_locks(this_thread.transaction);
  return entry != locks::Entry::kTimedOut;
}

}  // namespace elision::api
