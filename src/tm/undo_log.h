// SPDX-License-Identifier: Apache-2.0
// Old contents of memory, for the transactions that the program may cancel. Entries are read from the end:
// the bytes, padded to words, then address and length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tm/pages.h"

namespace elision::tm {

class UndoLog {
 public:
  void reserve_first() { words_.reserve_first(); }
  void give_back() { words_.give_back(); }
  std::size_t size() const { return words_.size(); }
  void truncate(std::size_t size) { words_.truncate(size); }

  /// Notes what `length` bytes at `address` are now.
  void note(const void* address, std::size_t length) {
    const auto* bytes = static_cast<const unsigned char*>(address);
    for (std::size_t at = 0; at < length; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, length - at < 8 ? length - at : 8);
      words_.push(word);
    }
    words_.push(reinterpret_cast<std::uint64_t>(address));
    words_.push(length);
  }

  /// Restores what was noted since the log had `size`, except in stack frames below `live_stack`: those are
  /// gone, and the frames of this library lie where they were.
  void roll_back(std::size_t size, std::uint64_t live_stack) {
    std::uint64_t stack_pointer;
    asm volatile("movq %%rsp, %0" : "=r"(stack_pointer));
    while (words_.size() > size) {
      const std::size_t length = words_.pop();
      const std::uint64_t address = words_.pop();
      if (address + length > stack_pointer - kCalleeBytes && address < live_stack) {
        words_.truncate(words_.size() - (length + 7) / 8);
        continue;
      }
      auto* const bytes = reinterpret_cast<unsigned char*>(address);
      for (std::size_t at = (length + 7) / 8 * 8; at > 0;) {
        at -= 8;
        const std::uint64_t word = words_.pop();
        std::memcpy(bytes + at, &word, length - at < 8 ? length - at : 8);
      }
    }
  }

 private:
  /// More than the frame of what roll_back calls, and than the red zone.
  static constexpr std::uint64_t kCalleeBytes = 512;

  Array<std::uint64_t> words_;
};

}  // namespace elision::tm
