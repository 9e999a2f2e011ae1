// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the RTM rules (rtm_*.cc): a table of named cases, each with its section of Intel's
// manual (SDM Vol. 1, chapter 17, or an instruction's page in Vol. 2).
//
//     PROGRAM [--list]
//
// prints one line per case, "name (section): ok" or the wrong result, and ends with 1 if any failed. If
// transactions do not commit here, it ends with 77. Cases whose result depends on the machine run only on the
// virtual CPU; cases with a second thread are left out if there is only one CPU.
//
// No case depends on speed: a transaction that waits for another thread's access waits for ever, and a timer
// interrupt ends a wait in vain.
#pragma once

#include <cpuid.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <thread>

#include "abi/virtual_cpu.h"
#include "base/usable_cpus.h"
#include "htm/cpu_kind.h"
#include "htm/rtm.h"

namespace rules {

using elision::htm::Rtm;
using elision::htm::Status;

enum class Where { kEverywhere, kTwoCpus, kVirtual, kTwoVirtualCpus, kWithoutRtm };

/// A case returns null if the rule holds, else the wrong result.
struct Case {
  const char* name;
  const char* section;
  Where where;
  std::function<const char*()> run;
};

inline constexpr int kSkipped = 77;
/// Enough tries, since accidental aborts are rare.
inline constexpr int kTries = 1000;

/// The wrong result as text.
[[gnu::format(printf, 1, 2)]] inline const char* seen(const char* format, ...) {
  static char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

struct Registers {
  unsigned eax, ebx, ecx, edx;
};
inline Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r{};
  __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

inline bool on_virtual_cpu() {
  const Registers r = cpuid(elision::abi::kVirtualCpuLeaf);
  return r.ebx == elision::abi::kVirtualCpuSignatureEbx && r.ecx == elision::abi::kVirtualCpuSignatureEcx &&
         r.edx == elision::abi::kVirtualCpuSignatureEdx;
}

/// Fast mode has no page faults. The environment tells.
inline bool in_fast_mode() { return std::getenv("ELISION_FAST_MODE") != nullptr; }

inline bool cpuid_has_rtm() { return cpuid(0).eax >= 7 && (cpuid(7).ebx >> 11 & 1) != 0; }

inline bool pin_to(unsigned cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
}

/// One PAUSE.
inline void relax() { asm volatile("pause" ::: "memory"); }

/// Separate lines, far enough apart that the prefetcher does not treat them as neighbours.
struct alignas(4096) Page {
  volatile std::uint64_t word[512] = {};
};

/// A load that the compiler keeps.
inline std::uint64_t load(const volatile std::uint64_t& word) { return word; }

/// Runs `body` as a transaction until it commits or has aborted `tries` times. Returns the last status.
template <class Body>
Status transaction(Body body, int tries = kTries) {
  Status last;
  for (int i = 0; i < tries; ++i) {
    last = Rtm::begin();
    if (!last.started()) continue;
    body();
    Rtm::commit();
    return last;
  }
  return last;
}

/// While this lives, a second thread repeats `step`. It has begun when the constructor returns.
class Other {
 public:
  template <class Step>
  explicit Other(Step step)
      : thread_([this, step] {
          while (!stop_.load(std::memory_order_relaxed)) {
            step();
            steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
          }
        }) {
    while (steps() == 0) relax();
  }
  ~Other() {
    stop_ = true;
    thread_.join();
  }
  std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

 private:
  alignas(4096) std::atomic<bool> stop_{false};
  alignas(4096) std::atomic<std::uint64_t> steps_{0};
  alignas(4096) std::thread thread_;
};

/// Counts signals and skips the code that raised them.
namespace signals {
inline sigjmp_buf escape;
inline volatile sig_atomic_t last = 0;
inline volatile sig_atomic_t count = 0;
inline siginfo_t info;
inline std::uint64_t rip;

inline void on_signal(int number, siginfo_t* details, void* context) {
  last = number;
  count = count + 1;
  info = *details;
  rip = static_cast<std::uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  siglongjmp(escape, 1);
}

/// The signal that `body` raises; 0 if it ends.
template <class Body>
int raised_by(Body body) {
  static constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
  struct sigaction action {
  }, before[std::size(kFatal)];
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  for (unsigned i = 0; i < std::size(kFatal); ++i) sigaction(kFatal[i], &action, &before[i]);
  last = 0;
  if (sigsetjmp(escape, 1) == 0) body();
  for (unsigned i = 0; i < std::size(kFatal); ++i) sigaction(kFatal[i], &before[i], nullptr);
  return last;
}
}  // namespace signals

/// One transaction around the instructions `text`: EAX after it is all ones if it has committed, else the
/// status. The instructions may use RBX, RCX, RDX, RSI, RDI, R8 to R11 and the vectors 0 to 3; RDI points at
/// `memory`.
#define RULES_TRANSACTION(status, memory, text)                                                          \
  do {                                                                                                   \
    void* rules_memory = (memory);                                                                       \
    asm volatile("mov $-1, %%eax\nxbegin 1f\n" text "\nxend\nmov $-1, %%eax\n1:\n"                       \
                 : "=&a"(status), "+D"(rules_memory)                                                     \
                 :                                                                                       \
                 : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", \
                   "memory", "cc");                                                                      \
  } while (0)

inline int list(std::span<const Case> cases) {
  for (const Case& one : cases) std::printf("%s|%s\n", one.name, one.section);
  return 0;
}

/// True if the case is to run here.
inline bool applies(const Case& one, bool has_rtm, bool is_virtual) {
  switch (one.where) {
    case Where::kEverywhere:
      return has_rtm;
    case Where::kTwoCpus:
      return has_rtm && elision::usable_cpus() >= 2;
    case Where::kVirtual:
      return has_rtm && is_virtual;
    case Where::kTwoVirtualCpus:
      return has_rtm && is_virtual && elision::usable_cpus() >= 2;
    case Where::kWithoutRtm:
      return !cpuid_has_rtm();
  }
  return false;
}

inline int run(int argc, char** argv, std::span<const Case> cases) {
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) return list(cases);
  const elision::htm::CpuFeatures cpu = elision::htm::detect_cpu();
  std::puts(elision::htm::kind_of(cpu));
  const bool has_rtm = cpu.has_rtm;
  const bool is_virtual = on_virtual_cpu();
  int failed = 0, passed = 0;
  for (const Case& one : cases) {
    if (!applies(one, has_rtm, is_virtual)) continue;
    const char* wrong = one.run();
    std::printf("%s (%s): %s\n", one.name, one.section, wrong == nullptr ? "ok" : wrong);
    std::fflush(stdout);
    wrong == nullptr ? ++passed : ++failed;
  }
  if (failed > 0) return 1;
  if (passed > 0) return 0;
  std::puts("skipped: no rule can be checked on this CPU");
  return kSkipped;
}

}  // namespace rules
