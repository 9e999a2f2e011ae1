// SPDX-License-Identifier: Apache-2.0
// Numbers processes that fork from each other, so that the child can tell what the threads of its parent left
// in a lock: they are gone.
//
// The number lies in a page that the kernel clears in the child of a fork (madvise(2), MADV_WIPEONFORK, Linux
// 4.14), so the first lock operation of the child finds it gone, wherever that is: in another library's fork
// handler that runs before ours (allocators have such handlers), or behind a fork that runs none.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace elision::locks {

struct alignas(4096) ForkPage {
  std::atomic<std::uint32_t> generation_plus_one;  // 0: this process has none yet
};
inline constinit ForkPage fork_page{};
inline constinit std::atomic<std::uint32_t> generations_begun{0};
inline constinit bool fork_clears_page = false;

[[gnu::noinline, gnu::cold]] inline std::uint32_t begin_fork_generation() {
  // A number may go unused where threads meet here, but none is used twice.
  const std::uint32_t mine = generations_begun.fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint32_t current = 0;
  return fork_page.generation_plus_one.compare_exchange_strong(current, mine, std::memory_order_relaxed)
             ? mine
             : current;
}

/// Differs from that of every process this one descends from. 0 in the first.
inline std::uint32_t fork_generation() {
  std::uint32_t plus_one = fork_page.generation_plus_one.load(std::memory_order_relaxed);
  if (plus_one == 0) [[unlikely]]
    plus_one = begin_fork_generation();
  return plus_one - 1;
}

/// Whether that is this process's, which has one already.
inline bool is_fork_generation(std::uint32_t generation) {
  const std::uint32_t plus_one = fork_page.generation_plus_one.load(std::memory_order_relaxed);
  return plus_one != 0 && plus_one - 1 == generation;
}

/// What a lock carries while somebody in this process forgets what it inherited. It differs from process to
/// process: a fork may come in the middle of that.
inline std::uint32_t adopting() { return ~fork_generation(); }

/// Before locks are in use.
inline void set_up_fork_generation() {
  const int saved_errno = errno;
  fork_clears_page = madvise(&fork_page, sizeof fork_page, MADV_WIPEONFORK) == 0;
  errno = saved_errno;
  (void)fork_generation();
}

/// A fork handler of the child, for kernels that do not clear the page.
inline void fork_generation_in_child() {
  if (!fork_clears_page) fork_page.generation_plus_one.store(0, std::memory_order_relaxed);
}

}  // namespace elision::locks
