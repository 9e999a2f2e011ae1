// SPDX-License-Identifier: Apache-2.0
// A critical section under pthread's mutex or under another library's elided lock, chosen at build time. A
// Guard holds the lock while it lives.
//
//  - PthreadLock: pthread_mutex_t. It is glibc's, glibc's elided one
//    (GLIBC_TUNABLES=glibc.elision.enable=1), or that of the preloaded library.
//  - TbbLock: oneTBB's speculative_spin_mutex, which checks CPUID for RTM (WORKLOADS_HAVE_TBB).
//  - CkLock: Concurrency Kit's spinlock, elided with its adaptive policy and its default configuration
//    (WORKLOADS_HAVE_CK).
//  - the locks without elision of spin_forms.h.
//
// Debian builds Concurrency Kit without RTM. Its elision is in headers, so we enable it here. It executes
// XBEGIN without checking CPUID, so a program calls is_usable() first.
#pragma once

#include <pthread.h>

#include <type_traits>

#ifdef WORKLOADS_HAVE_TBB
#include <oneapi/tbb/spin_mutex.h>
#endif
#ifdef WORKLOADS_HAVE_CK
#include <climits>
#define CK_MD_RTM_ENABLE
#include <ck_elide.h>
#include <spinlock/fas.h>  // ck_spinlock.h is not C++

#include "htm/cpu.h"
#if !defined(CK_F_PR_RTM) && !defined(__clang_analyzer__)  // which Concurrency Kit hides RTM from
#error "this Concurrency Kit has no RTM"
#endif
#endif

#include "spin_forms.h"  // behind ck_elide.h, which has to know that RTM is wanted

namespace workloads {

struct PthreadLock {
  /// The lock's state in each thread.
  struct PerThread {};

  class Guard {
   public:
    Guard(PthreadLock& lock, PerThread&) : lock_(lock) { pthread_mutex_lock(&lock_.mutex); }
    ~Guard() { pthread_mutex_unlock(&lock_.mutex); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    PthreadLock& lock_;
  };

  static bool is_usable() { return true; }

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};

#ifdef WORKLOADS_HAVE_TBB
struct TbbLock {
  static_assert(!std::is_same_v<tbb::speculative_spin_mutex, tbb::spin_mutex>,
                "built without -mrtm, oneTBB's speculative_spin_mutex does not speculate");
  struct PerThread {};

  class Guard {
   public:
    Guard(TbbLock& lock, PerThread&) : guard_(lock.mutex) {}

   private:
    tbb::speculative_spin_mutex::scoped_lock guard_;
  };

  static bool is_usable() { return true; }

  tbb::speculative_spin_mutex mutex;
};
#endif

#ifdef WORKLOADS_HAVE_CK
struct CkLock {
  struct PerThread {
    ck_elide_stat_t statistics = CK_ELIDE_STAT_INITIALIZER;
    ck_elide_config configuration = CK_ELIDE_CONFIG_DEFAULT_INITIALIZER;
  };

  class Guard {
   public:
    Guard(CkLock& lock, PerThread& own) : lock_(lock), own_(own) {
      CK_ELIDE_LOCK_ADAPTIVE(ck_spinlock_fas, &own_.statistics, &own_.configuration, &lock_.spinlock);
    }
    ~Guard() { CK_ELIDE_UNLOCK_ADAPTIVE(ck_spinlock_fas, &own_.statistics, &lock_.spinlock); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    CkLock& lock_;
    PerThread& own_;
  };

  static bool is_usable() { return elision::htm::detect_cpu().has_rtm; }

  ck_spinlock_fas_t spinlock = CK_SPINLOCK_FAS_INITIALIZER;
};
#endif

}  // namespace workloads
