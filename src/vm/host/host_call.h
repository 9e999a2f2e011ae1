// SPDX-License-Identifier: Apache-2.0
// Raw host system calls: the result is Linux's own (a negative errno on failure), errno is untouched.
#pragma once

#include <sys/syscall.h>
#include <ucontext.h>

#include <cstdint>

namespace elision::vm {

inline long host_call(long number, std::uint64_t a0 = 0, std::uint64_t a1 = 0, std::uint64_t a2 = 0,
                      std::uint64_t a3 = 0, std::uint64_t a4 = 0, std::uint64_t a5 = 0) {
  long result;
  register std::uint64_t r10 asm("r10") = a3;
  register std::uint64_t r8 asm("r8") = a4;
  register std::uint64_t r9 asm("r9") = a5;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a0), "S"(a1), "d"(a2), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

/// Nonzero while a recorded signal waits.
extern "C" volatile int elision_host_signal_recorded;

/// Like host_call for a call that may block. Returns -EINTR without entering the host kernel if a signal
/// handler of this thread has set `flag`, even just before the call (no lost wake-up).
long host_call_interruptible(long number, const std::uint64_t (&arguments)[6],
                             const volatile int& flag = elision_host_signal_recorded);

/// A handler calls this after it has set the flag. If `context` is about to enter a blocking call, that
/// returns -EINTR instead. Async-signal-safe.
void interrupt_host_call(ucontext_t* context);

}  // namespace elision::vm
