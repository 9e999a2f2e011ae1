// SPDX-License-Identifier: Apache-2.0
#include "runtime/designs.h"

#include <type_traits>

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

// ---- The entry points before the library is set up: they set it up and then make the call. A call from
// inside the set-up comes from the only thread that runs lock operations, and needs no lock.

template <auto kMember, class... Arguments>
int after_set_up(Arguments... arguments) {
  if (ensure_set_up() == SetUp::kRunning) return 0;
  return (entry_points.*kMember)(arguments...);
}

// ---- A design is six groups of functions. The rows of entry_points.h name the function in its group.

template <class OnMutex, class OnRwlock, class OnSpin, class OnCondition, class OnBarrier, class OnThread>
void install() {
  process.locks = OnThread::kOurs ? Owner::kUs : Owner::kOriginal;
  process.barriers = OnBarrier::kOurs ? Owner::kUs : Owner::kOriginal;
#define ELISION_INSTALL(name, served_by, Signature) entry_points.name.set(served_by);
  ELISION_ENTRY_POINTS(ELISION_INSTALL)
#undef ELISION_INSTALL
}

struct ConditionFunctions {
  CondWaitFunction* wait;
  CondFunction *signal, *broadcast, *destroy;
};

// ---- pthread and glibc-elision: glibc's functions. The first call that takes a lock notes that the program
// has locks, and then replaces itself by glibc's function.

template <class To, class From>
To* with_call_site_ignored(From* function) {
  // Casts through void*: the signatures differ only in an argument register that the callee does not read.
  return reinterpret_cast<To*>(reinterpret_cast<void*>(function));
}

/// The signature of an entry point that a function of glibc's can replace.
template <class... Arguments>
auto with_call_site(int (*)(Arguments...)) -> int (*)(Arguments..., const void* site);
template <class Signature, class Function>
constexpr bool is_alike = std::is_same_v<Signature*, decltype(with_call_site(Function()))>;
static_assert(is_alike<MutexFunction, decltype(Glibc::mutex_lock)>);
static_assert(!is_alike<CondWaitFunction, decltype(Glibc::cond_wait)>);

/// Replaces entry points by glibc's functions of like signature. A template because `requires` needs one.
template <class Functions>
void step_aside(const Functions& functions) {
#define ELISION_STEP_ASIDE(name, served_by, Signature)                            \
  if constexpr (requires { functions.name; }) {                                   \
    if constexpr (is_alike<Signature, decltype(functions.name)>) {                \
      if (functions.name != nullptr)                                              \
        entry_points.name.set(with_call_site_ignored<Signature>(functions.name)); \
    }                                                                             \
  }
  ELISION_ENTRY_POINTS(ELISION_STEP_ASIDE)
#undef ELISION_STEP_ASIDE
}

void see_lock() {
  __atomic_store_n(&process.region.header().locks_seen, 1, __ATOMIC_RELAXED);
  step_aside(glibc);
}

template <auto kFunction, class Object>
int first_call(Object* object, const void*) {
  see_lock();
  return (glibc.*kFunction)(object);
}
template <auto kFunction, class Object>
int first_timed_call(Object* object, clockid_t clock, const timespec* at, const void*) {
  see_lock();
  return kFunction(object, clock, at);
}
template <auto kFunction, class Object>
int forward(Object* object, const void*) {
  return (glibc.*kFunction)(object);
}

struct GlibcMutex {
  static constexpr auto lock = first_call<&Glibc::mutex_lock, pthread_mutex_t>;
  static constexpr auto trylock = first_call<&Glibc::mutex_trylock, pthread_mutex_t>;
  static constexpr auto clocklock = first_timed_call<glibc_clocklock, pthread_mutex_t>;
  static constexpr auto unlock = forward<&Glibc::mutex_unlock, pthread_mutex_t>;
  static constexpr auto destroy = forward<&Glibc::mutex_destroy, pthread_mutex_t>;
};

