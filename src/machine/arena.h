// SPDX-License-Identifier: Apache-2.0
// The model's memory: one anonymous mapping, made once, zero until touched.
//
// Freestanding: it makes its two system calls itself, because the model cannot use the C library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elision::machine {

class Arena {
 public:
  /// Reserves `bytes`; pages that are never touched cost nothing. exists() is false if the host has no
  /// memory.
  static Arena reserve(std::size_t bytes) {
    constexpr long kMmap = 9, kReadWrite = 3, kPrivateAnonymousNoReserve = 0x4022;
    const long address =
        system_call(kMmap, 0, static_cast<long>(bytes), kReadWrite, kPrivateAnonymousNoReserve, -1, 0);
    return address < 0 ? Arena(nullptr, 0) : Arena(reinterpret_cast<char*>(address), bytes);
  }

  bool exists() const { return begin_ != nullptr; }

  /// `count` zeroed objects of T, each starting a host cache line if `count` is more than one line.
  template <class T>
  T* take(std::size_t count) {
    constexpr std::size_t kAlignment = 64;
    used_ = (used_ + kAlignment - 1) & ~(kAlignment - 1);
    T* const result = reinterpret_cast<T*>(begin_ + used_);
    used_ += count * sizeof(T);
    if (used_ > size_) __builtin_trap();
    return result;
  }

  void release() {
    constexpr long kMunmap = 11;
    system_call(kMunmap, reinterpret_cast<long>(begin_), static_cast<long>(size_), 0, 0, 0, 0);
  }

 private:
  Arena(char* begin, std::size_t size) : begin_(begin), size_(size) {}

  static long system_call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
  }

  char* begin_;
  std::size_t size_;
  std::size_t used_ = 0;
};

}  // namespace elision::machine
