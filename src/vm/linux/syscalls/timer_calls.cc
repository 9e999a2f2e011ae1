// SPDX-License-Identifier: Apache-2.0
// A timerfd is an eventfd to which each virtual expiry adds 1. A read returns the number of expiries and
// resets it, and poll finds it readable.
#include "vm/linux/syscalls/timer_calls.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/host/host_limits.h"
#include "vm/host/reserved_descriptors.h"
#include "vm/linux/events/event_descriptors.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/signals/signal_delivery.h"
#include "vm/linux/syscalls/guest_call.h"
#include "vm/linux/syscalls/thread_calls.h"

namespace elision::vm {
namespace {

// Keys of VirtualTimers: interval timers by number, then POSIX timers, then descriptors.
constexpr VirtualTimers::Key kPosixTimers = 1000;
constexpr VirtualTimers::Key kDescriptorTimers = 1'000'000;

constexpr int kIntervalSignals[] = {SIGALRM, SIGVTALRM, SIGPROF};

std::optional<Nanoseconds> from_timeval(const timeval& value) {
  if (value.tv_sec < 0 || value.tv_usec < 0 || value.tv_usec >= 1'000'000) return std::nullopt;
  return static_cast<Nanoseconds>(value.tv_sec) * kNanosecondsPerSecond +
         static_cast<Nanoseconds>(value.tv_usec) * 1000;
}

Nanoseconds remaining(Call& call, const VirtualTimers::Setting& setting) {
  const Nanoseconds now = call.services().now(call.thread());
  if (setting.expires == 0) return 0;
  return setting.expires > now ? setting.expires - now : 1;  // 0 would mean "not armed"
}

siginfo_t timer_signal(int signal, int code) {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = code;
  return info;
}

bool is_cpu_clock(int clock) {
  return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || clock < 0;
}

/// Time to expiry and interval of a timer of either kind.
VirtualTimers::Setting left_of(Call& call, VirtualTimers::Key key) {
  if (const auto left = call.process.cpu_timers.left(key)) return *left;
  const VirtualTimers::Setting setting = call.process.timers.get(key);
  return {remaining(call, setting), setting.interval};
}

void arm_interval_timer(Call& call, unsigned which, Nanoseconds value, Nanoseconds interval) {
  Process& process = call.process;
  const auto action = [&process, which] {
    post_to_process(process, timer_signal(kIntervalSignals[which], SI_KERNEL));
  };
  VirtualTimers::Setting setting;
  if (which == ITIMER_REAL) {
    if (value != 0) setting = {deadline_after(process, call.self, value), interval};
    return process.timers.set(call.services(), which, setting, action);
  }
  if (value != 0) setting = {process_cpu_time(process) + value, interval};
  process.cpu_timers.set(
      which, setting, [&process] { return process_cpu_time(process); }, action);
}

using LoadedSetting = OrErrno<VirtualTimers::Setting>;

/// The guest's itimerspec as a setting; `expires_at` says when a timer expires that is set to a value.
template <class ExpiresAt>
LoadedSetting load_itimerspec(std::uint64_t address, const ExpiresAt& expires_at) {
  const auto interval = load_timespec(address), value = load_timespec(address + sizeof(timespec));
  if (!interval) return interval.failure();
  if (!value) return value.failure();
  if (*value == 0) return VirtualTimers::Setting{};
  return VirtualTimers::Setting{expires_at(*value), *interval};
}

LoadedSetting load_setting(Call& call, std::uint64_t address, bool absolute, int clock) {
  return load_itimerspec(address, [&](Nanoseconds value) {
    const Nanoseconds at = absolute ? deadline_at(call.process, call.self, clock, value)
                                    : deadline_after(call.process, call.self, value);
    return std::max<Nanoseconds>(at, 1);
  });
}

/// The same for a timer of a CPU clock, which shows `now`.
LoadedSetting load_cpu_setting(std::uint64_t address, bool absolute, Nanoseconds now) {
  return load_itimerspec(address, [&](Nanoseconds value) { return absolute ? value : now + value; });
}

/// Reads the CPU clock of a timer.
std::function<Nanoseconds()> clock_of(Process& process, const PosixTimer& timer) {
  return [&process, clock = timer.clock, owner = timer.owner]() -> Nanoseconds {
    if (clock != CLOCK_THREAD_CPUTIME_ID)
      return read_clock(process, *process.threads.front(), clock).value_or(0);
    KernelThread* const thread = find_thread(process, owner);
    return thread != nullptr ? thread_cpu_time(process, *thread) : 0;
  };
}

bool store_setting(Call& call, std::uint64_t address, VirtualTimers::Key key) {
  const VirtualTimers::Setting left = left_of(call, key);
  return store_guest(address, itimerspec{to_timespec(left.interval), to_timespec(left.expires)});
}

bool waits_in(const PendingSignals& pending, int timer) {
  return std::any_of(pending.all().begin(), pending.all().end(), [&](const siginfo_t& info) {
    return info.si_code == SI_TIMER && info.si_timerid == timer;
  });
}

void expire_posix_timer(Process& process, int id, PosixTimer& timer) {
  KernelThread* const target = timer.thread != 0 ? find_thread(process, timer.thread) : nullptr;
  if (waits_in(target != nullptr ? target->pending : process.pending, id)) {
    ++timer.overruns;
    return;
  }
  siginfo_t info = timer_signal(timer.signal, SI_TIMER);
  info.si_timerid = id;
  info.si_value.sival_ptr = reinterpret_cast<void*>(timer.value);
  if (timer.thread == 0) return post_to_process(process, info);
  if (target != nullptr) post_to_thread(process, *target, info);
}

void count_expiry(int descriptor) {
  const std::uint64_t one = 1;
  host_call(SYS_write, descriptor, reinterpret_cast<std::uint64_t>(&one), sizeof one);
}

void forget_expiries(int descriptor) {
  pollfd readable{descriptor, POLLIN, 0};
  std::uint64_t count;
  if (poll(&readable, 1, 0) == 1 && (readable.revents & POLLIN) != 0)
    host_call(SYS_read, descriptor, reinterpret_cast<std::uint64_t>(&count), sizeof count);
}

VirtualTimers::Key descriptor_key(int reserved) {
  return kDescriptorTimers + static_cast<unsigned>(reserved);
}

/// The kernel's number of the eventfd behind a descriptor; -1 if it is none. (Not kcmp: containers forbid
/// it.)
long eventfd_number(int descriptor) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(descriptor));
  for (std::string word; info >> word;) {
    long number = 0;
    if (word == "eventfd-id:" && info >> number) return number;
  }
  return -1;
}

