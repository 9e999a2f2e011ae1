// SPDX-License-Identifier: Apache-2.0
// Every lock design over words of its own, behind one interface for the typed test suites: lock_until,
// try_lock, unlock; for reader-writer locks with a mode. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

#include "htm/always_abort.h"
#include "htm/none.h"
#include "htm/rtm.h"
#include "htm/scripted.h"
#include "locks/designs.h"
#include "locks/fork_generation.h"

namespace elision::locks::test {

inline constexpr timespec kLongAgo{1, 0};
inline const Deadline kPassed{CLOCK_MONOTONIC, &kLongAgo};

/// What the child of a fork finds; and as it was before.
inline void pretend_fork() { fork_page.generation_plus_one = 0; }
inline void end_pretended_fork() { fork_page.generation_plus_one = 1; }

/// The next ticket.
inline std::uint32_t join(TicketState& state) {
  std::uint32_t ticket = 0;
  EXPECT_TRUE(Ticket<Spin>::join(state, nullptr, ticket));
  return ticket;
}

/// A thread with what it brings along. A copy is the same thread, as callers are handles.
class Thread {
  struct State {
    TransactionContext context;
    abi::CounterEntry counters;
    abi::ThreadActivity activity;
    Parameters tuning{.elision_tries = 4, .min_distance = 1};
  };
  std::unique_ptr<State> own_;
  State& state_;

 public:
  Thread() : own_(std::make_unique<State>()), state_(*own_) {}
  Thread(const Thread& other) : state_(other.state_) {}

  TransactionContext& context = state_.context;
  abi::CounterEntry& counters = state_.counters;
  Parameters& tuning = state_.tuning;

  TransactionContext& transaction() { return context; }
  const Parameters& parameters() const { return tuning; }
  Recorder recorder() { return Recorder(counters, false); }
  ActivityAt activity() { return {&state_.activity, &state_, nullptr}; }
  void took() { state_.activity.take(&state_, nullptr); }
  std::uint64_t taken() const { return abi::ThreadActivity::taken(state_.activity.position); }
  int depth() const { return abi::ThreadActivity::depth(state_.activity.position); }
  abi::SeenActivity seen() const { return abi::seen_activity(state_.activity); }

  /// From now on it takes locks for real.
  void take_really() { tuning.elision_tries = tuning.speculation_tries = tuning.most_warm = 0; }
};
static_assert(Caller<Thread>);

/// Whether `me` has not yet found, in a transaction, that its lock is held.
inline bool is_unseen(const Thread& me) {
  const auto& found = me.counters.aborts[static_cast<std::size_t>(abi::AbortCause::kLockBusy)];
  return __atomic_load_n(&found, __ATOMIC_RELAXED) == 0;
}

/// Words for any design.
struct Words {
  std::atomic<int> word{0};
  std::atomic<int> gate{0};
  TicketState ticket{};
  std::atomic<std::uint32_t> warm{0};
  std::atomic<std::uint32_t> generation{0};
  bool writers_first = false;

  inline static constexpr WordOffsets offsets(bool writers_first);
  LockWords lock_words();
  bool all_free() const {
    constexpr std::uint32_t kWarmThreads = 0xffff;  // above them is the fork generation (priority_wait.h)
    return word == 0 && gate == 0 && ticket.next == static_cast<std::uint32_t>(ticket.grant) &&
           ticket.grant >> 32 == 0 && (warm & kWarmThreads) == 0;
  }
};
constexpr WordOffsets Words::offsets(bool writers_first) {
  return {offsetof(Words, gate), offsetof(Words, ticket), offsetof(Words, warm), offsetof(Words, generation),
          writers_first};
}
inline LockWords Words::lock_words() {
  static constexpr WordOffsets kDefault = offsets(false), kWritersFirst = offsets(true);
  return {&word, writers_first ? &kWritersFirst : &kDefault};
}

template <class Design_>
struct Locked {
  using Design = Design_;
  Words words;

  bool lock_until(Thread& me, const Deadline* deadline) {
    if (Design::speculating()) return true;
    if constexpr (!Design::kElides) {  // as mutexes do
      if (deadline == nullptr && Design::may_attempt(words.lock_words())) {
        typename Design::Attempt attempt;
        return Design::attempt(words.lock_words(), me.context, me.tuning, attempt) ||
               Design::enter(words.lock_words(), me, deadline, attempt) != Entry::kTimedOut;
      }
    }
    return Design::enter(words.lock_words(), me, deadline) != Entry::kTimedOut;
  }
  bool try_lock(Thread& me) {
    return Design::speculating() || Design::try_enter(words.lock_words(), me) != Entry::kBusy;
  }
  bool unlock(Thread& me) {
    return Design::speculating() || Design::leave_quickly(words.lock_words(), me.context) ||
           Design::leave(words.lock_words(), me.context);
  }
  bool is_free() {
    Design::is_held(words.lock_words());  // skips tickets that were given up as their turn came
    return words.all_free();
  }
};

/// The same on a spin lock's word, of which 1 is free.
template <class Design_>
struct SpinLocked : Locked<typename Design_::OnSpinWord> {
  SpinLocked() { this->words.word = SpinWord<Spin>::kFree; }
  bool is_free() const { return this->words.word == SpinWord<Spin>::kFree; }
};

/// The same on either side of a reader-writer lock.
template <class Design_>
struct ReaderWriter {
  using Design = Design_;
  using Reader = typename Design::ReaderSide;
  using Writer = typename Design::WriterSide;
  Words words;

