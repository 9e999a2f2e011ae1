// SPDX-License-Identifier: Apache-2.0
// Whether the process has one thread only. If so, a lock needs no atomic instruction (glibc's mutexes use
// none either), and elision gains nothing. A thread that is created later sees all earlier stores
// (POSIX, 4.12).
#pragma once

namespace elision::locks {

inline constexpr char kManyThreads = 0;
/// Points to glibc's __libc_single_threaded where glibc has it (since 2.32). Written once, before locks are
/// in use. A plain load suffices, as for glibc's own users: the flag changes only while there is one thread.
inline constinit const char* single_threaded = &kManyThreads;

[[gnu::always_inline]] inline bool is_single_threaded() { return *single_threaded != 0; }

}  // namespace elision::locks
