// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/blocking_calls.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/credential_calls.h"
#include "vm/linux/syscalls/guest_call.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kMostOperations = 500;          // SEMOPM
constexpr std::uint64_t kMostMessageBytes = 16u << 20;  // far more than any MSGMAX in use

HelperCall same_call(const Call& call) {
  HelperCall result;
  result.number = static_cast<long>(call.number);
  std::copy(std::begin(call.arguments), std::end(call.arguments), result.arguments);
  return result;
}

/// The call, with a copy of `size` guest bytes in the place of argument `argument`.
std::optional<HelperCall> call_with_copy(const Call& call, int argument, std::uint64_t size) {
  HelperCall result = same_call(call);
  result.buffer_argument = argument;
  result.buffer.resize(size);
  if (!copy_from_guest(result.buffer.data(), call.arguments[argument], size)) return std::nullopt;
  return result;
}

bool would_wait(long result) { return result == -EAGAIN || result == -EACCES; }

}  // namespace

SyscallOutcome sys_flock(Call& call) {
  if ((call[1] & LOCK_NB) != 0) return pass_through(call);
  if (call.process.alone()) return block_on_host(call);
  const long result = guest_call(call, SYS_flock, call[0], call[1] | LOCK_NB);
  if (!would_wait(result)) return call.finish(result);
  return wait_on_helper(call, same_call(call));
}

SyscallOutcome wait_for_record_lock(Call& call) {
  if (call.process.alone()) return block_on_host(call);
  const auto helper = call_with_copy(call, 2, sizeof(struct flock));
  if (!helper) return call.finish(-EFAULT);
  const int try_command = call.integer(1) == F_SETLKW ? F_SETLK : F_OFD_SETLK;
  const long result = guest_call(call, SYS_fcntl, call[0], try_command, call[2]);
  if (!would_wait(result)) return call.finish(result);
  return wait_on_helper(call, *helper);
}

SyscallOutcome sys_semop(Call& call) {
  Nanoseconds deadline = kNoDeadline;
  if (call.number == SYS_semtimedop && call[3] != 0) {
    const auto time = load_timespec(call[3]);
    if (!time) return call.finish(time.failure());
    deadline = deadline_after(call.process, call.self, *time);
  }
  if (call[2] == 0) return call.finish(-EINVAL);
  if (call[2] > kMostOperations) return call.finish(-E2BIG);
  call.arguments[3] = 0;
  if (deadline == kNoDeadline && call.process.alone()) return block_on_host(call);
  auto helper = call_with_copy(call, 1, call[2] * sizeof(sembuf));
  if (!helper) return call.finish(-EFAULT);
  std::vector<char> attempt = helper->buffer;
  for (std::uint64_t i = 0; i < call[2]; ++i) {
    char* const at = attempt.data() + i * sizeof(sembuf);
    sembuf operation;
    std::memcpy(&operation, at, sizeof operation);
    operation.sem_flg |= IPC_NOWAIT;
    std::memcpy(at, &operation, sizeof operation);
  }
  const long result =
      call_as(call.self, SYS_semop, call[0], reinterpret_cast<std::uint64_t>(attempt.data()), call[2]);
  if (result != -EAGAIN) return call.finish(result);
  return wait_on_helper(call, std::move(*helper), deadline, -EAGAIN);
}

SyscallOutcome sys_msgsnd(Call& call) {
  if ((call[3] & IPC_NOWAIT) != 0) return pass_through(call);
  if (call.process.alone()) return block_on_host(call);
  const long result = guest_call(call, SYS_msgsnd, call[0], call[1], call[2], call[3] | IPC_NOWAIT);
  if (result != -EAGAIN) return call.finish(result);
  auto helper = call_with_copy(call, 1, sizeof(long) + std::min(call[2], kMostMessageBytes));
  if (!helper) return call.finish(-EFAULT);
  return wait_on_helper(call, std::move(*helper));
}

SyscallOutcome sys_msgrcv(Call& call) {
  if ((call[4] & IPC_NOWAIT) != 0) return pass_through(call);
  if (call.process.alone()) return block_on_host(call);
  const long result = guest_call(call, SYS_msgrcv, call[0], call[1], call[2], call[3], call[4] | IPC_NOWAIT);
  if (result != -ENOMSG) return call.finish(result);
  HelperCall helper = same_call(call);
  helper.buffer_argument = 1;
  helper.arguments[2] = std::min(call[2], kMostMessageBytes);
  helper.buffer.resize(sizeof(long) + helper.arguments[2]);
  const auto copy_out = [address = call[1]](const std::vector<char>& buffer, long bytes) -> long {
    if (bytes < 0) return bytes;
    const std::size_t size = sizeof(long) + static_cast<std::size_t>(bytes);
    return copy_to_guest(address, buffer.data(), size) ? bytes : -EFAULT;
  };
  return wait_on_helper(call, std::move(helper), kNoDeadline, 0, copy_out);
}

/// A deadline in the past makes the host answer at once. ETIMEDOUT then means that the call would wait.
SyscallOutcome sys_mq_transfer(Call& call) {
  Nanoseconds deadline = kNoDeadline;
  if (call[4] != 0) {
    const auto time = load_timespec(call[4]);
    if (!time) return call.finish(time.failure());
    deadline = deadline_at(call.process, call.self, CLOCK_REALTIME, *time);
  }
  const auto attempt = [call, over = timespec{}] {
    return guest_call(call, static_cast<long>(call.number), call[0], call[1], call[2], call[3],
                      reinterpret_cast<std::uint64_t>(&over));
  };
  const long result = attempt();
  if (result != -ETIMEDOUT) return call.finish(result);
  Wait wait;
  const short events = call.number == SYS_mq_timedsend ? POLLOUT : POLLIN;
  wait.descriptors = {{call.integer(0), events, 0}};
  wait.attempt = [&self = call.self, attempt] {
    const long answer = attempt();
    if (answer == -ETIMEDOUT) return false;
    self.thread.state.gpr[kRax] = static_cast<std::uint64_t>(answer);
    return true;
  };
  return park(call, std::move(wait), deadline, -ETIMEDOUT);
}

SyscallOutcome open_or_wait(Call& call, unsigned path_argument, int flags) {
  if (call.process.alone()) return block_on_host(call);
  const bool never_waits = (flags & (O_NONBLOCK | O_PATH)) != 0 || (flags & O_ACCMODE) == O_RDWR;
  if (never_waits) return pass_through(call);
  const std::uint64_t folder = path_argument == 0 ? static_cast<std::uint64_t>(AT_FDCWD) : call[0];
  struct stat status {};
  const long found =
      guest_call(call, SYS_newfstatat, folder, call[path_argument], reinterpret_cast<std::uint64_t>(&status),
                 (flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0);
  if (found != 0 || !S_ISFIFO(status.st_mode)) return pass_through(call);
  const auto path = load_guest_string(call[path_argument]);
  if (!path) return call.finish(-EFAULT);
  HelperCall helper;
  helper.number = SYS_openat;
  helper.arguments[0] = folder;
  helper.arguments[2] = static_cast<std::uint64_t>(flags);
  helper.buffer_argument = 1;
  helper.buffer.assign(path->begin(), path->end());
  helper.buffer.push_back('\0');
  return wait_on_helper(call, std::move(helper));
}

SyscallOutcome wait_for_backlog(Call& call) {
  auto helper = call_with_copy(call, 1, std::min<std::uint64_t>(call[2], 4096));
  if (!helper) return call.finish(-EFAULT);
  return wait_on_helper(call, std::move(*helper));
}

}  // namespace elision::vm
