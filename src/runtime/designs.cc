// SPDX-License-Identifier: Apache-2.0
#include "runtime/designs.h"

#include "htm/always_abort.h"
#include "htm/rtm.h"
#include "runtime/barrier.h"
#include "runtime/condition.h"
#include "runtime/glibc_speculating.h"
#include "runtime/mutex.h"
#include "runtime/rwlock.h"
#include "runtime/spinlock.h"

namespace elision::runtime {
namespace {

// The library of the tests that must fail is built with ELISION_TEST_NO_SUBSCRIPTION.
#ifdef ELISION_TEST_NO_SUBSCRIPTION
constexpr locks::Subscription kSubscription = locks::Subscription::kRemoved;
#else
constexpr locks::Subscription kSubscription = locks::Subscription::kEarly;
#endif

// ---- Before the library is set up: set it up, then go where the call should have gone. A call from
// inside the set-up comes from the only thread that runs lock operations at all: it needs no lock.

template <auto kMember, class... Arguments>
int after_set_up(Arguments... arguments) {
  if (ensure_set_up() == SetUp::kRunning) return 0;
  return (entry_points.*kMember)(arguments...);
}

// ---- pthread, and glibc-elision: glibc's functions. The first lock says that the program has locks, then
// steps aside.

template <class To, class From>
To* with_call_site_ignored(From* function) {
  // By way of void*: the two signatures differ only in an argument register that the callee leaves alone.
  return reinterpret_cast<To*>(reinterpret_cast<void*>(function));
}

void see_lock();

template <auto kFunction, class Object>
int first_call(Object* object, const void*) {
  see_lock();
  return (glibc.*kFunction)(object);
}
template <auto kFunction, class Object>
int forward_timed(Object* object, clockid_t clock, const timespec* at, const void*) {
  see_lock();
  return kFunction(object, clock, at);
}
int forward_cond_wait(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, const void*) {
  return wait_in_glibc(cond, mutex, timeout);
}
int forward_busy_wait(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, const void* site) {
  return wait_busily(cond, mutex, timeout,
                     {with_call_site_ignored<MutexFunction>(glibc.mutex_lock),
                      with_call_site_ignored<MutexFunction>(glibc.mutex_unlock), nullptr},
                     site);
}
int never_speculating() { return 0; }

void see_lock() {
  __atomic_store_n(&process.region.header().locks_seen, 1, __ATOMIC_RELAXED);
  entry_points.lock.set(with_call_site_ignored<MutexFunction>(glibc.mutex_lock));
  entry_points.trylock.set(with_call_site_ignored<MutexFunction>(glibc.mutex_trylock));
  entry_points.rdlock.set(with_call_site_ignored<RwlockFunction>(glibc.rwlock_rdlock));
  entry_points.tryrdlock.set(with_call_site_ignored<RwlockFunction>(glibc.rwlock_tryrdlock));
  entry_points.wrlock.set(with_call_site_ignored<RwlockFunction>(glibc.rwlock_wrlock));
  entry_points.trywrlock.set(with_call_site_ignored<RwlockFunction>(glibc.rwlock_trywrlock));
  entry_points.spin_lock.set(with_call_site_ignored<SpinFunction>(glibc.spin_lock));
  entry_points.spin_trylock.set(with_call_site_ignored<SpinFunction>(glibc.spin_trylock));
}

void install_pthread() {
  entry_points.unlock.set(with_call_site_ignored<MutexFunction>(glibc.mutex_unlock));
  entry_points.destroy.set(with_call_site_ignored<MutexFunction>(glibc.mutex_destroy));
  entry_points.clocklock.set(forward_timed<glibc_clocklock, pthread_mutex_t>);
  entry_points.clockrdlock.set(forward_timed<glibc_clockrdlock, pthread_rwlock_t>);
  entry_points.clockwrlock.set(forward_timed<glibc_clockwrlock, pthread_rwlock_t>);
  entry_points.rwlock_unlock.set(with_call_site_ignored<RwlockFunction>(glibc.rwlock_unlock));
  entry_points.rwlock_destroy.set(with_call_site_ignored<RwlockFunction>(glibc.rwlock_destroy));
  entry_points.spin_unlock.set(with_call_site_ignored<SpinFunction>(glibc.spin_unlock));
  entry_points.spin_destroy.set(with_call_site_ignored<SpinFunction>(glibc.spin_destroy));
  const bool busy = process.configuration.condition == ConditionKind::kBusy;
  entry_points.cond_wait.set(busy ? forward_busy_wait : forward_cond_wait);
  entry_points.cond_signal.set(glibc.cond_signal);
  entry_points.cond_broadcast.set(glibc.cond_broadcast);
  entry_points.cond_destroy.set(glibc.cond_destroy);
  entry_points.barrier_wait.set(with_call_site_ignored<BarrierFunction>(glibc.barrier_wait));
  entry_points.barrier_destroy.set(with_call_site_ignored<BarrierFunction>(glibc.barrier_destroy));
  entry_points.team_wait.set(have_no_team_barrier);
  entry_points.team_moves.set(have_no_team_to_move);
  entry_points.end_transactions.set(never_speculating);
  entry_points.speculating.set(never_speculating);
  process.locks = process.barriers = Owner::kOriginal;
  // Last: until here a call of these sets the library up, which includes waiting for whoever does.
  entry_points.rdlock.set(first_call<&Glibc::rwlock_rdlock, pthread_rwlock_t>);
  entry_points.tryrdlock.set(first_call<&Glibc::rwlock_tryrdlock, pthread_rwlock_t>);
  entry_points.wrlock.set(first_call<&Glibc::rwlock_wrlock, pthread_rwlock_t>);
  entry_points.trywrlock.set(first_call<&Glibc::rwlock_trywrlock, pthread_rwlock_t>);
  entry_points.spin_lock.set(first_call<&Glibc::spin_lock, volatile int>);
  entry_points.spin_trylock.set(first_call<&Glibc::spin_trylock, volatile int>);
  entry_points.trylock.set(first_call<&Glibc::mutex_trylock, pthread_mutex_t>);
  entry_points.lock.set(first_call<&Glibc::mutex_lock, pthread_mutex_t>);
  // A race detector would see one thread call what another replaces.
  if (process.configuration.off) see_lock();
}

// ---- Our designs.

/// Condition variables under `Design` with the mutexes of `OnMutex`, by the three ways of
/// runtime/condition.h.
template <class Design, class OnMutex>
struct Conditions {
  static constexpr MutexOperations kMutex{&OnMutex::lock, &OnMutex::unlock, &OnMutex::is_held};

