// SPDX-License-Identifier: Apache-2.0
// Memory in whole pages, and an array in it that grows. Every page is touched when it is taken: a page
// fault inside a hardware transaction would only abort it. Growing makes system calls, which abort a
// transaction; then the software path grows it.
#pragma once

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/raw_output.h"

namespace elision::tm {

inline constexpr std::size_t kPageBytes = 4096;

[[noreturn]] inline void fail(const char* why) {
  runtime::Line().text("elision-tm: ").text(why).write_to(STDERR_FILENO);
  ::abort();
}

/// `bytes`, a multiple of the page size, all zero.
inline void* take_pages(std::size_t bytes) {
  const int saved_errno = errno;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("out of memory");
  for (std::size_t at = 0; at < bytes; at += kPageBytes) static_cast<volatile char*>(memory)[at] = 0;
  errno = saved_errno;
  return memory;
}

inline void give_pages_back(void* memory, std::size_t bytes) {
  const int saved_errno = errno;
  munmap(memory, bytes);
  errno = saved_errno;
}

/// Elements are trivial. Nothing is reserved before reserve_first().
template <class T>
class Array {
 public:
  void reserve_first() {
    if (data_ == nullptr) grow();
  }
  void give_back() {
    if (data_ != nullptr) give_pages_back(data_, bytes_);
    *this = Array();
  }

  [[gnu::always_inline]] T& push(const T& value) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    return data_[size_++] = value;
  }
  T pop() { return data_[--size_]; }
  void truncate(std::size_t size) { size_ = size; }
  void clear() { size_ = 0; }

  bool is_empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return data_[index]; }
  T& last() { return data_[size_ - 1]; }

 private:
  [[gnu::noinline, gnu::cold]] void grow() {
    const std::size_t bytes = data_ == nullptr ? kPageBytes : 2 * bytes_;
    T* const data = static_cast<T*>(take_pages(bytes));
    if (data_ != nullptr) {
      std::memcpy(static_cast<void*>(data), data_, size_ * sizeof(T));
      give_pages_back(data_, bytes_);
    }
    data_ = data;
    bytes_ = bytes;
    capacity_ = bytes / sizeof(T);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace elision::tm
