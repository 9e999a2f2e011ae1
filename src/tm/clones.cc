// SPDX-License-Identifier: Apache-2.0
// Functions and their transactional clones. Each loaded file with clones registers a table of pairs when
// its constructors run, and takes it back when it is unloaded. Transactions look up without a lock, also in
// hardware: tables are only added in front, and taken out while no other transaction runs.
#include <algorithm>
#include <atomic>
#include <cstddef>

#include "tm/exported.h"

namespace elision::tm {
namespace {

struct Clone {
  void* original;
  void* transactional;
};

/// Lies in a page of its own; files with clones are few.
struct Table {
  Clone* clones;
  std::size_t count;
  std::atomic<Table*> next;
};

constinit std::atomic<Table*> tables{nullptr};

bool is_before(const Clone& left, const Clone& right) { return left.original < right.original; }

/// The clone of `function`, or null if it has none.
void* clone_of(const void* function) {
  for (Table* table = tables.load(std::memory_order_acquire); table != nullptr;
       table = table->next.load(std::memory_order_acquire)) {
    const Clone* const end = table->clones + table->count;
    const Clone* const found = std::lower_bound(table->clones, const_cast<Clone*>(end),
                                                Clone{const_cast<void*>(function), nullptr}, is_before);
    if (found != end && found->original == function) return found->transactional;
  }
  return nullptr;
}

void unlink(const void* clones) {
  for (std::atomic<Table*>* link = &tables; Table* table = link->load(std::memory_order_relaxed);
       link = &table->next) {
    if (table->clones != clones) continue;
    link->store(table->next.load(std::memory_order_relaxed), std::memory_order_release);
    give_pages_back(table, kPageBytes);
    return;
  }
}

}  // namespace
}  // namespace elision::tm

using elision::tm::this_thread;

ELISION_TM_EXPORT void _ITM_registerTMCloneTable(void* clones, std::size_t count) {
  using elision::tm::Clone;
  using elision::tm::Table;
  auto* const table = static_cast<Table*>(elision::tm::take_pages(elision::tm::kPageBytes));
  table->clones = static_cast<Clone*>(clones);
  table->count = count;
  std::sort(table->clones, table->clones + count, elision::tm::is_before);
  Table* first = elision::tm::tables.load(std::memory_order_relaxed);
  do {
    table->next.store(first, std::memory_order_relaxed);
  } while (!elision::tm::tables.compare_exchange_weak(first, table, std::memory_order_release,
                                                      std::memory_order_relaxed));
}

ELISION_TM_EXPORT void _ITM_deregisterTMCloneTable(void* clones) {
  const bool is_outside = !is_inside(this_thread);
  if (is_outside) enter_alone(this_thread);
  elision::tm::unlink(clones);
  if (is_outside) leave_alone(this_thread);
}

ELISION_TM_EXPORT void* _ITM_getTMCloneOrIrrevocable(void* function) {
  if (void* const clone = elision::tm::clone_of(function)) return clone;
  go_irrevocable(this_thread);
  return function;
}

ELISION_TM_EXPORT void* _ITM_getTMCloneSafe(void* function) {
  if (void* const clone = elision::tm::clone_of(function)) return clone;
  elision::tm::fail("an atomic transaction calls a function without a transactional clone");
}
