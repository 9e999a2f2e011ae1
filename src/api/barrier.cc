// SPDX-License-Identifier: Apache-2.0
// elision_barrier: the barrier of locks/barrier.h. Waiting threads run ahead if the CPU has always-abort
// transactions; ordinary RTM is not used instead (htm/always_abort.h).
#include "locks/barrier.h"

#include <cerrno>

#include "api/process.h"
#include "elision/elision.h"
#include "htm/always_abort.h"
#include "htm/none.h"

namespace {

using elision::api::Elided;
using elision::api::process;
using elision::api::Self;
using elision::api::self_at;
using elision::api::this_thread;
using elision::htm::VirtualAlwaysAbort;
using elision::locks::BarrierState;
using elision::locks::Passage;
using Speculating = elision::locks::Barrier<VirtualAlwaysAbort>;
using Plain = elision::locks::Barrier<elision::htm::None>;

static_assert(sizeof(elision_barrier::state) == sizeof(BarrierState) &&
              alignof(elision_barrier) == alignof(BarrierState));

constinit const elision::locks::Parameters kNoSpeculation{.speculation_tries = 0};

class PlainSelf : public Self {
 public:
  using Self::Self;
  static const elision::locks::Parameters& parameters() { return kNoSpeculation; }
};

BarrierState& state_of(elision_barrier* barrier) { return *reinterpret_cast<BarrierState*>(barrier->state); }

/// 0 threads behaves like 1.
std::uint32_t total_of(const elision_barrier* barrier) {
  return barrier->threads != 0 ? barrier->threads : 1;
}

bool speculating() { return process.speculates && VirtualAlwaysAbort::in_always_abort(); }

}  // namespace

void elision_barrier_init(elision_barrier* barrier, unsigned threads) {
  *barrier = elision_barrier ELISION_BARRIER_INIT(threads);
}

int elision_barrier_wait(elision_barrier* barrier) {
  elision::api::ensure_set_up();
  if (speculating()) return 0;
  Elided::require_real_locks(this_thread.transaction);
  const Self self = self_at(barrier, ELISION_CALL_SITE);
  self.activity().begin(elision::abi::Activity::kBlocked);
  const Passage passage = process.speculates ? Speculating::wait(state_of(barrier), total_of(barrier), self)
                                             : Plain::wait(state_of(barrier), total_of(barrier),
                                                           PlainSelf(barrier, ELISION_CALL_SITE));
  if (passage == Passage::kSpeculating) return 0;
  self.activity().end();
  Plain::depart(state_of(barrier));
  return passage == Passage::kLast;
}

int elision_barrier_destroy(elision_barrier* barrier) {
  if (speculating()) return 0;
  Elided::require_real_locks(this_thread.transaction);
  return Plain::await_departures(state_of(barrier), total_of(barrier)) ? 0 : EBUSY;
}

/// If the preload library is loaded, its function comes first.
extern "C" [[gnu::visibility("default")]] int answer_speculating() asm("elision_speculating");
int answer_speculating() { return speculating(); }