bool same_file(int one, int other) {
  const long number = eventfd_number(one);
  return number >= 0 && number == eventfd_number(other);
}

/// The timer behind `descriptor`, which may be any copy of it.
std::map<int, DescriptorTimer>::iterator find_timer(Process& process, int descriptor) {
  auto& timers = process.descriptor_timers;
  return std::find_if(timers.begin(), timers.end(),
                      [&](const auto& timer) { return same_file(descriptor, timer.first); });
}

/// The guest has closed a descriptor of each of `timers`. Ends those without another one.
void end_timers(Process& process, const std::vector<int>& timers) {
  if (timers.empty()) return;
  const std::vector<int> open = open_descriptors();
  for (const int reserved : timers) {
    const bool known = std::any_of(open.begin(), open.end(), [&](int descriptor) {
      return !is_reserved_descriptor(descriptor) && same_file(descriptor, reserved);
    });
    if (known) continue;
    process.timers.remove(descriptor_key(reserved));
    process.descriptor_timers.erase(reserved);
    close_reserved_descriptor(reserved);
  }
}

/// The timers whose descriptors lie in [first, last].
std::vector<int> timers_within(Process& process, unsigned first, unsigned last) {
  std::vector<int> result;
  if (process.descriptor_timers.empty()) return result;
  for (const int descriptor : open_descriptors()) {
    const auto number = static_cast<unsigned>(descriptor);
    if (number < first || number > last || is_reserved_descriptor(descriptor)) continue;
    if (const auto timer = find_timer(process, descriptor); timer != process.descriptor_timers.end())
      result.push_back(timer->first);
  }
  return result;
}

}  // namespace

SyscallOutcome sys_alarm(Call& call) {
  const Nanoseconds left = remaining(call, call.process.timers.get(ITIMER_REAL));
  arm_interval_timer(call, ITIMER_REAL, (call[0] & 0xffffffff) * kNanosecondsPerSecond, 0);
  return call.finish(static_cast<long>((left + kNanosecondsPerSecond / 2) / kNanosecondsPerSecond +
                                       (left != 0 && left < kNanosecondsPerSecond / 2 ? 1 : 0)));
}