  static int wait_in_glibc(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, const void*) {
    Design::require_real_locks(this_thread.transaction);
    return runtime::wait_in_glibc(cond, mutex, timeout);
  }
  static int wait_busily(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout,
                         const void* site) {
    give_up_unless_alone(mutex);
    return runtime::wait_busily(cond, mutex, timeout, kMutex, site);
  }
  static int wait_aware(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, const void* site) {
    if (CondKind(cond).is_shared()) [[unlikely]] {
      const bool glibc_may = Design::kGlibcMayLock || !MutexKind(overlay_of(mutex).kind).is_ours();
      return glibc_may ? wait_in_glibc(cond, mutex, timeout, site) : wait_busily(cond, mutex, timeout, site);
    }
    give_up_unless_alone(mutex);
    return runtime::wait_aware(cond, mutex, timeout, kMutex, site);
  }

  template <bool kAll>
  static int notify_in_glibc(pthread_cond_t* cond) {
    if (Design::speculating()) return 0;
    // With nobody waiting a signal is a read, which a transaction may contain; a wake-up is not.
    if (CondKind(cond).has_waiters()) Design::require_real_locks(this_thread.transaction);
    return kAll ? glibc.cond_broadcast(cond) : glibc.cond_signal(cond);
  }
  template <bool kAll>
  static int notify_aware(pthread_cond_t* cond) {
    if (CondKind(cond).is_shared()) [[unlikely]]
      return notify_in_glibc<kAll>(cond);
    if (!Design::speculating() && !runtime::notify_aware(cond, kAll))
      Design::require_real_locks(this_thread.transaction);
    return 0;
  }
  static int destroy_aware(pthread_cond_t* cond) {
    Design::require_real_locks(this_thread.transaction);
    return runtime::destroy_aware(cond);
  }

  static void install() {
    const ConditionKind kind = process.configuration.condition;
    const bool aware = kind == ConditionKind::kAware || (kind == ConditionKind::kAuto && process.elides) ||
                       (kind != ConditionKind::kBusy && !Design::kGlibcMayLock);
    entry_points.cond_wait.set(aware                          ? wait_aware
                               : kind == ConditionKind::kBusy ? wait_busily
                                                              : wait_in_glibc);
    entry_points.cond_signal.set(aware ? notify_aware<false> : notify_in_glibc<false>);
    entry_points.cond_broadcast.set(aware ? notify_aware<true> : notify_in_glibc<true>);
    entry_points.cond_destroy.set(aware ? destroy_aware : glibc.cond_destroy);
  }

