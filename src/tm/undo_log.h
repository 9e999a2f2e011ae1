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

  /// Restores what was noted since the log had `size`.
  void roll_back(std::size_t size) {
    while (words_.size() > size) {
      const std::size_t length = words_.pop();
      auto* const bytes = reinterpret_cast<unsigned char*>(words_.pop());
      for (std::size_t at = (length + 7) / 8 * 8; at > 0;) {
        at -= 8;
        const std::uint64_t word = words_.pop();
        std::memcpy(bytes + at, &word, length - at < 8 ? length - at : 8);
      }
    }
  }

 private:
  Array<std::uint64_t> words_;
};

}  // namespace elision::tm
