// SPDX-License-Identifier: Apache-2.0
// Source: signalfd(2), Linux fs/signalfd.c for what a siginfo becomes.
#include "vm/linux/signals/signal_descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/host/host_limits.h"
#include "vm/host/reserved_descriptors.h"
#include "vm/linux/process/call.h"
#include "vm/linux/signals/signal_delivery.h"
#include "vm/linux/signals/waiting.h"

namespace elision::vm {
namespace {

constexpr SignalSet kNeverTaken{SignalSet::of(SIGKILL).bits | SignalSet::of(SIGSTOP).bits};
constexpr std::uint64_t kMaxVectors = 1024;

ino_t inode_of(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode) ? status.st_ino : 0;
}

SignalDescriptors::iterator find(Process& process, int descriptor) {
  SignalDescriptors& all = process.signal_descriptors;
  return all.empty() ? all.end() : all.find(inode_of(descriptor));
}

/// Drops descriptors whose last copy the guest has closed.
void drop_closed(SignalDescriptors& all) {
  std::erase_if(all, [](const auto& entry) {
    pollfd end{entry.second.write_end, POLLOUT, 0};
    const bool closed = poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
    if (closed) close_reserved_descriptor(entry.second.write_end);
    return closed;
  });
}

struct NewPipe {
  int read_end;
  ino_t inode;
  int write_end;
};

/// Returns nothing, with errno set, if the host makes no pipe.
std::optional<NewPipe> make_pipe(int flags) {
  const LiftedLimits lifted;
  int ends[2];
  if (pipe2(ends, flags) != 0) return std::nullopt;
  if (static_cast<rlim_t>(ends[0]) >= lifted.soft_before(RLIMIT_NOFILE)) {
    close(ends[0]), close(ends[1]);
    errno = EMFILE;
    return std::nullopt;
  }
  return NewPipe{ends[0], inode_of(ends[0]), reserve_descriptor(ends[1])};
}

/// Removes the byte from the pipe. Opens a read end for just that, so that afterwards only the guest holds
/// read ends: drop_closed() relies on it.
void drain(const SignalDescriptor& descriptor) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor.write_end);
  const int end = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  char bytes[16];
  while (end >= 0 && read(end, bytes, sizeof bytes) > 0) {
  }
  if (end >= 0) close(end);
}

void show(SignalDescriptor& descriptor, bool pending) {
  if (descriptor.readable && (!pending || descriptor.arrived)) drain(descriptor), descriptor.readable = false;
  if (pending && !descriptor.readable) {
    const char byte = 1;
    descriptor.readable =
        host_call(SYS_write, descriptor.write_end, reinterpret_cast<std::uint64_t>(&byte), 1) == 1;
  }
  descriptor.arrived = false;
}

signalfd_siginfo as_read(const siginfo_t& info) {
  signalfd_siginfo out{};
  out.ssi_signo = static_cast<std::uint32_t>(info.si_signo);
  out.ssi_errno = info.si_errno;
  out.ssi_code = info.si_code;
  const auto add_sender = [&] {
    out.ssi_pid = static_cast<std::uint32_t>(info.si_pid);
    out.ssi_uid = info.si_uid;
  };
  const auto add_value = [&] {
    out.ssi_ptr = reinterpret_cast<std::uint64_t>(info.si_value.sival_ptr);
    out.ssi_int = info.si_value.sival_int;
  };
  if (info.si_code == SI_TIMER) {
    out.ssi_tid = static_cast<std::uint32_t>(info.si_timerid);
    out.ssi_overrun = static_cast<std::uint32_t>(info.si_overrun);
    add_value();
  } else if (info.si_code == SI_SIGIO || (info.si_signo == SIGPOLL && info.si_code > 0)) {
    out.ssi_band = static_cast<std::uint32_t>(info.si_band);
    out.ssi_fd = info.si_fd;
  } else if (info.si_code == SI_USER || info.si_code == SI_TKILL || info.si_code == SI_KERNEL) {
    add_sender();
  } else if (info.si_code < 0) {
    add_sender();
    add_value();
  } else if (info.si_signo == SIGCHLD) {
    add_sender();
    out.ssi_status = info.si_status;
    out.ssi_utime = static_cast<std::uint64_t>(info.si_utime);
    out.ssi_stime = static_cast<std::uint64_t>(info.si_stime);
  } else {
    out.ssi_addr = reinterpret_cast<std::uint64_t>(info.si_addr);
  }
  return out;
}

/// The buffers of read or readv.
std::optional<std::vector<iovec>> destinations(const Call& call) {
  if (call.number == SYS_read) return std::vector<iovec>{{reinterpret_cast<void*>(call[1]), call[2]}};
  if (call[2] > kMaxVectors) return std::nullopt;
  std::vector<iovec> pieces(call[2]);
  if (!copy_from_guest(pieces.data(), call[1], call[2] * sizeof(iovec))) return std::nullopt;
  return pieces;
}

bool scatter(const std::vector<iovec>& pieces, const std::vector<signalfd_siginfo>& signals) {
  const char* from = reinterpret_cast<const char*>(signals.data());
  std::size_t left = signals.size() * sizeof signals[0];
  for (const iovec& piece : pieces) {
    const std::size_t size = std::min(left, piece.iov_len);
    if (!copy_to_guest(reinterpret_cast<std::uint64_t>(piece.iov_base), from, size)) return false;
    from += size;
    left -= size;
  }
  return true;
}

