// SPDX-License-Identifier: Apache-2.0
// Whether the process has one thread only: then nobody can come in between a look at a word and a store to
// it, and a lock needs no atomic instruction, as in glibc's own mutexes; nor is there anybody to run beside
// in a transaction. A thread that is created later sees what was stored (POSIX, 4.12).
#pragma once

namespace elision::locks {

inline constexpr char kManyThreads = 0;
/// glibc's __libc_single_threaded (2.32) if there is one. Written once, before locks are in use.
inline constinit const char* single_threaded = &kManyThreads;

[[gnu::always_inline]] inline bool is_single_threaded() {
  return __atomic_load_n(single_threaded, __ATOMIC_RELAXED) != 0;
}

}  // namespace elision::locks