  bool lock_until(Thread& me, const Deadline* deadline, bool writes = true) {
    if (Design::speculating()) return true;
    const Entry entry = writes ? Writer::enter(words.lock_words(), me, deadline)
                               : Reader::enter(words.lock_words(), me, deadline);
    if (entry == Entry::kOwn) ++Reader::elided_entry(words.lock_words(), me.context)->depth;
    return entry != Entry::kTimedOut;
  }
  bool try_lock(Thread& me, bool writes = true) {
    if (Design::speculating()) return true;
    return (writes ? Writer::try_enter(words.lock_words(), me) : Reader::try_enter(words.lock_words(), me)) !=
           Entry::kBusy;
  }
  bool unlock(Thread& me, bool writes = true) {
    if (Design::speculating()) return true;
    return writes ? Writer::leave(words.lock_words(), me.context)
                  : Reader::leave(words.lock_words(), me.context);
  }
  bool is_free() const { return words.all_free(); }
};

// ---- The designs as src/runtime composes them, over any back end.

template <class Waiting>
using TatasPlain = WordDesign<Tatas<Waiting>, Plainly>;
template <class Waiting>
using TtsPlain = WordDesign<Tatas<Waiting, OnePause>, Plainly>;
template <class Waiting>
using TicketPlain = TicketDesign<Waiting, Plainly>;
template <class Htm, class Waiting>
using TatasAahtm = WordDesign<Tatas<Waiting>, Speculating<Htm>>;
template <class Htm, class Waiting>
using TatasPriAahtm = WordDesign<Tatas<Waiting>, SpeculatingWithPriority<Htm>>;
template <class Htm, class Waiting>
using TicketAahtm = TicketDesign<Waiting, Speculating<Htm>>;
template <class Htm, class Waiting, Subscription kSubscription = Subscription::kEarly>
using HtmN = ElidedDesign<Htm, Tatas<Waiting>, Plainly, NoContentionControl, kSubscription>;
template <class Htm, class Waiting>
using Ttstle = ElidedDesign<Htm, Tatas<Waiting, OnePause>, Plainly>;
template <class Htm, class AlwaysAbort, class Waiting>
using HtmNFbAahtm = ElidedDesign<Htm, Tatas<Waiting>, Speculating<AlwaysAbort>>;
template <class Htm, class Waiting>
using HleScm = ElidedDesign<Htm, Tatas<Waiting>, Plainly, AuxiliaryQueue<Waiting>>;

/// Whether what `Design` begins needs a CPU on which transactions commit.
template <class T>
struct NeedsRtm : std::false_type {};
template <template <class...> class T, class... Parts>
struct NeedsRtm<T<Parts...>> : std::bool_constant<(NeedsRtm<Parts>::value || ...)> {};
template <>
struct NeedsRtm<htm::Rtm> : std::true_type {};
template <>
struct NeedsRtm<htm::NestedRtm> : std::true_type {};
template <>
struct NeedsRtm<htm::VirtualAlwaysAbort> : std::true_type {};
template <class Htm, class Lock, class How, class Contention, Subscription kSubscription, bool kWrites>
struct NeedsRtm<ElidedDesign<Htm, Lock, How, Contention, kSubscription, kWrites>>
    : std::bool_constant<NeedsRtm<Htm>::value || NeedsRtm<How>::value> {};

template <class T>
struct NeedsVirtualCpu : std::false_type {};
template <template <class...> class T, class... Parts>
struct NeedsVirtualCpu<T<Parts...>> : std::bool_constant<(NeedsVirtualCpu<Parts>::value || ...)> {};
template <>
struct NeedsVirtualCpu<htm::VirtualAlwaysAbort> : std::true_type {};
template <class Htm, class Lock, class How, class Contention, Subscription kSubscription, bool kWrites>
struct NeedsVirtualCpu<ElidedDesign<Htm, Lock, How, Contention, kSubscription, kWrites>>
    : NeedsVirtualCpu<How> {};

}  // namespace elision::locks::test