SyscallOutcome sys_getitimer(Call& call) {
  if (call[0] > ITIMER_PROF) return call.finish(-EINVAL);
  const VirtualTimers::Setting left = left_of(call, call[0]);
  const itimerval shown{to_timeval(left.interval), to_timeval(left.expires)};
  return call.finish(store_guest(call[1], shown) ? 0 : -EFAULT);
}

SyscallOutcome sys_setitimer(Call& call) {
  if (call[0] > ITIMER_PROF) return call.finish(-EINVAL);
  const auto next = call[1] != 0 ? load_guest<itimerval>(call[1]) : itimerval{};
  if (!next) return call.finish(-EFAULT);
  const auto value = from_timeval(next->it_value), interval = from_timeval(next->it_interval);
  if (!value || !interval) return call.finish(-EINVAL);
  if (call[2] != 0) {
    const VirtualTimers::Setting old = left_of(call, call[0]);
    if (!store_guest(call[2], itimerval{to_timeval(old.interval), to_timeval(old.expires)}))
      return call.finish(-EFAULT);
  }
  arm_interval_timer(call, static_cast<unsigned>(call[0]), *value, *interval);
  return call.finish(0);
}

SyscallOutcome sys_timer_create(Call& call) {
  if (!read_clock(call.process, call.self, call.integer(0))) return call.finish(-EINVAL);
  const int id = call.process.next_posix_timer;
  PosixTimer timer{.clock = call.integer(0),
                   .owner = call.thread().tid,
                   .signal = SIGALRM,
                   .value = static_cast<std::uint64_t>(id)};
  if (call[1] != 0) {
    struct {
      std::uint64_t value;
      std::int32_t signal, notify, thread, padding;
    } event;
    if (!copy_from_guest(&event, call[1], sizeof event)) return call.finish(-EFAULT);
    if (event.notify != SIGEV_SIGNAL && event.notify != SIGEV_NONE && event.notify != SIGEV_THREAD_ID)
      return call.finish(-EINVAL);
    if (event.notify != SIGEV_NONE && (event.signal < 1 || event.signal > kSignalCount))
      return call.finish(-EINVAL);
    timer.signal = event.notify == SIGEV_NONE ? 0 : event.signal;
    timer.value = event.value;
    if (event.notify == SIGEV_THREAD_ID) timer.thread = event.thread;
    if (timer.thread != 0 && find_thread(call.process, timer.thread) == nullptr) return call.finish(-EINVAL);
  }
  if (!store_guest(call[2], id)) return call.finish(-EFAULT);
  ++call.process.next_posix_timer;
  call.process.posix_timers[id] = timer;
  return call.finish(0);
}

SyscallOutcome sys_timer_settime(Call& call) {
  const int id = call.integer(0);
  const auto timer = call.process.posix_timers.find(id);
  if (timer == call.process.posix_timers.end()) return call.finish(-EINVAL);
  const bool of_cpu = is_cpu_clock(timer->second.clock), absolute = (call[1] & TIMER_ABSTIME) != 0;
  const auto clock = clock_of(call.process, timer->second);
  const LoadedSetting next = of_cpu ? load_cpu_setting(call[2], absolute, clock())
                                    : load_setting(call, call[2], absolute, timer->second.clock);
  if (!next) return call.finish(next.failure());
  timer->second.overruns = 0;
  const VirtualTimers::Key key = kPosixTimers + static_cast<unsigned>(id);
  if (call[3] != 0 && !store_setting(call, call[3], key)) return call.finish(-EFAULT);
  const auto action = [&process = call.process, id] {
    const auto expired = process.posix_timers.find(id);
    if (expired != process.posix_timers.end() && expired->second.signal != 0)
      expire_posix_timer(process, id, expired->second);
  };
  if (of_cpu) {
    call.process.cpu_timers.set(key, *next, clock, action);
  } else {
    call.process.timers.set(call.services(), key, *next, action);
  }
  return call.finish(0);
}

SyscallOutcome sys_timer_gettime(Call& call) {
  if (!call.process.posix_timers.contains(call.integer(0))) return call.finish(-EINVAL);
  return call.finish(store_setting(call, call[1], kPosixTimers + call[0]) ? 0 : -EFAULT);
}

SyscallOutcome sys_timer_getoverrun(Call& call) {
  const auto timer = call.process.posix_timers.find(call.integer(0));
  return call.finish(timer != call.process.posix_timers.end() ? timer->second.last_overruns : -EINVAL);
}

