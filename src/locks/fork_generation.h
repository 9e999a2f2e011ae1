// SPDX-License-Identifier: Apache-2.0
// Numbers the processes of a fork family, so that a child recognises marks that its parent's threads left in
// a lock. Those threads do not exist in the child.
//
// The number lies in a page that the kernel clears in the child of a fork (madvise(2), MADV_WIPEONFORK, Linux
// 4.14). So the child's first lock operation finds no number, even in a fork handler that runs before ours
// (allocators have such handlers), or after a fork that runs no handlers.
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
  // If threads race here a number may stay unused, but none is used twice.
  const std::uint32_t mine = generations_begun.fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint32_t current = 0;
  return fork_page.generation_plus_one.compare_exchange_strong(current, mine, std::memory_order_relaxed)
             ? mine
             : current;
}

/// Differs from the number of every ancestor. 0 in the first process.
inline std::uint32_t fork_generation() {
  std::uint32_t plus_one = fork_page.generation_plus_one.load(std::memory_order_relaxed);
  if (plus_one == 0) [[unlikely]]
    plus_one = begin_fork_generation();
  return plus_one - 1;
}

/// Whether `generation` is this process's. False if it has none yet: no lock has the number ~0 (adopting()).
inline bool is_fork_generation(std::uint32_t generation) {
  return generation + 1 == fork_page.generation_plus_one.load(std::memory_order_relaxed);
}

/// The mark of a lock while a thread of this process clears what it inherited. It differs between processes,
/// since a fork may interrupt the clearing.
inline std::uint32_t adopting() { return 1u << 31 | fork_generation(); }

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