struct GlibcRwlock {
  static constexpr auto rdlock = first_call<&Glibc::rwlock_rdlock, pthread_rwlock_t>;
  static constexpr auto tryrdlock = first_call<&Glibc::rwlock_tryrdlock, pthread_rwlock_t>;
  static constexpr auto clockrdlock = first_timed_call<glibc_clockrdlock, pthread_rwlock_t>;
  static constexpr auto wrlock = first_call<&Glibc::rwlock_wrlock, pthread_rwlock_t>;
  static constexpr auto trywrlock = first_call<&Glibc::rwlock_trywrlock, pthread_rwlock_t>;
  static constexpr auto clockwrlock = first_timed_call<glibc_clockwrlock, pthread_rwlock_t>;
  static constexpr auto unlock = forward<&Glibc::rwlock_unlock, pthread_rwlock_t>;
  static constexpr auto destroy = forward<&Glibc::rwlock_destroy, pthread_rwlock_t>;
};

struct GlibcSpinlock {
  static constexpr auto lock = first_call<&Glibc::spin_lock, pthread_spinlock_t>;
  static constexpr auto trylock = first_call<&Glibc::spin_trylock, pthread_spinlock_t>;
  static constexpr auto unlock = forward<&Glibc::spin_unlock, pthread_spinlock_t>;
  static constexpr auto destroy = forward<&Glibc::spin_destroy, pthread_spinlock_t>;
};

struct GlibcConditions {
  static int wait_in_glibc(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, const void*) {
    return runtime::wait_in_glibc(cond, mutex, timeout);
  }
  static int wait_busily(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout,
                         const void* site) {
    return runtime::wait_busily(cond, mutex, timeout,
                                {with_call_site_ignored<MutexFunction>(glibc.mutex_lock),
                                 with_call_site_ignored<MutexFunction>(glibc.mutex_unlock), nullptr},
                                site);
  }
  static ConditionFunctions functions() {
    const bool busy = process.configuration.condition == ConditionKind::kBusy;
    return {busy ? wait_busily : wait_in_glibc, glibc.cond_signal, glibc.cond_broadcast, glibc.cond_destroy};
  }
};

struct GlibcBarrier {
  static constexpr bool kOurs = false;
  static constexpr auto wait = forward<&Glibc::barrier_wait, pthread_barrier_t>;
  static constexpr auto destroy = forward<&Glibc::barrier_destroy, pthread_barrier_t>;
  static constexpr auto team_wait = have_no_team_barrier;
  static constexpr auto team_moves = have_no_team_to_move;
};

struct NoTransactions {
  static constexpr bool kOurs = false;
  static int end_transactions() { return 0; }
  static int speculating() { return 0; }
};

void install_pthread() {
  install<GlibcMutex, GlibcRwlock, GlibcSpinlock, GlibcConditions, GlibcBarrier, NoTransactions>();
  // Under a race detector no entry point may change later: it would see one thread call what another
  // replaces.
  if (process.configuration.off) see_lock();
}

// ---- Our designs.

/// Condition variables under `Design` with the mutexes of `OnMutex`, in the three ways of
/// runtime/condition.h.
template <class Design, class OnMutex>
struct Conditions {
  static constexpr MutexOperations kMutex{&OnMutex::lock, &OnMutex::unlock, &OnMutex::is_held};