SyscallOutcome sys_timer_delete(Call& call) {
  if (call.process.posix_timers.erase(call.integer(0)) == 0) return call.finish(-EINVAL);
  call.process.timers.remove(kPosixTimers + call[0]);
  call.process.cpu_timers.remove(kPosixTimers + call[0]);
  return call.finish(0);
}

SyscallOutcome sys_timerfd_create(Call& call) {
  static_assert(int{TFD_NONBLOCK} == int{EFD_NONBLOCK} && int{TFD_CLOEXEC} == int{EFD_CLOEXEC});
  if ((call.integer(1) & ~(TFD_NONBLOCK | TFD_CLOEXEC)) != 0 || is_cpu_clock(call.integer(0)) ||
      !read_clock(call.process, call.self, call.integer(0)))
    return call.finish(-EINVAL);
  const long descriptor = host_call(SYS_eventfd2, 0, call[1]);
  if (descriptor < 0) return call.finish(descriptor);
  const LiftedLimits lifted;
  const int reserved = reserve_descriptor(fcntl(static_cast<int>(descriptor), F_DUPFD_CLOEXEC, 0));
  call.process.descriptor_timers[reserved] = {call.integer(0)};
  return call.finish(descriptor);
}

SyscallOutcome sys_timerfd_settime(Call& call) {
  const auto timer = find_timer(call.process, call.integer(0));
  if (timer == call.process.descriptor_timers.end())
    return call.finish(fcntl(call.integer(0), F_GETFD) < 0 ? -EBADF : -EINVAL);
  const VirtualTimers::Key key = descriptor_key(timer->first);
  const LoadedSetting next =
      load_setting(call, call[2], (call[1] & TFD_TIMER_ABSTIME) != 0, timer->second.clock);
  if (!next) return call.finish(next.failure());
  if (call[3] != 0 && !store_setting(call, call[3], key)) return call.finish(-EFAULT);
  forget_expiries(timer->first);
  call.process.timers.set(call.services(), key, *next, [reserved = timer->first] { count_expiry(reserved); });
  return call.finish(0);
}

SyscallOutcome sys_timerfd_gettime(Call& call) {
  const auto timer = find_timer(call.process, call.integer(0));
  if (timer == call.process.descriptor_timers.end())
    return call.finish(fcntl(call.integer(0), F_GETFD) < 0 ? -EBADF : -EINVAL);
  return call.finish(store_setting(call, call[1], descriptor_key(timer->first)) ? 0 : -EFAULT);
}

/// The call closes `number`. Ends its timer if the timer has no other descriptor.
static SyscallOutcome close_by_call(Call& call, int number) {
  const auto timer = call.process.descriptor_timers.empty() ? call.process.descriptor_timers.end()
                                                            : find_timer(call.process, number);
  std::vector<int> timers;
  if (timer != call.process.descriptor_timers.end()) timers.push_back(timer->first);
  const SyscallOutcome outcome = pass_through(call);
  end_timers(call.process, timers);
  end_closed_events(call.process);
  return outcome;
}

SyscallOutcome sys_close(Call& call) {
  if (is_reserved_descriptor(call.integer(0))) return call.finish(-EBADF);
  return close_by_call(call, call.integer(0));
}

SyscallOutcome sys_dup2(Call& call) {
  if (is_reserved_descriptor(call.integer(0)) || is_reserved_descriptor(call.integer(1)))
    return call.finish(-EBADF);
  return close_by_call(call, call.integer(1));
}

/// Closes the ranges between reserved descriptors.
SyscallOutcome sys_close_range(Call& call) {
  const auto first = static_cast<unsigned>(call[0]), last = static_cast<unsigned>(call[1]);
  if (first > last) return call.finish(-EINVAL);
  const bool closes = (call[2] & CLOSE_RANGE_CLOEXEC) == 0;
  const std::vector<int> timers = closes ? timers_within(call.process, first, last) : std::vector<int>{};
  long result = 0;
  std::uint64_t begin = first;
  const auto up_to = [&](std::uint64_t end) {
    if (begin < end && result == 0) result = host_call(SYS_close_range, begin, end - 1, call[2]);
  };
  for (const int reserved : reserved_descriptors()) {
    const auto number = static_cast<unsigned>(reserved);
    if (number < begin || number > last) continue;
    up_to(number);
    begin = std::uint64_t{number} + 1;
  }
  up_to(std::uint64_t{last} + 1);
  end_timers(call.process, timers);
  end_closed_events(call.process);
  return call.finish(result);
}

}  // namespace elision::vm
