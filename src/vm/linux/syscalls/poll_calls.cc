// SPDX-License-Identifier: Apache-2.0
// Each call first asks the host without blocking. If nothing is ready, the thread parks with the descriptors
// and a deadline in virtual time, and asks again when one of them may be ready.
#include "vm/linux/syscalls/poll_calls.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/events/event_descriptors.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/signals/signal_descriptors.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/blocking_calls.h"
#include "vm/linux/syscalls/event_calls.h"
#include "vm/linux/syscalls/guest_call.h"
#include "vm/linux/syscalls/signal_calls.h"

namespace elision::vm {
namespace {

/// How long to wait.
struct Limit {
  Nanoseconds deadline = kNoDeadline;
  bool zero = false;
  std::uint64_t remaining = 0;  // where to store the remaining time; 0: nowhere
  bool in_microseconds = false;
};

/// select, pselect6 and ppoll store the remaining time, as in Linux. A bad address is ignored.
void store_remaining(Process& process, KernelThread& self, const Limit& limit) {
  if (limit.remaining == 0) return;
  const Nanoseconds now = process.services.now(self.thread);
  const Nanoseconds left = limit.deadline > now ? limit.deadline - now : 0;
  const auto part = static_cast<long>(left % kNanosecondsPerSecond);
  (void)store_guest(limit.remaining, timespec{static_cast<time_t>(left / kNanosecondsPerSecond),
                                              limit.in_microseconds ? part / 1000 : part});
}

Limit limit_of(Call& call, Nanoseconds span) {
  return {deadline_after(call.process, call.self, span), span == 0};
}

Limit limit_of_milliseconds(Call& call, int milliseconds) {
  return milliseconds < 0 ? Limit{} : limit_of(call, static_cast<Nanoseconds>(milliseconds) * 1'000'000);
}

OrErrno<Limit> limit_of_timespec(Call& call, std::uint64_t address) {
  if (address == 0) return Limit{};
  const auto time = load_timespec(address);
  if (!time) return time.failure();
  return limit_of(call, *time);
}

/// The same for calls that store the remaining time at `address`.
OrErrno<Limit> updated_limit_of_timespec(Call& call, std::uint64_t address) {
  auto limit = limit_of_timespec(call, address);
  if (limit) limit->remaining = address;
  return limit;
}

/// Asks `question` now, and again whenever one of `descriptors` may be ready. Its answer 0: nothing is ready.
SyscallOutcome wait_for_any(Call& call, const Limit& limit, std::vector<pollfd> descriptors,
                            std::function<long()> question, std::function<void()> expire = {}) {
  const auto ask = [&process = call.process, &self = call.self, question = std::move(question)] {
    refresh_signal_descriptors(process, &self);
    refresh_event_descriptors(process);
    return question();
  };
  const long result = ask();
  if (result == 0 && limit.zero && expire) expire();
  if (result != 0 || limit.zero) {
    store_remaining(call.process, call.self, limit);
    return call.finish(result);
  }
  Wait wait;
  wait.descriptors = std::move(descriptors);
  wait.expire = std::move(expire);
  wait.cancel = [&process = call.process, &self = call.self, limit] {
    store_remaining(process, self, limit);
  };
  wait.attempt = [&self = call.self, ask, answered = wait.cancel] {
    const long answer = ask();
    if (answer == 0) return false;
    self.thread.state.gpr[kRax] = static_cast<std::uint64_t>(answer);
    answered();
    return true;
  };
  return park(call, std::move(wait), limit.deadline, 0);
}

SyscallOutcome poll_until(Call& call, const Limit& limit) {
  const std::uint64_t address = call[0], count = call[1];
  if (count > 1u << 20) return call.finish(-EINVAL);
  std::vector<pollfd> descriptors(count);
  if (!copy_from_guest(descriptors.data(), address, count * sizeof(pollfd))) return call.finish(-EFAULT);
  return wait_for_any(call, limit, std::move(descriptors),
                      [call, address, count] { return guest_call(call, SYS_poll, address, count, 0); });
}

/// The three sets of select.
struct DescriptorSets {
  static constexpr unsigned kWords = 1024 / 64;
  int count;
  std::uint64_t addresses[3];
  std::array<std::uint64_t, kWords> wanted[3];