 private:
  /// Speculation ends before a wait, and so does a transaction that elides other locks than `mutex`, which
  /// the wait must not give up.
  static void give_up_unless_alone(pthread_mutex_t* mutex) {
    locks::TransactionContext& me = this_thread.transaction;
    if (Design::speculating() || (me.inside() && !me.has_only(&overlay_of(mutex).word)))
      Design::require_real_locks(me);
  }
};

/// What else no transaction survives, or must not undo.
template <class Design>
struct Transactions {
  static int end_transactions() {
    Design::require_real_locks(this_thread.transaction);
    return 0;
  }
  static int speculating() { return Design::speculating(); }
};

template <class OnMutex, class OnRwlock, class OnSpin, class OnCondition, class OnThread, class OnBarrier>
void install() {
  entry_points.unlock.set(OnMutex::unlock);
  entry_points.destroy.set(OnMutex::destroy);
  entry_points.clocklock.set(OnMutex::clocklock);
  entry_points.clockrdlock.set(OnRwlock::clockrdlock);
  entry_points.clockwrlock.set(OnRwlock::clockwrlock);
  entry_points.rwlock_unlock.set(OnRwlock::unlock);
  entry_points.rwlock_destroy.set(OnRwlock::destroy);
  entry_points.spin_unlock.set(OnSpin::unlock);
  entry_points.spin_destroy.set(OnSpin::destroy);
  OnCondition::install();
  entry_points.barrier_wait.set(OnBarrier::wait);
  entry_points.barrier_destroy.set(OnBarrier::destroy);
  entry_points.team_wait.set(OnBarrier::team_wait);
  entry_points.team_moves.set(OnBarrier::team_moves);
  entry_points.end_transactions.set(OnThread::end_transactions);
  entry_points.speculating.set(OnThread::speculating);
  process.locks = Owner::kUs;
  process.barriers = OnBarrier::kOurs ? Owner::kUs : Owner::kOriginal;
  entry_points.rdlock.set(OnRwlock::rdlock);
  entry_points.tryrdlock.set(OnRwlock::tryrdlock);
  entry_points.wrlock.set(OnRwlock::wrlock);
  entry_points.trywrlock.set(OnRwlock::trywrlock);
  entry_points.spin_lock.set(OnSpin::lock);
  entry_points.spin_trylock.set(OnSpin::trylock);
  entry_points.trylock.set(OnMutex::trylock);
  entry_points.lock.set(OnMutex::lock);
}

template <class Design>
void install_design_of_ours() {
  if (process.configuration.exclusive_rwlocks) {
    install<Mutex<Design>, Rwlock<Design, RwMode::kExclusive>, Spinlock<Design>,
            Conditions<Design, Mutex<Design>>, Transactions<Design>, BarrierOf<Design>>();
  } else {
    install<Mutex<Design>, Rwlock<Design, RwMode::kShared>, Spinlock<Design>,
            Conditions<Design, Mutex<Design>>, Transactions<Design>, BarrierOf<Design>>();
  }
}

template <class Lock, class How, class Contention = locks::NoContentionControl>
void install_elided() {
  install_design_of_ours<locks::ElidedDesign<htm::Rtm, Lock, How, Contention, kSubscription>>();
}

/// pthread-aahtm.
template <class How, class Waiting>
void install_glibc_speculating() {
  using Glibc = GlibcSpeculating<How, Waiting>;
  install<typename Glibc::OnMutex, typename Glibc::OnRwlock, Spinlock<Glibc>,
          Conditions<Glibc, typename Glibc::OnMutex>, Transactions<Glibc>, BarrierOf<Glibc>>();
}

/// The designs that wait by `Waiting`, and by always-abort transactions of `Htm`.
template <class Waiting, class Htm>
void install_speculating() {
  using locks::Speculating;
  using Lock = locks::Tatas<Waiting>;
  const abi::LockDesign& design = process.configuration.design;
  if (process.elides) return install_elided<Lock, Speculating<Htm>>();
  if (design.base == abi::LockBase::kPthread) return install_glibc_speculating<Speculating<Htm>, Waiting>();
  if (design.base == abi::LockBase::kTicket)
    return install_design_of_ours<locks::TicketDesign<Waiting, Speculating<Htm>>>();
  if (design.wait == abi::LockWait::kSpeculatingWithPriority)
    return install_design_of_ours<locks::WordDesign<Lock, locks::SpeculatingWithPriority<Htm>>>();
  install_design_of_ours<locks::WordDesign<Lock, Speculating<Htm>>>();
}

/// Whether all locks stay glibc's: pthread, glibc-elision.
bool all_is_glibcs() {
  const abi::LockDesign& design = process.configuration.design;
  return design.base == abi::LockBase::kPthread && !design.speculates();
}

/// The designs that wait by `Waiting`, and do not speculate or cannot here.
template <class Waiting>
void install_plain() {
  using locks::Plainly;
  using Tatas = locks::Tatas<Waiting>;
  using Tts = locks::Tatas<Waiting, locks::OnePause>;
  const abi::LockDesign& design = process.configuration.design;
  const bool tts = design.base == abi::LockBase::kTts;
  if (process.elides && design.elision == abi::LockElision::kConflictsQueue)
    return install_elided<Tatas, Plainly, locks::AuxiliaryQueue<Waiting>>();
  if (process.elides) return tts ? install_elided<Tts, Plainly>() : install_elided<Tatas, Plainly>();
  switch (design.base) {
    case abi::LockBase::kPthread:
      return all_is_glibcs() ? install_pthread() : install_glibc_speculating<Plainly, Waiting>();
    case abi::LockBase::kTicket:
      return install_design_of_ours<locks::TicketDesign<Waiting, Plainly>>();
    case abi::LockBase::kTts:
      return install_design_of_ours<locks::WordDesign<Tts, Plainly>>();
    case abi::LockBase::kTatas:
      return install_design_of_ours<locks::WordDesign<Tatas, Plainly>>();
  }
}

template <class Waiting>
void install_waiting() {
  switch (process.always_abort) {
    case abi::AlwaysAbortKind::kVirtualCpu:
      return install_speculating<Waiting, htm::VirtualAlwaysAbort>();
    case abi::AlwaysAbortKind::kNestedRtm:
      return install_speculating<Waiting, htm::NestedRtm>();
    case abi::AlwaysAbortKind::kNone:
      return install_plain<Waiting>();
  }
}

}  // namespace

#define ELISION_BEFORE_SET_UP(member) decltype(EntryPoints::member)(after_set_up<&EntryPoints::member>)
constinit EntryPoints entry_points{
    ELISION_BEFORE_SET_UP(lock),
    ELISION_BEFORE_SET_UP(trylock),
    ELISION_BEFORE_SET_UP(clocklock),
    ELISION_BEFORE_SET_UP(unlock),
    ELISION_BEFORE_SET_UP(destroy),
    ELISION_BEFORE_SET_UP(rdlock),
    ELISION_BEFORE_SET_UP(tryrdlock),
    ELISION_BEFORE_SET_UP(clockrdlock),
    ELISION_BEFORE_SET_UP(wrlock),
    ELISION_BEFORE_SET_UP(trywrlock),
    ELISION_BEFORE_SET_UP(clockwrlock),
    ELISION_BEFORE_SET_UP(rwlock_unlock),
    ELISION_BEFORE_SET_UP(rwlock_destroy),
    ELISION_BEFORE_SET_UP(spin_lock),
    ELISION_BEFORE_SET_UP(spin_trylock),
    ELISION_BEFORE_SET_UP(spin_unlock),
    ELISION_BEFORE_SET_UP(spin_destroy),
    ELISION_BEFORE_SET_UP(cond_wait),
    ELISION_BEFORE_SET_UP(cond_signal),
    ELISION_BEFORE_SET_UP(cond_broadcast),
    ELISION_BEFORE_SET_UP(cond_destroy),
    ELISION_BEFORE_SET_UP(barrier_wait),
    ELISION_BEFORE_SET_UP(barrier_destroy),
    ELISION_BEFORE_SET_UP(team_wait),
    ELISION_BEFORE_SET_UP(team_moves),
    ELISION_BEFORE_SET_UP(end_transactions),
    ELISION_BEFORE_SET_UP(speculating),
};
#undef ELISION_BEFORE_SET_UP

void install_design() {
  return process.configuration.wait_spins ? install_waiting<locks::Spin>() : install_waiting<locks::Park>();
}

bool design_has_fast_path() {
  const Configuration& configuration = process.configuration;
  return configuration.design.base == abi::LockBase::kTatas && !configuration.wait_spins && !process.elides &&
         process.always_abort == abi::AlwaysAbortKind::kNone;
}

void restart_design_in_child() {
  locks::reset_auxiliary_places();
  if (all_is_glibcs()) install_pthread();
}

}  // namespace elision::runtime
