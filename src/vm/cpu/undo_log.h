// SPDX-License-Identifier: Apache-2.0
// A transaction's undo log: the old contents of each line that it has written.
//
// Stores happen in place; an abort restores the old contents. The capacity covers the largest write set that
// a machine file allows (written lines stay in L1).
//
// Helpers call these functions. Guest memory may be unmapped or read-only: elision_copy_line and
// elision_restore_line (stubs.S) return 1 on a fault. elision_restore_line writes only words that have
// changed.
//
// A page of the log may have become read-only since its line was saved, because code in it was translated
// (AddressSpace::guard_code). restore() makes it writable for the moment. The translation stays valid: code
// is never translated from a line in a log (CodeManager::end_writers).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

/// Copies 64 bytes of guest memory; returns 0, or 1 if the source is not readable.
extern "C" int elision_copy_line(void* destination, const void* source);
extern "C" int elision_copy_word(void* destination, const void* source);
/// Copies 64 bytes to guest memory; returns 0, or 1 if it is not writable.
extern "C" int elision_restore_line(void* destination, const void* source);

namespace elision::vm {

class UndoLog {
 public:
  static constexpr std::size_t kCapacity = 2048;  // lines

  /// Saves the contents of `line`. Skips a line that cannot be read: the store to it will fault. Returns
  /// false if the log is full.
  bool save(LineAddr line) {
    if (size_ == kCapacity) return false;
    Entry& entry = entries_[size_];
    entry.line = line;
    if (elision_copy_line(entry.bytes, reinterpret_cast<const void*>(start_of(line).value)) == 0) ++size_;
    return true;
  }

  /// Restores all lines and clears the log. Their order does not matter: each line is in the log once.
  void restore() {
    while (size_ > 0) put_back(entries_[--size_]);
  }

  /// Restores `line`, which leaves the log.
  void restore(LineAddr line) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (entries_[i].line != line) continue;
      put_back(entries_[i]);
      entries_[i] = entries_[--size_];
      return;
    }
  }

  /// True if a byte of [begin, end) lies in a line of the log.
  bool touches(std::uint64_t begin, std::uint64_t end) const {
    for (std::size_t i = 0; i < size_; ++i) {
      const std::uint64_t line = start_of(entries_[i].line).value;
      if (line < end && line + kLineBytes > begin) return true;
    }
    return false;
  }

  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    LineAddr line;
    std::uint64_t bytes[kLineBytes / 8];
  };

  static void put_back(const Entry& entry) {
    void* const memory = reinterpret_cast<void*>(start_of(entry.line).value);
    if (elision_restore_line(memory, entry.bytes) == 0) return;
    if (protect_page_of(memory, kRead | kWrite) != 0) return;  // the page is unmapped
    if (elision_restore_line(memory, entry.bytes) == 0) protect_page_of(memory, kRead);
  }
  /// mprotect() without the C library or its headers.
  static constexpr int kRead = 1, kWrite = 2;  // PROT_READ, PROT_WRITE
  static long protect_page_of(const void* memory, int protection) {
    constexpr std::uint64_t kPage = 4096;
    constexpr long kMprotect = 10;
    long result = kMprotect;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(reinterpret_cast<std::uint64_t>(memory) & ~(kPage - 1)), "S"(kPage),
                       "d"(protection)
                     : "rcx", "r11", "memory");
    return result;
  }

  std::size_t size_ = 0;
  Entry entries_[kCapacity];
};

}  // namespace elision::vm
