// SPDX-License-Identifier: Apache-2.0
// What a transaction overwrote: the 64 bytes of each line before its first transactional store.
//
// Stores happen in place; an abort writes the old bytes back. Bounded by the largest write set that
// any machine file allows (written lines live in L1).
//
// Light path. Guest memory may be unmapped or read-only: elision_copy_line (stubs.S) reports a
// fault instead of dying, and a word that did not change is not written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

/// Copies 64 bytes of guest memory; returns 0, or 1 if the source is not readable.
extern "C" int elision_copy_line(void* destination, const void* source);
extern "C" int elision_copy_word(void* destination, const void* source);

namespace elision::vm {

class UndoLog {
 public:
  static constexpr std::size_t kCapacity = 2048;  // lines

  /// Remembers `line` as it is now. A line that cannot be read is not remembered: the store that
  /// follows will fault before it changes anything. False if the log is full.
  bool save(LineAddr line) {
    if (size_ == kCapacity) return false;
    Entry& entry = entries_[size_];
    entry.line = line;
    if (elision_copy_line(entry.bytes, reinterpret_cast<const void*>(start_of(line).value)) == 0) ++size_;
    return true;
  }

  /// Puts everything back, newest first, and forgets it.
  void restore() {
    while (size_ > 0) {
      const Entry& entry = entries_[--size_];
      auto* memory = reinterpret_cast<volatile std::uint64_t*>(start_of(entry.line).value);
      for (unsigned i = 0; i < kLineBytes / 8; ++i)
        if (memory[i] != entry.bytes[i]) memory[i] = entry.bytes[i];
    }
  }

  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    LineAddr line;
    std::uint64_t bytes[kLineBytes / 8];
  };
  std::size_t size_ = 0;
  Entry entries_[kCapacity];
};

}  // namespace elision::vm
