// SPDX-License-Identifier: Apache-2.0
// Interrupts and signals: the transaction aborts first; then they are delivered, with the registers of the
// fallback.
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

#include "rtm_rules.h"

namespace {

using namespace rules;

extern "C" {
extern char rules_inside[], rules_fallback[];
}

constexpr std::uint64_t kBefore = 0x5a5a5a5a5a5a, kInside = 0xa5a5a5a5a5a5;

/// On silicon the transaction may abort for another reason before the signal; on the virtual CPU it does not.
const std::uint32_t kOtherCauses = on_virtual_cpu() ? 0 : Status::kConflictBit | Status::kCapacityBit;

/// An interrupt gives status 0 or only the retry bit.
bool is_wrong(std::uint32_t status) { return (status & ~(Status::kRetryBit | kOtherCauses)) != 0; }

struct alignas(4096) {
  volatile int arrived = 0;
  volatile int at_fallback = 0;
  const char* volatile wrong = nullptr;
} handled;
alignas(4096) volatile std::uint64_t word;  // not the sender's word, which would be a conflict

void on_signal(int, siginfo_t*, void* context) {
  if (Rtm::in_transaction()) handled.wrong = "the handler runs in a transaction";
  const greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto rip = static_cast<std::uint64_t>(registers[REG_RIP]);
  const auto inside = reinterpret_cast<std::uint64_t>(rules_inside);
  const auto fallback = reinterpret_cast<std::uint64_t>(rules_fallback);
  if (rip >= inside && rip < fallback) handled.wrong = seen("RIP is %lu bytes behind XBEGIN", rip - inside);
  if (rip == fallback) {
    const auto status = static_cast<std::uint32_t>(registers[REG_RAX]);
    if ((status & kOtherCauses) == 0) handled.at_fallback = handled.at_fallback + 1;
    if (static_cast<std::uint64_t>(registers[REG_RBX]) != kBefore) handled.wrong = "RBX is the transaction's";
    if (is_wrong(status)) handled.wrong = seen("status %#x", status);
  }
  if (word != 1) handled.wrong = "memory is the transaction's";
  handled.arrived = handled.arrived + 1;
}

/// Runs endless transactions, each of which a signal or a timer interrupt must abort, until `wanted` signals
/// have been delivered at the fallback.
const char* endless_transactions(int wanted) {
  while (handled.at_fallback < wanted && handled.wrong == nullptr && handled.arrived < 100 * wanted) {
    std::uint64_t rbx = kBefore;
    const int before = handled.arrived;
    asm volatile(
        "2: xbegin rules_fallback\n"
        "rules_inside:\n"
        "mov %3, %%rbx\n"
        "movq $2, %1\n"
        "3: jmp 3b\n"
        "rules_fallback:\n"
        "cmp %4, %2\n"
        "je 2b"
        : "+b"(rbx), "+m"(word), "+m"(handled.arrived)
        : "r"(kInside), "r"(before)
        : "rax", "memory", "cc");
    if (rbx != kBefore) return "RBX is the transaction's";
  }
  if (handled.wrong != nullptr) return handled.wrong;
  return handled.at_fallback >= wanted
             ? nullptr
             : seen("%d of %d at the fallback", handled.at_fallback, handled.arrived);
}

template <class Run>
const char* with_handler(int signal, Run run) {
  struct sigaction action {
  }, before;
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  word = 1;
  handled.arrived = 0;
  handled.at_fallback = 0;
  handled.wrong = nullptr;
  sigaction(signal, &action, &before);
  const char* wrong = run();
  sigaction(signal, &before, nullptr);
  return wrong;
}

const char* timer_signal() {
  return with_handler(SIGALRM, [] {
    const itimerval every = {{0, 3000}, {0, 3000}}, never = {};
    setitimer(ITIMER_REAL, &every, nullptr);
    const char* wrong = endless_transactions(5);
    setitimer(ITIMER_REAL, &never, nullptr);
    return wrong;
  });
}

const char* thread_signal() {
  return with_handler(SIGUSR1, [] {
    const auto process = getpid();
    const auto thread = syscall(SYS_gettid);
    // One at a time, each some time after the arrival of the last, so that the other thread begins its
    // transaction.
    Other sender([process, thread] {
      static int sent = 0;
      for (int i = 0; i < 20000; ++i) asm volatile("");
      if (handled.arrived >= sent) syscall(SYS_tgkill, process, thread, SIGUSR1), ++sent;
    });
    return endless_transactions(5);
  });
}

const char* timer_interrupt() {
  for (int i = 0; i < 3; ++i) {
    std::uint32_t status;
    asm volatile("xbegin 1f\n2: jmp 2b\n1:" : "=a"(status) : : "memory");
    if (is_wrong(status)) return seen("status %#x", status);
  }
  return nullptr;
}

const Case kCases[] = {
    {"a timer interrupt ends an endless transaction", "17.3.9.2", Where::kEverywhere, timer_interrupt},
    {"a timer's signal is delivered behind the abort", "17.3.9.2", Where::kEverywhere, timer_signal},
    {"another thread's signal is delivered behind the abort", "17.3.9.2", Where::kTwoCpus, thread_signal},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
