// SPDX-License-Identifier: Apache-2.0
// elision_region_*, elision_coarsener_*: several sections as one transaction (TSX paper, 5.2.2).
//
// A region is a section under a lock of its own. If it is elided, its transaction covers the sections inside,
// whose locks are further locks of the transaction. If elision is given up, the lock is free and taken at
// once, and the sections run as without a region.
#include <algorithm>

#include "api/lock.h"
#include "elision/elision.h"

namespace {

using elision::abi::AbortCause;
using elision::api::MutexLock;
using elision::api::this_thread;
using elision::locks::Entry;
using elision::locks::LockWords;

// A good granularity is found within some tens of transactions. At most one transaction in kCommitsToGrow is
// a failed attempt to grow.
constexpr std::uint32_t kFirstGranularity = 4;
constexpr std::uint32_t kMostGranularity = 256;
constexpr std::uint32_t kCommitsToGrow = 32;

LockWords words_of(elision_region* region) { return {elision::api::word_at(&region->own.word)}; }

/// True: a transaction runs.
bool enter(elision_region* region, const void* site) {
  const LockWords words = words_of(region);
  return elision::api::elides() && elision::api::Elided::enter(words, elision::api::self_at(words.word, site),
                                                               nullptr) == Entry::kElided;
}

void leave(elision_region* region) {
  if (elision::api::elides()) (void)MutexLock::leave(words_of(region));
}

/// Aborts that smaller transactions might avoid.
std::uint64_t aborts_by_size() {
  const auto count = [](AbortCause cause) {
    return this_thread.counters.aborts[static_cast<std::size_t>(cause)];
  };
  return count(AbortCause::kConflict) + count(AbortCause::kCapacity) + count(AbortCause::kOther);
}

/// Halves the granularity for each of `failures`. Runs in the transaction that began after them: its abort
/// undoes this, and adds one more failure.
void shrink(elision_coarsener* coarsener, std::uint64_t failures) {
  if (failures == 0 || coarsener->most == 0) return;
  coarsener->granularity = std::max(coarsener->granularity >> std::min<std::uint64_t>(failures, 31), 1u);
  coarsener->commits_in_a_row = 0;
}

void grow(elision_coarsener* coarsener) {
  if (coarsener->granularity >= coarsener->most || ++coarsener->commits_in_a_row < kCommitsToGrow) return;
  coarsener->granularity *= 2;
  coarsener->commits_in_a_row = 0;
}

}  // namespace

void elision_region_begin(elision_region* region) { (void)enter(region, ELISION_CALL_SITE); }

void elision_region_end(elision_region* region) { leave(region); }

void elision_coarsener_init(elision_coarsener* coarsener, std::uint32_t granularity) {
  const bool adapts = granularity == ELISION_COARSENER_ADAPTS;
  *coarsener = {ELISION_REGION_INIT,           0, 0, adapts ? kFirstGranularity : granularity,
                adapts ? kMostGranularity : 0, 0};
}

void elision_coarsener_open(elision_coarsener* coarsener) {
  if (coarsener->one_by_one > 0) {
    --coarsener->one_by_one;
    return;
  }
  const std::uint64_t before = aborts_by_size();
  const bool in_transaction = enter(&coarsener->region, ELISION_CALL_SITE);
  shrink(coarsener, aborts_by_size() - before);
  if (in_transaction) {
    coarsener->open = coarsener->granularity;
  } else {
    leave(&coarsener->region);
    coarsener->one_by_one = coarsener->granularity - 1;  // this section is the first of them
  }
}

void elision_coarsener_close(elision_coarsener* coarsener) {
  if (coarsener->open == 0) return;
  const bool is_full = coarsener->open == 1;
  coarsener->open = 0;
  leave(&coarsener->region);
  if (is_full) grow(coarsener);
}
