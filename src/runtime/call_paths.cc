// SPDX-License-Identifier: Apache-2.0
#include "runtime/call_paths.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "locks/recorder.h"
#include "locks/waiting.h"
#include "runtime/process.h"
#include "runtime/region.h"
#include "runtime/shared_file.h"
#include "runtime/thread_state.h"

namespace elision::runtime {

constinit CallPaths call_paths{};

namespace {

using abi::PathEvent;
using abi::PathSample;

constexpr int kSignal = SIGURG;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kPageBytes = 4096;

/// By slot: the kernel's number of the thread's timer, and 1; 0: none. It outlives its thread until the
/// slot's next one begins.
constinit std::int32_t timers[abi::kCounterSlots] = {};

/// In the order of DWARF's numbers.
constexpr int kContextRegisters[abi::kPathRegisters] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                        REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                        REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

void on_signal(int, siginfo_t* info, void* context) {
  // Others may send this signal, too.
  if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &call_paths) return;
  const int saved_errno = errno;
  call_paths.timer_signal(1 + static_cast<std::uint32_t>(std::max(info->si_overrun, 0)), context);
  errno = saved_errno;
}

/// False if the program handles the signal itself. To ignore it is what it does by default.
bool take_signal() {
  struct sigaction before {};
  if (sigaction(kSignal, nullptr, &before) != 0) return false;
  const bool is_free =
      (before.sa_flags & SA_SIGINFO) == 0 && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN);
  const bool is_ours = (before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction == on_signal;
  if (!is_free) return is_ours;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(kSignal, &action, nullptr) == 0;
}

/// A number below `limit` that differs from thread to thread and from run to run.
std::uint64_t phase_below(std::uint64_t limit, std::uint32_t thread_id) {
  std::uint64_t mixed = (locks::ticks() ^ thread_id) * 0x9e3779b97f4a7c15;
  mixed ^= mixed >> 32;
  return mixed % limit;
}

bool signal_is_blocked() {
  sigset_t blocked;
  // Of the calling thread, on Linux. pthread_sigmask() has a newer version in the C library.
  return sigprocmask(SIG_BLOCK, nullptr, &blocked) == 0 && sigismember(&blocked, kSignal) == 1;
}

/// Copies the stack from `from` on, as far as it is mapped: by the kernel, since a load from a page that is
/// not there would end the program. Where a sandbox forbids that, the rest of the page. By the thread's id,
/// since the process's own is no longer known once its first thread has ended.
std::uint32_t copy_stack(std::uint8_t* to, std::uint64_t from, std::uint32_t thread_id) {
  constexpr std::size_t kPages = PathSample::kStackBytes / kPageBytes + 2;
  iovec theirs[kPages];
  std::size_t count = 0;
  const std::size_t first = kPageBytes - from % kPageBytes;
  for (std::size_t at = 0; at < PathSample::kStackBytes;) {
    const std::size_t bytes = std::min(count == 0 ? first : kPageBytes, PathSample::kStackBytes - at);
    theirs[count++] = {reinterpret_cast<void*>(from + at), bytes};
    at += bytes;
  }
  iovec ours = {to, PathSample::kStackBytes};
  const long copied = syscall(SYS_process_vm_readv, thread_id, &ours, 1, theirs, count, 0);
  if (copied > 0) return static_cast<std::uint32_t>(copied);
  if (errno != ENOSYS && errno != EPERM) return 0;
  const std::size_t bytes = std::min(first, PathSample::kStackBytes);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(from), bytes, to);
  return static_cast<std::uint32_t>(bytes);
}

void on_wait(const abi::CounterEntry& entry, std::uint64_t ticks) { call_paths.waited(entry, ticks); }

}  // namespace

void CallPaths::set_up(const char* directory, long number, std::uint32_t frequency) {
  directory_ = directory;
  number_ = directory != nullptr ? number : -1;
  frequency_ = std::min(frequency, kMostFrequency);
}

/// A mapping here is the parent's file, which the child must not write.
void CallPaths::set_up_in_child(long number) {
  if (header_ != nullptr) munmap(header_, abi::kPathsFileBytes);
  header_ = nullptr;
  locks::wait_observer = nullptr;
  std::fill_n(timers, abi::kCounterSlots, 0);
  if (number_ >= 0) number_ = number;
  ring_.store(Ring::kNone, std::memory_order_relaxed);
}

void CallPaths::ensure_ring() {
  Ring ring = Ring::kNone;
  if (ring_.compare_exchange_strong(ring, Ring::kBeingMade, std::memory_order_acquire)) {
    make_ring();
    ring_.store(Ring::kThere, std::memory_order_release);
  }
  while (ring_.load(std::memory_order_acquire) == Ring::kBeingMade) sched_yield();
}

