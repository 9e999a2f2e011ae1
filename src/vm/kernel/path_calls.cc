// SPDX-License-Identifier: Apache-2.0
#include "vm/kernel/path_calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "vm/kernel/blocking_calls.h"
#include "vm/kernel/guest_memory.h"
#include "vm/kernel/host_call.h"
#include "vm/kernel/path_translation.h"
#include "vm/kernel/system_calls.h"
#include "vm/kernel/waiting.h"

namespace elision::vm {
namespace {

/// The path at `address` if it is one that may need translation. Most are not: looks at 4 bytes first.
std::optional<std::string> special_path(std::uint64_t address) {
  const auto start = load_guest<std::uint32_t>(address);
  if (!start || (std::memcmp(&*start, "/pro", 4) != 0 && std::memcmp(&*start, "/sys", 4) != 0))
    return std::nullopt;
  auto path = load_guest_string(address);
  if (!path || !may_need_translation(*path)) return std::nullopt;
  return path;
}

SyscallOutcome with_translated_path(Call& call, unsigned argument) {
  const auto path = special_path(call[argument]);
  if (!path) return pass_through(call);
  const std::string translated = translate_path(call.process, *path);
  call.arguments[argument] = reinterpret_cast<std::uint64_t>(translated.c_str());
  return pass_through(call);
}

/// A descriptor of a file with these contents, as open with `flags` would give.
long open_made_up(const std::string& contents, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) return -EACCES;
  const int file = memfd_create("proc", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
  if (file < 0) return -errno;
  if (pwrite(file, contents.data(), contents.size(), 0) < 0) return close(file), -EIO;
  return file;
}

int open_flags(const Call& call) {
  switch (call.number) {
    case SYS_open:
      return call.integer(1);
    case SYS_creat:
      return O_CREAT | O_WRONLY | O_TRUNC;
    case SYS_openat2:
      return static_cast<int>(load_guest<std::uint64_t>(call[2]).value_or(0));
    default:
      return call.integer(2);
  }
}

}  // namespace

SyscallOutcome sys_open(Call& call) {
  const unsigned argument = call.number == SYS_open || call.number == SYS_creat ? 0 : 1;
  if (const auto path = special_path(call[argument])) {
    if (const auto contents = made_up_file(call.process, *path))
      return call.finish(open_made_up(*contents, open_flags(call)));
    return with_translated_path(call, argument);
  }
  return open_or_wait(call, argument, open_flags(call));
}

SyscallOutcome sys_readlink(Call& call) {
  const unsigned argument = call.number == SYS_readlink ? 0 : 1;
  const auto path = special_path(call[argument]);
  if (!path) return pass_through(call);
  const std::string translated = translate_path(call.process, *path);
  if (translated != call.process.executable) return with_translated_path(call, argument);
  const auto room = static_cast<std::int64_t>(call[argument + 2]);
  if (room <= 0) return call.finish(-EINVAL);
  const std::size_t size = std::min<std::size_t>(translated.size(), static_cast<std::size_t>(room));
  const bool stored = copy_guest_bytes(reinterpret_cast<void*>(call[argument + 1]), translated.data(), size);
  return call.finish(stored ? static_cast<long>(size) : -EFAULT);
}

SyscallOutcome sys_with_path(Call& call) { return with_translated_path(call, 0); }
SyscallOutcome sys_with_path_at(Call& call) { return with_translated_path(call, 1); }

}  // namespace elision::vm