bool is_readers_wait(const KernelThread& thread, ino_t inode) {
  return thread.wait && thread.wait->signal_descriptor == inode;
}

/// Sets a new mask. Threads that already read wait for the new mask from now on.
void change_mask(Process& process, SignalDescriptors::iterator descriptor, SignalSet mask) {
  descriptor->second.mask = mask;
  descriptor->second.arrived = true;
  for (const auto& thread : process.threads) {
    if (!is_readers_wait(*thread, descriptor->first)) continue;
    thread->waited_for = mask;
    if (thread->wait->attempt()) end_wait(process, *thread, nullptr);
  }
}

}  // namespace

SyscallOutcome sys_signalfd(Call& call) {
  static_assert(int{SFD_NONBLOCK} == int{O_NONBLOCK} && int{SFD_CLOEXEC} == int{O_CLOEXEC});
  const int flags = call.number == SYS_signalfd4 ? call.integer(3) : 0;
  if (call[2] != sizeof(SignalSet) || (flags & ~(SFD_NONBLOCK | SFD_CLOEXEC)) != 0)
    return call.finish(-EINVAL);
  auto mask = load_guest<SignalSet>(call[1]);
  if (!mask) return call.finish(-EFAULT);
  mask->bits &= ~kNeverTaken.bits;
  Process& process = call.process;
  if (call.integer(0) != -1) {
    const auto known = find(process, call.integer(0));
    if (known == process.signal_descriptors.end())
      return call.finish(fcntl(call.integer(0), F_GETFD) < 0 ? -EBADF : -EINVAL);
    change_mask(process, known, *mask);
    return call.finish(call.integer(0));
  }
  drop_closed(process.signal_descriptors);
  const auto made = make_pipe(flags);
  if (!made) return call.finish(-errno);
  process.signal_descriptors[made->inode] = {*mask, made->write_end};
  return call.finish(made->read_end);
}

std::optional<SyscallOutcome> read_signals(Call& call) {
  Process& process = call.process;
  const auto found = find(process, call.integer(0));
  if (found == process.signal_descriptors.end()) return std::nullopt;
  const auto pieces = destinations(call);
  if (!pieces) return call.finish(-EFAULT);
  std::size_t room = 0;
  for (const iovec& piece : *pieces) room += piece.iov_len;
  room /= sizeof(signalfd_siginfo);
  if (room == 0) return call.finish(-EINVAL);
  const auto attempt = [call, inode = found->first, pieces = *pieces, room]() mutable {
    KernelThread& self = call.self;
    const auto descriptor = call.process.signal_descriptors.find(inode);
    std::vector<signalfd_siginfo> signals;
    while (descriptor != call.process.signal_descriptors.end() && signals.size() < room) {
      const auto info = take_pending(call.process, self, descriptor->second.mask);
      if (!info) break;
      signals.push_back(as_read(*info));
    }
    if (signals.empty()) return false;
    self.waited_for = {};
    call.finish(scatter(pieces, signals) ? static_cast<long>(signals.size() * sizeof signals[0]) : -EFAULT);
    return true;
  };
  if (auto now = attempt; now()) return SyscallOutcome::kReturn;
  if ((fcntl(call.integer(0), F_GETFL) & O_NONBLOCK) != 0) return call.finish(-EAGAIN);
  call.self.waited_for = found->second.mask;
  Wait wait;
  wait.signal_descriptor = found->first;
  wait.attempt = attempt;
  wait.cancel = [&self = call.self] { self.waited_for = {}; };
  return park(call, std::move(wait));
}

void note_signal(Process& process, int signal) {
  for (auto& [inode, descriptor] : process.signal_descriptors)
    descriptor.arrived |= descriptor.mask.has(signal);
}

void refresh_signal_descriptors(Process& process, const KernelThread* thread) {
  if (process.signal_descriptors.empty()) return;
  drop_closed(process.signal_descriptors);  // writing to one would raise SIGPIPE
  std::uint64_t pending = process.pending.set().bits;
  if (thread != nullptr) pending |= thread->pending.set().bits;
  for (const auto& each : process.threads)
    if (thread == nullptr && each->wait && !each->wait->descriptors.empty())
      pending |= each->pending.set().bits;
  for (auto& [inode, descriptor] : process.signal_descriptors)
    show(descriptor, (pending & descriptor.mask.bits) != 0);
}

void separate_signal_descriptors(Process& process) {
  if (process.signal_descriptors.empty()) return;
  SignalDescriptors own;
  std::map<ino_t, NewPipe> replacement;
  for (const int number : open_descriptors()) {
    if (is_reserved_descriptor(number)) continue;
    const auto old = find(process, number);
    if (old == process.signal_descriptors.end()) continue;
    auto made = replacement.find(old->first);
    if (made == replacement.end()) {
      const auto pipe = make_pipe(fcntl(number, F_GETFL) & O_NONBLOCK);
      if (!pipe) continue;
      made = replacement.emplace(old->first, *pipe).first;
      own[pipe->inode] = {old->second.mask, pipe->write_end};
    }
    dup3(made->second.read_end, number, (fcntl(number, F_GETFD) & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
  }
  for (const auto& [inode, pipe] : replacement) close(pipe.read_end);
  for (const auto& [inode, descriptor] : process.signal_descriptors)
    close_reserved_descriptor(descriptor.write_end);
  process.signal_descriptors = std::move(own);
}

}  // namespace elision::vm
