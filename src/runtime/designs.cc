// SPDX-License-Identifier: Apache-2.0
#include "runtime/designs.h"

#include "htm/always_abort.h"
#include "htm/rtm.h"
#include "runtime/condition.h"
#include "runtime/mutex.h"

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

// ---- pthread: glibc's functions. The first lock says that the program has locks, then steps aside.

template <class To, class From>
To* with_call_site_ignored(From* function) {
  // By way of void*: the two signatures differ only in an argument register that the callee leaves alone.
  return reinterpret_cast<To*>(reinterpret_cast<void*>(function));
}

using SiteFunction = int(pthread_mutex_t*, const void*);

void see_lock() {
  __atomic_store_n(&process.region.header().locks_seen, 1, __ATOMIC_RELAXED);
  entry_points.lock.set(with_call_site_ignored<SiteFunction>(glibc.mutex_lock));
  entry_points.trylock.set(with_call_site_ignored<SiteFunction>(glibc.mutex_trylock));
}
int first_lock(pthread_mutex_t* mutex, const void*) {
  see_lock();
  return glibc.mutex_lock(mutex);
}
int first_trylock(pthread_mutex_t* mutex, const void*) {
  see_lock();
  return glibc.mutex_trylock(mutex);
}
int forward_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* at, const void*) {
  see_lock();
  return glibc.mutex_clocklock(mutex, clock, at);
}
int forward_cond_wait(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, const void*) {
  return wait_in_glibc(cond, mutex, timeout);
}
int never_speculating() { return 0; }

void install_pthread() {
  entry_points.unlock.set(with_call_site_ignored<SiteFunction>(glibc.mutex_unlock));
  entry_points.destroy.set(glibc.mutex_destroy);
  entry_points.cond_wait.set(forward_cond_wait);
  entry_points.cond_signal.set(glibc.cond_signal);
  entry_points.cond_broadcast.set(glibc.cond_broadcast);
  entry_points.speculating.set(never_speculating);
  entry_points.clocklock.set(forward_clocklock);
  entry_points.trylock.set(first_trylock);
  entry_points.lock.set(first_lock);
}

// ---- Our designs.

template <class Design>
struct Condition {
  static int wait(pthread_cond_t* cond, pthread_mutex_t* mutex, CondTimeout timeout, const void* site) {
    Design::require_real_locks();
    if (Design::kGlibcMayLock || !MutexKind(overlay_of(mutex).kind).is_ours()) {
      return wait_in_glibc(cond, mutex, timeout);
    }
    return wait_at_gate(cond, mutex, timeout, {&Mutex<Design>::lock, &Mutex<Design>::unlock}, site);
  }
  static int signal(pthread_cond_t* cond) { return wake(cond, glibc.cond_signal, signal_at_gate); }
  static int broadcast(pthread_cond_t* cond) { return wake(cond, glibc.cond_broadcast, broadcast_at_gate); }

 private:
  static int wake(pthread_cond_t* cond, int (*in_glibc)(pthread_cond_t*), int (*at_gate)(pthread_cond_t*)) {
    if (Design::speculating()) return 0;
    if (!Design::kGlibcMayLock) return at_gate(cond);
    // With nobody waiting a signal is a read, which a transaction may contain; a wake-up is not.
    if (has_waiters(cond)) Design::require_real_locks();
    return in_glibc(cond);
  }
};

template <class Design>
void install() {
  entry_points.unlock.set(Mutex<Design>::unlock);
  entry_points.destroy.set(Mutex<Design>::destroy);
  entry_points.cond_wait.set(Condition<Design>::wait);
  entry_points.cond_signal.set(Condition<Design>::signal);
  entry_points.cond_broadcast.set(Condition<Design>::broadcast);
  entry_points.speculating.set(Mutex<Design>::speculating);
  entry_points.clocklock.set(Mutex<Design>::clocklock);
  entry_points.trylock.set(Mutex<Design>::trylock);
  entry_points.lock.set(Mutex<Design>::lock);
}

/// The designs that wait by `Waiting`.
template <class Waiting>
void install_waiting() {
  using abi::AlwaysAbortKind;
  const bool tickets = process.configuration.base == Base::kTicket;
  if (process.elides) return install<ElidedDesign<htm::Rtm, Waiting, kSubscription>>();
  if (process.always_abort == AlwaysAbortKind::kVirtualCpu) {
    return tickets ? install<TicketAahtmDesign<htm::VirtualAlwaysAbort, Waiting>>()
                   : install<TatasAahtmDesign<htm::VirtualAlwaysAbort, Waiting>>();
  }
  if (process.always_abort == AlwaysAbortKind::kNestedRtm) {
    return tickets ? install<TicketAahtmDesign<htm::NestedRtm, Waiting>>()
                   : install<TatasAahtmDesign<htm::NestedRtm, Waiting>>();
  }
  return tickets ? install<TicketDesign<Waiting>>() : install<TatasDesign<Waiting>>();
}

}  // namespace

constinit EntryPoints entry_points{
    EntryPoint<int(pthread_mutex_t*, const void*)>(after_set_up<&EntryPoints::lock>),
    EntryPoint<int(pthread_mutex_t*, const void*)>(after_set_up<&EntryPoints::trylock>),
    EntryPoint<int(pthread_mutex_t*, clockid_t, const timespec*, const void*)>(
        after_set_up<&EntryPoints::clocklock>),
    EntryPoint<int(pthread_mutex_t*, const void*)>(after_set_up<&EntryPoints::unlock>),
    EntryPoint<int(pthread_mutex_t*)>(after_set_up<&EntryPoints::destroy>),
    EntryPoint<int(pthread_cond_t*, pthread_mutex_t*, CondTimeout, const void*)>(
        after_set_up<&EntryPoints::cond_wait>),
    EntryPoint<int(pthread_cond_t*)>(after_set_up<&EntryPoints::cond_signal>),
    EntryPoint<int(pthread_cond_t*)>(after_set_up<&EntryPoints::cond_broadcast>),
    EntryPoint<int()>(after_set_up<&EntryPoints::speculating>),
};

void install_design() {
  if (process.configuration.base == Base::kPthread) return install_pthread();
  return process.configuration.wait_spins ? install_waiting<locks::Spin>() : install_waiting<locks::Park>();
}

bool design_has_fast_path() {
  const Configuration& configuration = process.configuration;
  return configuration.base != Base::kPthread && configuration.base != Base::kTicket &&
         !configuration.wait_spins && !process.elides && process.always_abort == abi::AlwaysAbortKind::kNone;
}

void restart_design_in_child() {
  reset_gates();
  if (process.configuration.base == Base::kPthread) install_pthread();
}

}  // namespace elision::runtime
