// SPDX-License-Identifier: Apache-2.0
#include "runtime/openmp_locks.h"

#include <unistd.h>

#include <cstdlib>

#include "runtime/entry_points.h"
#include "runtime/numbered_cells.h"
#include "runtime/overlay.h"
#include "runtime/raw_output.h"
#include "runtime/thread_state.h"

namespace elision::runtime {
namespace {

/// One cache line each: neighbours would abort each other's transactions.
struct alignas(64) LockCell {
  pthread_mutex_t mutex;
  std::atomic<std::uint32_t> next_free;
};
constinit NumberedCells<LockCell> lock_cells;

[[noreturn, gnu::cold]] void fail(const char* why) {
  Line().text("elision: ").text(why).write_to(STDERR_FILENO);
  std::abort();
}

std::uint32_t new_lock(OpenMpLock kind) {
  const std::uint32_t number = lock_cells.take();
  if (number == lock_cells.kNone) fail("no memory for an OpenMP lock");
  pthread_mutex_t& mutex = lock_cells[number].mutex;
  if (kind == OpenMpLock::kNestable) {
    mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  } else {
    mutex = PTHREAD_MUTEX_INITIALIZER;
  }
  return number;
}

pthread_mutex_t* mutex_of(std::uint32_t number) {
  LockCell* const cell = lock_cells.find(number);
  if (cell == nullptr) [[unlikely]]
    fail("an OpenMP lock that was not initialised");
  return &cell->mutex;
}

std::atomic<std::uint32_t>& number_in(void* object) {
  return *static_cast<std::atomic<std::uint32_t>*>(object);
}

}  // namespace

void init_openmp_lock(void* object, OpenMpLock kind) {
  number_in(object).store(new_lock(kind), std::memory_order_release);
}

void destroy_openmp_lock(void* object, const void* site) {
  const std::uint32_t number = number_in(object).load(std::memory_order_acquire);
  if (number == lock_cells.kNone || entry_points.speculating() != 0) return;
  if (entry_points.mutex_destroy(mutex_of(number), site) != 0) return;  // held: leak it rather than share it
  number_in(object).store(lock_cells.kNone, std::memory_order_relaxed);
  lock_cells.give_back(number);
}

pthread_mutex_t* mutex_of_openmp_lock(void* object, OpenMpLock kind) {
  std::atomic<std::uint32_t>& place = number_in(object);
  std::uint32_t number = place.load(std::memory_order_acquire);
  if (number == lock_cells.kNone) [[unlikely]] {
    const std::uint32_t made = new_lock(kind);
    if (place.compare_exchange_strong(number, made, std::memory_order_acq_rel)) {
      number = made;
    } else {
      lock_cells.give_back(made);
    }
  }
  return mutex_of(number);
}

int openmp_nesting(pthread_mutex_t* mutex) {
  if (entry_points.speculating() != 0) return 1;
  const locks::ElidedLock* elided = this_thread.transaction.find(mutex);
  return static_cast<int>(elided != nullptr ? elided->depth : overlay_of(mutex).count);
}

}  // namespace elision::runtime