  std::size_t bytes() const { return (static_cast<unsigned>(count) + 63) / 64 * std::size_t{8}; }
  bool load();
  long ask() const;
  bool store(const std::array<std::uint64_t, kWords> (&sets)[3]) const;
  std::vector<pollfd> descriptors() const;
};

bool DescriptorSets::load() {
  for (unsigned i = 0; i < 3; ++i) {
    wanted[i] = {};
    if (addresses[i] != 0 && !copy_from_guest(wanted[i].data(), addresses[i], bytes())) return false;
  }
  return true;
}

bool DescriptorSets::store(const std::array<std::uint64_t, kWords> (&sets)[3]) const {
  for (unsigned i = 0; i < 3; ++i)
    if (addresses[i] != 0 && !copy_to_guest(addresses[i], sets[i].data(), bytes())) return false;
  return true;
}

/// Changes the guest's sets only if something is ready: a call that a signal interrupts may start again with
/// them.
long DescriptorSets::ask() const {
  std::array<std::uint64_t, kWords> sets[3] = {wanted[0], wanted[1], wanted[2]};
  timeval now{};
  std::uint64_t pointers[3];
  for (unsigned i = 0; i < 3; ++i)
    pointers[i] = addresses[i] != 0 ? reinterpret_cast<std::uint64_t>(sets[i].data()) : 0;
  const long result = host_call(SYS_select, count, pointers[0], pointers[1], pointers[2],
                                reinterpret_cast<std::uint64_t>(&now));
  return result > 0 && !store(sets) ? -EFAULT : result;
}

std::vector<pollfd> DescriptorSets::descriptors() const {
  constexpr short kEvents[3] = {POLLIN, POLLOUT, POLLPRI};
  std::vector<pollfd> result;
  for (int descriptor = 0; descriptor < count; ++descriptor) {
    short events = 0;
    for (unsigned i = 0; i < 3; ++i)
      if ((wanted[i][static_cast<unsigned>(descriptor) / 64] >> (descriptor % 64) & 1) != 0)
        events |= kEvents[i];
    if (events != 0) result.push_back({descriptor, events, 0});
  }
  return result;
}

SyscallOutcome select_until(Call& call, const Limit& limit) {
  DescriptorSets sets{std::min(call.integer(0), 1024), {call[1], call[2], call[3]}, {}};
  if (call.integer(0) < 0) return call.finish(-EINVAL);
  if (!sets.load()) return call.finish(-EFAULT);
  return wait_for_any(
      call, limit, sets.descriptors(), [sets] { return sets.ask(); }, [sets] { (void)sets.store({}); });
}

SyscallOutcome epoll_until(Call& call, const Limit& limit) {
  const int descriptor = call.integer(0);
  const std::uint64_t events = call[1], count = call[2];
  return wait_for_any(call, limit, {{descriptor, POLLIN, 0}}, [=] {
    return guest_call(call, SYS_epoll_wait, static_cast<unsigned>(descriptor), events, count, 0);
  });
}

/// Replaces the signal mask for the call, then makes it.
template <class Next>
SyscallOutcome with_mask(Call& call, std::uint64_t mask, std::uint64_t size, const OrErrno<Limit>& limit,
                         Next next) {
  if (!limit) return call.finish(limit.failure());
  if (const long error = replace_mask_for_call(call, mask, size); error != 0) return call.finish(error);
  return next(call, *limit);
}

}  // namespace

SyscallOutcome sys_poll(Call& call) { return poll_until(call, limit_of_milliseconds(call, call.integer(2))); }

SyscallOutcome sys_ppoll(Call& call) {
  return with_mask(call, call[3], call[4], updated_limit_of_timespec(call, call[2]), poll_until);
}

SyscallOutcome sys_select(Call& call) {
  Limit limit;
  if (call[4] != 0) {
    const auto time = load_guest<timeval>(call[4]);
    if (!time) return call.finish(-EFAULT);
    if (time->tv_sec < 0 || time->tv_usec < 0) return call.finish(-EINVAL);
    limit = limit_of(call, static_cast<Nanoseconds>(time->tv_sec) * kNanosecondsPerSecond +
                               static_cast<Nanoseconds>(time->tv_usec) * 1000);
    limit.remaining = call[4];
    limit.in_microseconds = true;
  }
  return select_until(call, limit);
}

SyscallOutcome sys_pselect6(Call& call) {
  struct {
    std::uint64_t set, size;
  } mask{};
  if (call[5] != 0 && !copy_from_guest(&mask, call[5], sizeof mask)) return call.finish(-EFAULT);
  return with_mask(call, mask.set, mask.size, updated_limit_of_timespec(call, call[4]), select_until);
}

SyscallOutcome sys_epoll_wait(Call& call) {
  const std::uint64_t mask = call.number == SYS_epoll_pwait ? call[4] : 0;
  return with_mask(call, mask, call[5], limit_of_milliseconds(call, call.integer(3)), epoll_until);
}

SyscallOutcome sys_epoll_pwait2(Call& call) {
  return with_mask(call, call[4], call[5], limit_of_timespec(call, call[3]), epoll_until);
}

SyscallOutcome sys_fcntl(Call& call) {
  if (const auto outcome = fcntl_event(call)) return *outcome;
  const ProcessIds& ids = call.process.ids;
  const int command = call.integer(1);
  if (command == F_SETOWN) call.arguments[2] = static_cast<std::uint64_t>(ids.to_host(call.integer(2)));
  if (command == F_GETOWN) {
    const long owner = host_call(SYS_fcntl, call[0], F_GETOWN);
    return call.finish(ids.to_guest(static_cast<int>(owner)));
  }
  if (command != F_SETLKW && command != F_OFD_SETLKW) return pass_through(call);
  return wait_for_record_lock(call);
}

}  // namespace elision::vm