/// Without room there is no header.
void CallPaths::make_ring() {
  Line path = path_of_file(directory_, number_, abi::kPathsExtension);
  const int file = create_shared_file(path.c_str(), abi::kPathsFileBytes);
  if (file < 0) return;
  void* const memory = map_shared_file(file, abi::kPathsFileBytes, abi::kPathsFileBytes, nullptr);
  if (memory == MAP_FAILED) {
    unlink(path.c_str());
    return;
  }
  constexpr std::uint64_t kUsualKhz = 3'000'000;
  const std::uint64_t khz = process.cpu.tsc_khz != 0 ? process.cpu.tsc_khz : kUsualKhz;
  ticks_a_wait_ = khz * 1000 / frequency_;
  has_signal_ = take_signal();
  header_ = static_cast<abi::PathsHeader*>(memory);
  header_->version = abi::kPathsVersion;
  header_->process_id = static_cast<std::uint32_t>(getpid());
  header_->period_ns = kNsPerSecond / frequency_;
  header_->signal_in_use = !has_signal_;
  __atomic_store_n(&header_->magic, abi::kPathsMagic, __ATOMIC_RELEASE);
  locks::wait_observer = on_wait;
}

void CallPaths::thread_begins(std::uint32_t slot, std::uint32_t thread_id) {
  if (frequency_ == 0 || number_ < 0) return;
  const int saved_errno = errno;
  ensure_ring();
  if (header_ != nullptr) {
    this_thread.wait_since_sample = phase_below(ticks_a_wait_, thread_id);
    start_timer(slot, thread_id);
  }
  errno = saved_errno;
}

/// Threads of the shared slot have none.
void CallPaths::start_timer(std::uint32_t slot, std::uint32_t thread_id) const {
  if (!has_signal_) return;
  if (slot != 0 && timers[slot] != 0) syscall(SYS_timer_delete, timers[slot] - 1);
  timers[slot] = 0;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSignal;
  event.sigev_value.sival_ptr = &call_paths;
  event._sigev_un._tid = static_cast<pid_t>(thread_id);
  int timer = 0;
  // The C library's timer_create allocates.
  if (slot == 0 || signal_is_blocked() ||
      syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) {
    __atomic_fetch_add(&header_->timers_missing, 1, __ATOMIC_RELAXED);
    return;
  }
  timers[slot] = timer + 1;
  const std::uint64_t period = header_->period_ns, first = 1 + phase_below(period, thread_id);
  const auto span = [](std::uint64_t ns) {
    return timespec{static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
  };
  const itimerspec times = {span(period), span(first)};
  syscall(SYS_timer_settime, timer, 0, &times, nullptr);
}

abi::PathSample* CallPaths::claim(std::uint64_t& number) {
  number = __atomic_load_n(&header_->begun, __ATOMIC_RELAXED);
  do {
    if (number - __atomic_load_n(&header_->taken, __ATOMIC_ACQUIRE) >= abi::kPathSamples) {
      __atomic_fetch_add(&header_->lost, 1, __ATOMIC_RELAXED);
      return nullptr;
    }
  } while (!__atomic_compare_exchange_n(&header_->begun, &number, number + 1, true, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED));
  char* const first = reinterpret_cast<char*>(header_) + abi::kPathsHeaderBytes;
  return reinterpret_cast<abi::PathSample*>(first) + number % abi::kPathSamples;
}

void CallPaths::write(PathEvent event, std::uint64_t weight, const abi::SeenActivity& seen,
                      const std::uint64_t* registers) {
  std::uint64_t number = 0;
  PathSample* const sample = claim(number);
  if (sample == nullptr) return;
  sample->thread_id = static_cast<std::uint32_t>(this_thread.thread_id);
  sample->event = event;
  sample->weight = weight;
  sample->lock = seen.lock;
  sample->activity = static_cast<std::uint32_t>(seen.activity);
  std::copy_n(registers, abi::kPathRegisters, sample->registers);
  sample->stack_bytes = copy_stack(sample->stack, registers[abi::kDwarfRsp], sample->thread_id);
  __atomic_store_n(&sample->turn, number + 1, __ATOMIC_RELEASE);
}

void CallPaths::timer_signal(std::uint32_t expirations, const void* context) {
  if (header_ == nullptr) return;
  const greg_t* const saved = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  std::uint64_t registers[abi::kPathRegisters];
  for (std::size_t i = 0; i < abi::kPathRegisters; ++i)
    registers[i] = static_cast<std::uint64_t>(saved[kContextRegisters[i]]);
  write(PathEvent::kCpuTime, expirations, abi::seen_activity(*this_thread.activity), registers);
}

/// Keeps the registers that the caller's frames need: those that a call preserves.
[[gnu::noinline]] void CallPaths::waited(const abi::CounterEntry& entry, std::uint64_t ticks) {
  if (header_ == nullptr) return;
  std::uint64_t& since = this_thread.wait_since_sample;
  since += ticks;
  if (since < ticks_a_wait_) return;
  std::uint64_t registers[abi::kPathRegisters] = {};
  __asm__ volatile(
      "movq %%rbx, 24(%0)\n\t"
      "movq %%rbp, 48(%0)\n\t"
      "movq %%rsp, 56(%0)\n\t"
      "movq %%r12, 96(%0)\n\t"
      "movq %%r13, 104(%0)\n\t"
      "movq %%r14, 112(%0)\n\t"
      "movq %%r15, 120(%0)\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "1: movq %%rax, 128(%0)\n\t"
      :
      : "r"(registers)
      : "rax", "memory");
  const std::uint64_t weight = since;
  since = 0;
  const int saved_errno = errno;
  write(PathEvent::kWait, weight, {abi::Activity::kWaiting, entry.lock, entry.site}, registers);
  errno = saved_errno;
}

}  // namespace elision::runtime