  static int wait_in_glibc(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout,
                           const void* site) {
    Design::require_real_locks(this_thread.transaction);
    if (!MutexKind(overlay_of(mutex).kind).is_ours()) return runtime::wait_in_glibc(cond, mutex, timeout);
    abi::ThreadActivity& activity = *known_thread().activity;
    activity.begin_to_wait_without(cond, site);
    const int result = runtime::wait_in_glibc(cond, mutex, timeout);
    activity.has_again(mutex, site);
    return result;
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
    // Without waiters a signal only reads, which a transaction may do. A wake-up would abort it.
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

  static ConditionFunctions functions() {
    const ConditionKind kind = process.configuration.condition;
    const bool aware = kind == ConditionKind::kAware || (kind == ConditionKind::kAuto && process.elides) ||
                       (kind != ConditionKind::kBusy && !Design::kGlibcMayLock);
    if (aware) return {wait_aware, notify_aware<false>, notify_aware<true>, destroy_aware};
    return {kind == ConditionKind::kBusy ? wait_busily : wait_in_glibc, notify_in_glibc<false>,
            notify_in_glibc<true>, glibc.cond_destroy};
  }

 private:
  /// Ends speculation before a wait. Ends a transaction too if it elides other locks than `mutex`, since the
  /// wait must not release those.
  static void give_up_unless_alone(pthread_mutex_t* mutex) {
    locks::TransactionContext& me = this_thread.transaction;
    if (Design::speculating() || (me.inside() && !me.has_only(&overlay_of(mutex).word)))
      Design::require_real_locks(me);
  }
};

/// Other operations that would abort a transaction, or that it must not undo.
template <class Design>
struct Transactions {
  static constexpr bool kOurs = true;
  static int end_transactions() {
    Design::require_real_locks(this_thread.transaction);
    return 0;
  }
  static int speculating() { return Design::speculating(); }
};

template <class Design>
void install_design_of_ours() {
  if (process.configuration.exclusive_rwlocks) {
    install<Mutex<Design>, Rwlock<Design, RwMode::kExclusive>, Spinlock<Design>,
            Conditions<Design, Mutex<Design>>, BarrierOf<Design>, Transactions<Design>>();
  } else {
    install<Mutex<Design>, Rwlock<Design, RwMode::kShared>, Spinlock<Design>,
            Conditions<Design, Mutex<Design>>, BarrierOf<Design>, Transactions<Design>>();
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
          Conditions<Glibc, typename Glibc::OnMutex>, BarrierOf<Glibc>, Transactions<Glibc>>();
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

/// The designs that wait by `Waiting` and do not speculate, or cannot on this CPU.
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
      return all_locks_are_glibcs() ? install_pthread() : install_glibc_speculating<Plainly, Waiting>();
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

ShortPathsOfDesign short_paths() {
  const Configuration& configuration = process.configuration;
  const abi::LockBase base = configuration.design.base;
  if (base == abi::LockBase::kPthread || process.elides ||
      process.always_abort != abi::AlwaysAbortKind::kNone)
    return {};
  ShortPathsOfDesign have{.rwlock = !configuration.exclusive_rwlocks, .spin = !configuration.wait_spins};
  if (base == abi::LockBase::kTatas && !configuration.wait_spins) have.mutex = ShortMutexes::kTatas;
  if (base == abi::LockBase::kTicket && !configuration.wait_spins) have.mutex = ShortMutexes::kTicket;
  return have;
}

}  // namespace

#define ELISION_BEFORE_SET_UP(name, served_by, Signature) \
  EntryPoint<Signature>(after_set_up<&EntryPoints::name>),
constinit EntryPoints entry_points{ELISION_ENTRY_POINTS(ELISION_BEFORE_SET_UP)};
#undef ELISION_BEFORE_SET_UP

constinit ShortPathsOfDesign short_paths_of_design{};

bool all_locks_are_glibcs() {
  const Configuration& configuration = process.configuration;
  return configuration.design.base == abi::LockBase::kPthread && !configuration.design.speculates() &&
         (!configuration.notes_glibc || configuration.off);
}

void install_design() {
  short_paths_of_design = short_paths();
  return process.configuration.wait_spins ? install_waiting<locks::Spin>() : install_waiting<locks::Park>();
}

void restart_design_in_child() {
  locks::reset_auxiliary_places();
  if (all_locks_are_glibcs()) install_pthread();
}

}  // namespace elision::runtime
