// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/transfer_calls.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/signals/signal_descriptors.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/blocking_calls.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/event_calls.h"
#include "vm/linux/syscalls/guest_call.h"
#include "vm/linux/syscalls/thread_calls.h"

namespace elision::vm {
namespace {

/// A pipe that polls writable takes at least this much without blocking (pipe(7), PIPE_BUF).
constexpr std::uint64_t kSafeWriteBytes = 4096;
constexpr std::uint64_t kMaxVectors = 1024;

mode_t type_of(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

bool never_blocks(mode_t type) { return type == S_IFREG || type == S_IFDIR || type == S_IFBLK || type == 0; }

/// SO_RCVTIMEO or SO_SNDTIMEO as a deadline.
Nanoseconds socket_deadline(Call& call, int descriptor, short events) {
  timeval limit{};
  socklen_t size = sizeof limit;
  const int option = events == POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO;
  if (getsockopt(descriptor, SOL_SOCKET, option, &limit, &size) != 0) return kNoDeadline;
  const auto span = static_cast<Nanoseconds>(limit.tv_sec) * kNanosecondsPerSecond +
                    static_cast<Nanoseconds>(limit.tv_usec) * 1000;
  return span == 0 ? kNoDeadline : deadline_after(call.process, call.self, span);
}

/// Parks until `descriptor` is ready for `events` and `attempt` returns something other than EAGAIN.
SyscallOutcome wait_and_retry(Call& call, int descriptor, short events, std::function<long()> attempt,
                              long transferred = 0) {
  Wait wait;
  wait.transferred = transferred;
  wait.descriptors = {{descriptor, events, 0}};
  wait.attempt = [&self = call.self, attempt = std::move(attempt)] {
    const long result = attempt();
    if (result == -EAGAIN) return false;
    self.thread.state.gpr[kRax] = static_cast<std::uint64_t>(result);
    return true;
  };
  return park(call, std::move(wait), socket_deadline(call, descriptor, events), -EAGAIN);
}

/// Makes the call by `attempt` when the descriptor is ready. `attempt` must not block then, and may run more
/// than once. `transferred`: bytes moved so far, for a call that a signal can end half-way.
SyscallOutcome when_ready(Call& call, short events, std::function<long()> attempt,
                          const std::uint64_t* transferred = nullptr) {
  const int descriptor = call.integer(0);
  if (call.process.alone()) return block_on_host(call);
  if (is_ready(descriptor, events)) {
    const long result = attempt();
    if (result != -EAGAIN || is_nonblocking(descriptor)) return call.finish(result);
  } else if (is_nonblocking(descriptor)) {
    return pass_through(call);
  }
  const long so_far = transferred != nullptr ? static_cast<long>(*transferred) : 0;
  return wait_and_retry(call, descriptor, events, std::move(attempt), so_far);
}

/// read or readv of a ready descriptor. Another reader may have been faster: tells pipes and sockets not to
/// wait.
long read_what_is_there(const Call& call) {
  const mode_t type = type_of(call.integer(0));
  if (type != S_IFIFO && type != S_IFSOCK) return guest_call(call);
  const iovec one{reinterpret_cast<void*>(call[1]), call[2]};
  const bool plain = call.number == SYS_read;
  const long result =
      guest_call(call, SYS_preadv2, call[0], plain ? reinterpret_cast<std::uint64_t>(&one) : call[1],
                 plain ? 1 : call[2], ~0ull, ~0ull, RWF_NOWAIT);
  return result == -EOPNOTSUPP ? guest_call(call) : result;
}

/// The data left to write, and how to write a piece without blocking.
struct Outgoing {
  std::vector<iovec> pieces;
  std::size_t first = 0;
  long done = 0;
  std::function<long(const iovec*, std::size_t)> write_some;
  std::uint64_t limit = kSafeWriteBytes;  // bytes of one call

  bool empty() const { return first == pieces.size(); }

  /// The next pieces, up to the limit together.
  std::vector<iovec> next() const {
    std::vector<iovec> result;
    std::uint64_t room = limit;
    for (std::size_t i = first; i < pieces.size() && room > 0; ++i) {
      result.push_back({pieces[i].iov_base, std::min<std::uint64_t>(pieces[i].iov_len, room)});
      room -= result.back().iov_len;
    }
    return result;
  }

  void advance(std::uint64_t bytes) {
    done += static_cast<long>(bytes);
    while (first < pieces.size() && bytes >= pieces[first].iov_len) bytes -= pieces[first++].iov_len;
    if (first == pieces.size()) return;
    pieces[first].iov_base = static_cast<char*>(pieces[first].iov_base) + bytes;
    pieces[first].iov_len -= bytes;
  }
};

/// Writes as much as possible without blocking. Returns EAGAIN while data is left.
long write_without_blocking(KernelThread& self, int descriptor, Outgoing& outgoing) {
  while (!outgoing.empty()) {
    if (!is_ready(descriptor, POLLOUT)) return -EAGAIN;
    const std::vector<iovec> pieces = outgoing.next();
    const long result = outgoing.write_some(pieces.data(), pieces.size());
    if (result == -EAGAIN) return result;
    if (result < 0) return outgoing.done > 0 ? outgoing.done : result;
    outgoing.advance(static_cast<std::uint64_t>(result));
    if (self.wait) self.wait->transferred = outgoing.done;
  }
  return outgoing.done;
}

SyscallOutcome write_all(Call& call, Outgoing outgoing) {
  const int descriptor = call.integer(0);
  const auto shared = std::make_shared<Outgoing>(std::move(outgoing));
  const auto attempt = [&self = call.self, descriptor, shared] {
    return write_without_blocking(self, descriptor, *shared);
  };
  const long result = attempt();
  if (result != -EAGAIN) return call.finish(result);
  return wait_and_retry(call, descriptor, POLLOUT, attempt, shared->done);
}

std::optional<std::vector<iovec>> load_vectors(std::uint64_t address, std::uint64_t count) {
  if (count > kMaxVectors) return std::nullopt;
  std::vector<iovec> vectors(count);
  if (!copy_from_guest(vectors.data(), address, count * sizeof(iovec))) return std::nullopt;
  std::erase_if(vectors, [](const iovec& piece) { return piece.iov_len == 0; });
  return vectors;
}

SyscallOutcome write_pieces(Call& call, std::optional<std::vector<iovec>> pieces) {
  const int descriptor = call.integer(0);
  const mode_t type = type_of(descriptor);
  if (!pieces || pieces->empty() || never_blocks(type) || is_nonblocking(descriptor))
    return pass_through(call);
  Outgoing outgoing;
  outgoing.pieces = std::move(*pieces);
  if (type == S_IFSOCK) {
    outgoing.limit = ~0ull;
    outgoing.write_some = [call, descriptor](const iovec* from, std::size_t count) {
      msghdr message{};
      message.msg_iov = const_cast<iovec*>(from);
      message.msg_iovlen = count;
      return guest_call(call, SYS_sendmsg, descriptor, reinterpret_cast<std::uint64_t>(&message),
                        MSG_DONTWAIT);
    };
  } else {
    outgoing.write_some = [call, descriptor](const iovec* from, std::size_t count) {
      return guest_call(call, SYS_writev, descriptor, reinterpret_cast<std::uint64_t>(from), count);
    };
  }
  return write_all(call, std::move(outgoing));
}

/// A message sent in parts. Address and control data go with the first part.
Outgoing outgoing_message(const Call& call, msghdr message, std::vector<iovec> pieces, int flags) {
  Outgoing outgoing;
  outgoing.pieces = std::move(pieces);
  outgoing.limit = ~0ull;
  outgoing.write_some = [call, message, flags](const iovec* from, std::size_t count) mutable {
    message.msg_iov = const_cast<iovec*>(from);
    message.msg_iovlen = count;
    const long sent = guest_call(call, SYS_sendmsg, call[0], reinterpret_cast<std::uint64_t>(&message),
                                 flags | MSG_DONTWAIT);
    if (sent > 0) message.msg_control = nullptr, message.msg_controllen = 0;
    return sent;
  };
  return outgoing;
}

SyscallOutcome send_pieces(Call& call, msghdr message, std::vector<iovec> pieces, int flags) {
  const int descriptor = call.integer(0);
  if (pieces.empty() || (flags & MSG_DONTWAIT) != 0 || is_nonblocking(descriptor)) return pass_through(call);
  return write_all(call, outgoing_message(call, message, std::move(pieces), flags));
}

}  // namespace

bool is_ready(int descriptor, short events) {
  pollfd wanted{descriptor, events, 0};
  return host_call(SYS_poll, reinterpret_cast<std::uint64_t>(&wanted), 1, 0) != 0;
}

bool is_nonblocking(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

SyscallOutcome sys_read(Call& call) {
  if (const auto outcome = read_signals(call)) return *outcome;
  if (const auto outcome = read_event(call)) return *outcome;
  return when_ready(call, POLLIN, [call] { return read_what_is_there(call); });
}

SyscallOutcome sys_write(Call& call) {
  if (call.process.alone()) return block_on_host(call);
  return write_pieces(call, std::vector<iovec>{{reinterpret_cast<void*>(call[1]), call[2]}});
}

SyscallOutcome sys_writev(Call& call) {
  if (call.process.alone()) return block_on_host(call);
  return write_pieces(call, load_vectors(call[1], call[2]));
}

SyscallOutcome sys_recvfrom(Call& call) {
  if ((call[3] & MSG_DONTWAIT) != 0) return pass_through(call);
  // MSG_WAITALL: collects the parts here, since MSG_DONTWAIT returns what has arrived.
  const auto done = std::make_shared<std::uint64_t>(0);
  return when_ready(
      call, POLLIN,
      [call, done]() -> long {
        const std::uint64_t flags = (call[3] & ~std::uint64_t{MSG_WAITALL}) | MSG_DONTWAIT;
        for (;;) {
          const long result = guest_call(call, SYS_recvfrom, call[0], call[1] + *done, call[2] - *done, flags,
                                         call[4], call[5]);
          if (result == -EAGAIN) return result;
          if (result <= 0) return *done > 0 ? static_cast<long>(*done) : result;
          *done += static_cast<std::uint64_t>(result);
          if ((call[3] & MSG_WAITALL) == 0 || *done >= call[2]) return static_cast<long>(*done);
          if (call.self.wait) call.self.wait->transferred = static_cast<long>(*done);
        }
      },
      done.get());
}

SyscallOutcome sys_recvmsg(Call& call) {
  if ((call[2] & MSG_DONTWAIT) != 0) return pass_through(call);
  Call without_blocking = call;
  without_blocking.arguments[2] |= MSG_DONTWAIT;
  return when_ready(call, POLLIN, [without_blocking] { return guest_call(without_blocking); });
}

/// Waits for all messages, or for one (MSG_WAITFORONE). As in Linux, the time limit is checked only when a
/// message arrives (recvmmsg(2), "Bugs").
SyscallOutcome sys_recvmmsg(Call& call) {
  if ((call[3] & MSG_DONTWAIT) != 0) return pass_through(call);
  Nanoseconds limit = kNoDeadline;
  if (call[4] != 0) {
    const auto time = load_timespec(call[4]);
    if (!time) return call.finish(time.failure());
    limit = deadline_after(call.process, call.self, *time);
    call.arguments[4] = 0;
  }
  const std::uint64_t wanted = call[2] & 0xffffffff;
  const auto done = std::make_shared<std::uint64_t>(0);
  const auto attempt = [call, limit, wanted, done]() -> long {
    while (*done < wanted) {
      const long got =
          guest_call(call, SYS_recvmmsg, call[0], call[1] + *done * sizeof(mmsghdr), wanted - *done,
                     (call[3] & ~std::uint64_t{MSG_WAITFORONE}) | MSG_DONTWAIT, 0);
      if (got < 0 && got != -EAGAIN) return *done > 0 ? static_cast<long>(*done) : got;
      if (got > 0) *done += static_cast<std::uint64_t>(got);
      const bool enough =
          *done > 0 && ((call[3] & MSG_WAITFORONE) != 0 || call.services().now(call.thread()) >= limit);
      if (enough) break;
      if (got <= 0) {
        if (call.self.wait) call.self.wait->transferred = static_cast<long>(*done);
        return -EAGAIN;
      }
    }
    return static_cast<long>(*done);
  };
  const long result = attempt();
  if (result == -EAGAIN && *done > 0 && is_nonblocking(call.integer(0)))
    return call.finish(static_cast<long>(*done));
  if (result != -EAGAIN || is_nonblocking(call.integer(0))) return call.finish(result);
  return wait_and_retry(call, call.integer(0), POLLIN, attempt, static_cast<long>(*done));
}

SyscallOutcome sys_sendto(Call& call) {
  if (call.process.alone()) return block_on_host(call);
  msghdr message{};
  message.msg_name = reinterpret_cast<void*>(call[4]);
  message.msg_namelen = static_cast<socklen_t>(call[5]);
  std::vector<iovec> pieces;
  if (call[2] != 0) pieces.push_back({reinterpret_cast<void*>(call[1]), call[2]});
  return send_pieces(call, message, std::move(pieces), call.integer(3));
}

SyscallOutcome sys_sendmsg(Call& call) {
  if (call.process.alone()) return block_on_host(call);
  const auto message = load_guest<msghdr>(call[1]);
  if (!message) return call.finish(-EFAULT);
  auto pieces = load_vectors(reinterpret_cast<std::uint64_t>(message->msg_iov), message->msg_iovlen);
  if (!pieces) return pass_through(call);
  return send_pieces(call, *message, std::move(*pieces), call.integer(2));
}

/// Sends one message after the other. The result counts those sent whole.
SyscallOutcome sys_sendmmsg(Call& call) {
  const int descriptor = call.integer(0), flags = call.integer(3);
  if (call.process.alone()) return block_on_host(call);
  if ((flags & MSG_DONTWAIT) != 0 || is_nonblocking(descriptor)) return pass_through(call);
  const std::uint64_t count = std::min<std::uint64_t>(call[2] & 0xffffffff, kMaxVectors);
  const auto current = std::make_shared<std::optional<Outgoing>>();
  const auto sent = std::make_shared<std::uint64_t>(0);
  const auto attempt = [call, vector = call[1], count, descriptor, flags, current, sent]() -> long {
    KernelThread& self = call.self;
    for (; *sent < count; ++*sent) {
      const std::uint64_t at = vector + *sent * sizeof(mmsghdr);
      if (!*current) {
        const auto header = load_guest<mmsghdr>(at);
        auto pieces = header ? load_vectors(reinterpret_cast<std::uint64_t>(header->msg_hdr.msg_iov),
                                            header->msg_hdr.msg_iovlen)
                             : std::nullopt;
        if (!pieces) return *sent > 0 ? static_cast<long>(*sent) : -EFAULT;
        if (pieces->empty()) pieces->push_back({nullptr, 0});
        *current = outgoing_message(call, header->msg_hdr, std::move(*pieces), flags);
      }
      const long bytes = write_without_blocking(self, descriptor, **current);
      if (self.wait) self.wait->transferred = static_cast<long>(*sent);
      if (bytes == -EAGAIN) return bytes;
      if (bytes < 0) return *sent > 0 ? static_cast<long>(*sent) : bytes;
      current->reset();
      if (!store_guest(at + offsetof(mmsghdr, msg_len), static_cast<std::uint32_t>(bytes))) return -EFAULT;
    }
    return static_cast<long>(*sent);
  };
  const long result = attempt();
  if (result != -EAGAIN) return call.finish(result);
  return wait_and_retry(call, descriptor, POLLOUT, attempt, static_cast<long>(*sent));
}

/// Waits for room or for data once, then moves what it can, as in Linux (fs/splice.c).
SyscallOutcome sys_vmsplice(Call& call) {
  if (call.process.alone()) return block_on_host(call);
  const int descriptor = call.integer(0);
  if ((call[3] & SPLICE_F_NONBLOCK) != 0) return pass_through(call);
  Call part = call;
  part.arguments[3] |= SPLICE_F_NONBLOCK;
  const long result = guest_call(part);
  if (result != -EAGAIN) return call.finish(result);
  const int mode = fcntl(descriptor, F_GETFL) & O_ACCMODE;
  return wait_and_retry(call, descriptor, mode == O_RDONLY ? POLLIN : POLLOUT,
                        [part] { return guest_call(part); });
}

SyscallOutcome sys_accept(Call& call) {
  return when_ready(call, POLLIN, [call] { return guest_call(call); });
}

SyscallOutcome sys_connect(Call& call) {
  const int descriptor = call.integer(0);
  if (call.process.alone()) return block_on_host(call);
  if (is_nonblocking(descriptor)) return pass_through(call);
  const auto attempt = [call, descriptor] {
    const int flags = fcntl(descriptor, F_GETFL);
    fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
    const long result = guest_call(call);
    fcntl(descriptor, F_SETFL, flags);
    return result;
  };
  const long result = attempt();
  if (result == -EINPROGRESS) {
    return wait_and_retry(call, descriptor, POLLOUT, [descriptor]() -> long {
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
      return -error;
    });
  }
  if (result != -EAGAIN) return call.finish(result);
  return wait_for_backlog(call);
}

namespace {

/// Copies between two descriptors. The parameters are the positions of arguments.
SyscallOutcome copy(Call& call, unsigned input_argument, unsigned output_argument, unsigned size_argument) {
  if (call.process.alone()) return block_on_host(call);
  const int input = call.integer(input_argument), output = call.integer(output_argument);
  Call part = call;
  if (!never_blocks(type_of(output)))
    part.arguments[size_argument] = std::min(call[size_argument], kSafeWriteBytes);
  const auto attempt = [part, input, output]() -> long {
    return is_ready(input, POLLIN) && is_ready(output, POLLOUT) ? guest_call(part) : -EAGAIN;
  };
  const long result = attempt();
  if (result != -EAGAIN || is_nonblocking(input) || is_nonblocking(output)) return call.finish(result);
  const bool input_ready = is_ready(input, POLLIN);
  const SyscallOutcome outcome =
      wait_and_retry(call, input_ready ? output : input, input_ready ? POLLOUT : POLLIN, attempt);
  if (call.self.wait) call.self.wait->periodic = true;  // the other side may become unready
  return outcome;
}

/// The vectors at `address`, as far as Linux looks at them before it copies. `ends` is where addresses end.
OrErrno<std::vector<iovec>> load_pieces(std::uint64_t address, std::uint64_t count, std::uint64_t ends) {
  if (count > kMaxVectors) return Errno{-EINVAL};
  std::vector<iovec> pieces(count);
  if (!copy_from_guest(pieces.data(), address, count * sizeof(iovec))) return Errno{-EFAULT};
  for (const iovec& piece : pieces) {
    if (static_cast<std::int64_t>(piece.iov_len) < 0) return Errno{-EINVAL};
    const auto begin = reinterpret_cast<std::uint64_t>(piece.iov_base);
    if (begin > ends || piece.iov_len > ends - begin) return Errno{-EFAULT};
  }
  std::erase_if(pieces, [](const iovec& piece) { return piece.iov_len == 0; });
  return pieces;
}

/// Reads memory of this process (`host_pid` 0) or of another one. Returns 0 or a negative errno.
long read_memory(const Call& call, int host_pid, char* bytes, std::uint64_t source, std::uint64_t size) {
  if (host_pid == 0) return copy_from_guest(bytes, source, size) ? 0 : -EFAULT;
  const iovec ours{bytes, size}, theirs{reinterpret_cast<void*>(source), size};
  const long got =
      call_as(call.self, SYS_process_vm_readv, static_cast<std::uint64_t>(host_pid),
              reinterpret_cast<std::uint64_t>(&ours), 1, reinterpret_cast<std::uint64_t>(&theirs), 1, 0);
  if (got < 0) return got;
  return static_cast<std::uint64_t>(got) == size ? 0 : -EFAULT;
}

/// Copies from the front of one list to the front of the other, up to the next page of either. Returns the
/// bytes copied, or a negative errno.
long copy_page(const Call& call, int host_pid, std::vector<iovec>& to, std::vector<iovec>& from) {
  const auto begin_of = [](const iovec& piece) { return reinterpret_cast<std::uint64_t>(piece.iov_base); };
  const auto to_page_end = [](std::uint64_t address) { return page_down(address) + kPageBytes - address; };
  const std::uint64_t target = begin_of(to.front()), source = begin_of(from.front());
  const std::uint64_t size = std::min<std::uint64_t>(
      {to.front().iov_len, from.front().iov_len, to_page_end(target), to_page_end(source)});
  char bytes[kPageBytes];
  if (const long error = read_memory(call, host_pid, bytes, source, size); error < 0) return error;
  if (!copy_to_guest(target, bytes, size)) return -EFAULT;
  for (std::vector<iovec>* const list : {&to, &from}) {
    iovec& piece = list->front();
    piece.iov_base = static_cast<char*>(piece.iov_base) + size;
    piece.iov_len -= size;
    if (piece.iov_len == 0) list->erase(list->begin());
  }
  return static_cast<long>(size);
}

/// Returns the host's process ID of the process that has `number` as its own ID or as the ID of one of its
/// threads, or a negative value if no process has.
int host_process_of(const Process& process, int number) {
  if (number <= 0) return -1;
  if (number < kMostHostNumbers || number == kRootPid) return process.ids.to_host(number);
  const int host_pid = host_process_of_thread(process, number);
  return host_pid != 0 ? host_pid : -1;
}

}  // namespace

/// Of this process, or of another one of the run, whose memory has the same addresses on the host. Copies
/// until an address is bad; that is an error only if nothing was copied.
SyscallOutcome sys_process_vm_readv(Call& call) {
  if (call[5] != 0) return call.finish(-EINVAL);
  auto to = load_pieces(call[1], call[2], kAddressLimit);
  if (!to) return call.finish(to.failure());
  if (to->empty()) return call.finish(0);
  auto from = load_pieces(call[3], call[4], ~std::uint64_t{0});
  if (!from) return call.finish(from.failure());
  if (from->empty()) return call.finish(0);
  const int pid = call.integer(0);
  const bool is_own = pid == call.process.ids.pid() || find_thread(call.process, pid) != nullptr;
  const int host_pid = is_own ? 0 : host_process_of(call.process, pid);
  if (host_pid < 0) return call.finish(-ESRCH);
  long copied = 0;
  while (!to->empty() && !from->empty()) {
    const long size = copy_page(call, host_pid, *to, *from);
    if (size < 0) return call.finish(copied > 0 ? copied : size);
    copied += size;
  }
  return call.finish(copied);
}

SyscallOutcome sys_sendfile(Call& call) { return copy(call, 1, 0, 3); }
SyscallOutcome sys_splice(Call& call) { return copy(call, 0, 2, 4); }
SyscallOutcome sys_tee(Call& call) { return copy(call, 0, 1, 2); }

}  // namespace elision::vm
