// SPDX-License-Identifier: Apache-2.0
// The barriers: what a read or a write of the program does on each path.
#pragma once

#include <cstddef>
#include <cstring>

#include "tm/hardware.h"
#include "tm/injected_aborts.h"
#include "tm/software.h"
#include "tm/thread.h"

namespace elision::tm {

/// Notes old contents, unless they lie in a frame that is gone after the cancel.
inline void note_undo(Thread& thread, const void* address, std::size_t bytes) {
  std::uint64_t stack_pointer;
  asm("movq %%rsp, %0" : "=r"(stack_pointer));
  const auto at = reinterpret_cast<std::uint64_t>(address);
  if (at >= stack_pointer && at < thread.logs->checkpoints.last().registers.cfa) return;
  thread.logs->undo.note(address, bytes);
}

/// Before a write that goes to memory directly.
[[gnu::always_inline]] inline void before_direct_write(Thread& thread, const void* address,
                                                       std::size_t bytes) {
  if (thread.barriers == Barriers::kLogged) note_stripes(thread, address, bytes);
  if (thread.barriers == Barriers::kUndone) note_undo(thread, address, bytes);
}

/// Whether the object lies in one aligned word of eight bytes.
template <class T>
[[gnu::always_inline]] inline bool lies_in_word(const T* object) {
  return sizeof(T) <= 8 && (reinterpret_cast<std::uint64_t>(object) & 7) + sizeof(T) <= 8;
}

template <class T>
[[gnu::noinline]] void load_buffered(Thread& thread, const T* from, T* to) {
  if (!lies_in_word(from)) return read_buffered(thread, from, to, sizeof(T));
  const std::uint64_t word = read_buffered_word(thread, from, sizeof(T));
  __builtin_memcpy(to, &word, sizeof(T) <= 8 ? sizeof(T) : 8);
}

template <class T>
[[gnu::noinline]] void store_buffered(Thread& thread, T* to, const T* from) {
  if (!lies_in_word(to)) return write_buffered(thread, to, from, sizeof(T));
  std::uint64_t word = 0;
  __builtin_memcpy(&word, from, sizeof(T) <= 8 ? sizeof(T) : 8);
  write_buffered_word(thread, to, word, sizeof(T));
}

template <class T>
[[gnu::always_inline]] inline void load(const T* from, T* to) {
  Thread& thread = this_thread;
  if (thread.barriers == Barriers::kBuffered) [[unlikely]] {
    load_buffered(thread, from, to);
  } else {
    may_abort_here();
    __builtin_memcpy(to, from, sizeof(T));
  }
}

template <class T>
[[gnu::always_inline]] inline void store(T* to, const T* from) {
  Thread& thread = this_thread;
  if (thread.barriers != Barriers::kDirect) [[unlikely]] {
    if (thread.barriers == Barriers::kBuffered) {
      store_buffered(thread, to, from);
      return;
    }
    before_direct_write(thread, to, sizeof(T));
  }
  may_abort_here();
  __builtin_memcpy(to, from, sizeof(T));
}

/// _ITM_L*: the program is about to change memory of its own without a barrier.
[[gnu::always_inline]] inline void log_own(const void* address, std::size_t bytes) {
  Thread& thread = this_thread;
  if (thread.barriers == Barriers::kUndone) [[unlikely]]
    note_undo(thread, address, bytes);
}

}  // namespace elision::tm
