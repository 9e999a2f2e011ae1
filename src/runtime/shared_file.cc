// SPDX-License-Identifier: Apache-2.0
#include "runtime/shared_file.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace elision::runtime {
namespace {

constexpr std::size_t kPageBytes = 4096;

/// A file larger than the limit would kill the process (SIGXFSZ).
bool file_size_is_allowed(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

void* map_file(int file, std::size_t bytes, std::size_t reserved, void* place) {
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return MAP_FAILED;
  // Gives the error, on file systems that support it.
  int error = 0;
  do {
    error = fallocate(file, 0, 0, static_cast<off_t>(reserved)) != 0 ? errno : 0;
  } while (error == EINTR);
  if (error != 0 && error != EOPNOTSUPP && error != ENOSYS) return MAP_FAILED;
  void* memory =
      mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (place != nullptr ? MAP_FIXED : 0), file, 0);
  if (memory == MAP_FAILED || has_room(memory, reserved)) return memory;
  if (place == nullptr) munmap(memory, bytes);
  errno = ENOSPC;
  return MAP_FAILED;
}

}  // namespace

int create_shared_file(const char* path, std::size_t bytes) {
  if (file_size_is_allowed(bytes)) return ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  errno = EFBIG;
  return -1;
}

void* map_shared_file(int file, std::size_t bytes, std::size_t reserved, void* place) {
  void* const memory = map_file(file, bytes, reserved, place);
  const int error = errno;
  close(file);
  errno = error;
  return memory;
}

/// The kernel adds 0 to a word of each page, which returns an error where a store of our own would raise
/// SIGBUS.
bool has_room(void* memory, std::size_t bytes) {
  constexpr auto kAddNothing = static_cast<unsigned>(FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0));
  const int saved_errno = errno;
  bool room = true;
  for (std::size_t at = 0; room && at < bytes; at += kPageBytes) {
    char* const word = static_cast<char*>(memory) + at;
    room = syscall(SYS_futex, word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, nullptr, word, kAddNothing) >= 0 ||
           errno != EFAULT;
  }
  errno = saved_errno;
  return room;
}

}  // namespace elision::runtime
