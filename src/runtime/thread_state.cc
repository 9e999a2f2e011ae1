// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_state.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/call_paths.h"
#include "runtime/design_change.h"
#include "runtime/designs.h"
#include "runtime/process.h"
#include "runtime/raw_output.h"

namespace elision::runtime {

constinit thread_local ThreadState this_thread{};

namespace {

void complete(ThreadState& thread) {
  thread.thread_id = static_cast<int>(syscall(SYS_gettid));
  bool shared = false;
  thread.slot = &process.region.claim_slot(static_cast<std::uint32_t>(thread.thread_id), shared);
  thread.slot_is_shared = shared;
  thread.activity = shared ? &thread.unshared : &thread.slot->activity;
  thread.activity->forget_held();
  note_activity(thread.activity);
  call_paths.thread_begins(shared ? 0 : process.region.index_of(*thread.slot),
                           static_cast<std::uint32_t>(thread.thread_id));
  thread.last_lock = nullptr;  // in the child of a fork it points into the parent's counters
}

void open_short_paths(ThreadState& thread) {
  if (thread.slot_is_shared) return;
  const ShortPathsOfDesign& have = short_paths_of_design;
  thread.short_paths = {.mutex = have.mutex == ShortMutexes::kNone ? nullptr : thread.activity,
                        .rwlock = have.rwlock ? thread.activity : nullptr,
                        .spin = have.spin ? thread.activity : nullptr};
}

}  // namespace

void introduce_thread() {
  __atomic_store_n(&process.region.header().locks_seen, 1, __ATOMIC_RELAXED);
  if (this_thread.slot == nullptr) complete(this_thread);
  open_short_paths(this_thread);
  this_thread.is_known = true;
}

abi::ThreadActivity* activity_for_other_locks() {
  if (this_thread.slot == nullptr) complete(this_thread);
  return this_thread.activity;
}

void look_up_entry(ThreadState& thread, const void* lock, const void* site) {
  thread.last_entry = thread.slot_is_shared ? &thread.slot->entries[0] : &entry_of(*thread.slot, lock, site);
  thread.last_lock = lock;
  thread.last_site = site;
  thread.short_lock = nullptr;
}

void report_misuse(Misuse misuse, const void* lock, const void* site) {
  abi::CounterSlot& slot = *known_thread().slot;
  abi::MisuseCounter& counter = misuse == Misuse::kUnlockOfFree ? slot.bad_unlocks : slot.bad_destroys;
  __atomic_fetch_add(&counter.count, 1, __ATOMIC_RELAXED);
  counter.lock = reinterpret_cast<std::uint64_t>(lock);
  counter.site = reinterpret_cast<std::uint64_t>(site);
  if (!process.configuration.verbose) return;
  Line()
      .text(misuse == Misuse::kUnlockOfFree ? "elision: unlock of a lock that is not held: lock "
                                            : "elision: destroy of a lock that is held: lock ")
      .hexadecimal(counter.lock)
      .text(misuse == Misuse::kUnlockOfFree ? ", unlocked at " : ", destroyed at ")
      .hexadecimal(counter.site)
      .write_to(STDERR_FILENO);
}

}  // namespace elision::runtime
