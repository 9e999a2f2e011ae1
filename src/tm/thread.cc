// SPDX-License-Identifier: Apache-2.0
#include "tm/thread.h"

#include <pthread.h>

#include <atomic>
#include <new>

#include "tm/counters_region.h"
#include "tm/process.h"

/// glibc's since 2.18: calls a function when the calling thread ends.
extern "C" int __cxa_thread_atexit_impl(void (*function)(void*), void* argument, void* library) noexcept;
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

/// glibc's, by the version that old ones have too. Before 2.34, a program without threads lacks them.
extern "C" {
[[gnu::weak]] int elision_tm_key_create(pthread_key_t* key, void (*destructor)(void*)) noexcept;
[[gnu::weak]] int elision_tm_setspecific(pthread_key_t key, const void* value) noexcept;
}
asm(".symver elision_tm_key_create, pthread_key_create@GLIBC_2.2.5");
asm(".symver elision_tm_setspecific, pthread_setspecific@GLIBC_2.2.5");

namespace elision::tm {

constinit thread_local Thread this_thread{};

namespace {

constexpr std::size_t kLogsBytes = (sizeof(Logs) + kPageBytes - 1) / kPageBytes * kPageBytes;
constinit std::atomic<std::uint64_t> threads{0};
constinit pthread_key_t end_inside_key{};
constinit bool has_key = false;

Logs* make_logs() {
  Logs* const logs = new (take_pages(kLogsBytes)) Logs{};
  logs->writes.reserve_first();
  logs->undo.reserve_first();
  logs->checkpoints.reserve_first();
  logs->at_commit.reserve_first();
  logs->at_cancel.reserve_first();
  logs->fresh.reserve_first();
  logs->allocated.reserve_first();
  logs->freed.reserve_first();
  return logs;
}

void give_back(Logs* logs) {
  logs->writes.give_back();
  logs->undo.give_back();
  logs->checkpoints.give_back();
  logs->at_commit.give_back();
  logs->at_cancel.give_back();
  logs->fresh.give_back();
  logs->allocated.give_back();
  logs->freed.give_back();
  give_pages_back(logs, kLogsBytes);
}

/// The destructor of the key. All other threads would wait for the transaction for ever.
void end_inside(void* state) {
  if (static_cast<Thread*>(state)->path != Path::kNone) fail("a thread ended inside a transaction");
}

/// A destructor that runs later may use transactions: they introduce the thread anew. Inside a transaction,
/// this may also be a call of exit(), which is no error: destructors of keys tell the two apart.
void end_thread(void* state) {
  auto& thread = *static_cast<Thread*>(state);
  if (!thread.is_known) return;
  if (thread.path != Path::kNone) {
    if (has_key) (void)elision_tm_setspecific(end_inside_key, &thread);
    return;
  }
  give_counters_back(thread.counters);
  give_back(thread.logs);
  thread = Thread{};
}

}  // namespace

void make_thread_key() {
  if (has_key || elision_tm_key_create == nullptr || elision_tm_setspecific == nullptr) return;
  has_key = elision_tm_key_create(&end_inside_key, end_inside) == 0;
}

void introduce_thread(Thread& thread) {
  ensure_set_up();
  if (thread.logs == nullptr) thread.logs = make_logs();
  thread.counters = claim_counters();
  thread.number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  thread.segments.limit = Segments::kFirstLimit;
  // Without memory for the note, the thread's logs stay when it ends.
  (void)__cxa_thread_atexit_impl(end_thread, &thread, &__dso_handle);
  thread.is_known = true;
}

void forget_thread(Thread& thread) {
  if (!thread.is_known) return;
  thread.counters = claim_counters();
}

}  // namespace elision::tm
