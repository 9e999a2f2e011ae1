// SPDX-License-Identifier: Apache-2.0
// Installs handlers by the raw system call: the C library reserves signals 32 and 33, which the guest's C
// library needs.
#include "vm/host/host_signals.h"

#include <unistd.h>

#include <atomic>
#include <ctime>

#include "vm/host/host_call.h"
#include "vm/host/host_helper.h"

extern "C" void elision_signal_restorer();

asm(R"(
.pushsection .text
.p2align 4
.globl elision_signal_restorer
.hidden elision_signal_restorer
.type elision_signal_restorer, @function
  nop
elision_signal_restorer:
  mov $15, %eax
  syscall
.size elision_signal_restorer, .-elision_signal_restorer
.popsection
)");

namespace elision::vm {
namespace {

constexpr unsigned kCapacity = 1024;
constexpr std::uint64_t kRestorerFlag = 0x04000000;  // SA_RESTORER
constexpr int kImpatience = 3;

// Single producer (the handler, which runs with every signal blocked), single consumer (the kernel).
siginfo_t g_recorded[kCapacity];
std::atomic<unsigned> g_write{0};
std::atomic<unsigned> g_read{0};
std::atomic<int> g_deadly_arrivals{0};

// The timer that runs while a deadly signal waits; -1: none.
constexpr timespec kPatience{1, 0};
std::atomic<int> g_watch{-1};
std::uint64_t g_progress_seen = 0;
std::uint64_t (*g_progress)() = nullptr;

std::uint64_t progress() { return g_progress != nullptr ? g_progress() : 0; }

/// The timer sends the deadly signal again, as one of its own (is_from_watch).
void start_watch(int signal) {
  if (g_watch.load() >= 0) return;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = &g_watch;
  int timer = -1;
  if (host_call(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, reinterpret_cast<std::uint64_t>(&event),
                reinterpret_cast<std::uint64_t>(&timer)) != 0)
    return;
  g_progress_seen = progress();
  g_watch.store(timer);
  const itimerspec period{kPatience, kPatience};
  host_call(SYS_timer_settime, timer, 0, reinterpret_cast<std::uint64_t>(&period), 0);
}

void stop_watch() {
  if (const int timer = g_watch.exchange(-1); timer >= 0) host_call(SYS_timer_delete, timer);
}

bool is_from_watch(const siginfo_t& info) { return info.si_code == SI_TIMER && info.si_ptr == &g_watch; }

void look_at_progress(int signal) {
  if (g_watch.load() < 0) return;
  const std::uint64_t now = progress();
  if (now == g_progress_seen) {
    static const char kMessage[] = "elision vm: internal error: the engine hangs, and the signal ends it\n";
    host_call(SYS_write, STDERR_FILENO, reinterpret_cast<std::uint64_t>(kMessage), sizeof kMessage - 1);
    die_by_host_signal(signal);
  }
  g_progress_seen = now;
}

bool is_deadly_by_hand(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGQUIT; }

void handle(int, siginfo_t* info, void* context) {
  if (!cancels_helper(*info, static_cast<ucontext_t*>(context))) record_host_signal(*info, context);
}

}  // namespace

void set_host_action(int signal, HostAction action, int flags) {
  if (is_synchronous(signal) || signal == SIGKILL || signal == SIGSTOP) return;
  if (signal == kCancelSignal) action = HostAction::kRecord;  // helpers need it, whatever the guest's action
  SignalAction host;
  host.flags = kRestorerFlag | static_cast<std::uint64_t>(flags);
  host.restorer = reinterpret_cast<std::uint64_t>(&elision_signal_restorer);
  if (action == HostAction::kIgnore) host.handler = reinterpret_cast<std::uint64_t>(SIG_IGN);
  if (action == HostAction::kRecord) {
    host.handler = reinterpret_cast<std::uint64_t>(&handle);
    host.flags |= SA_SIGINFO | SA_ONSTACK;
    host.mask.bits = ~0ull;
  }
  host_call(SYS_rt_sigaction, signal, reinterpret_cast<std::uint64_t>(&host), 0, sizeof(SignalSet));
}

bool host_ignores(int signal) {
  SignalAction host;
  host_call(SYS_rt_sigaction, signal, 0, reinterpret_cast<std::uint64_t>(&host), sizeof(SignalSet));
  return host.handler == reinterpret_cast<std::uint64_t>(SIG_IGN);
}

void record_host_signal(const siginfo_t& info, void* context) {
  if (is_from_watch(info)) return look_at_progress(info.si_signo);
  if (is_deadly_by_hand(info.si_signo)) {
    if (g_deadly_arrivals.fetch_add(1) + 1 >= kImpatience) die_by_host_signal(info.si_signo);
    start_watch(info.si_signo);
  }
  const unsigned write = g_write.load(std::memory_order_relaxed);
  if (write - g_read.load(std::memory_order_acquire) < kCapacity) {
    g_recorded[write % kCapacity] = info;
    g_write.store(write + 1, std::memory_order_release);
  }
  elision_host_signal_recorded = 1;
  if (context != nullptr) interrupt_host_call(static_cast<ucontext_t*>(context));
}

void watch_progress(std::uint64_t (*progress)()) { g_progress = progress; }

bool host_signal_recorded() { return elision_host_signal_recorded != 0; }

std::optional<siginfo_t> take_host_signal() {
  // Cleared before looking, so that a signal in between sets it again.
  elision_host_signal_recorded = 0;
  g_deadly_arrivals.store(0);
  stop_watch();
  const unsigned read = g_read.load(std::memory_order_relaxed);
  if (read == g_write.load(std::memory_order_acquire)) return std::nullopt;
  const siginfo_t info = g_recorded[read % kCapacity];
  g_read.store(read + 1, std::memory_order_release);
  return info;
}

void clear_host_signals() {
  g_watch.store(-1);  // the timer is the parent's
  g_read.store(g_write.load());
  elision_host_signal_recorded = 0;
}

SignalSet get_host_mask() {
  SignalSet mask;
  host_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<std::uint64_t>(&mask), sizeof mask);
  return mask;
}

void set_host_mask(SignalSet mask) {
  host_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<std::uint64_t>(&mask), 0, sizeof mask);
}

void die_by_host_signal(int signal) {
  SignalAction host;  // SIG_DFL
  host_call(SYS_rt_sigaction, signal, reinterpret_cast<std::uint64_t>(&host), 0, sizeof(SignalSet));
  const auto self = static_cast<std::uint64_t>(host_call(SYS_getpid));
  host_call(SYS_kill, self, signal);
  set_host_mask({~SignalSet::of(signal).bits});
  for (;;) host_call(SYS_exit_group, 128 + signal);
}

}  // namespace elision::vm
