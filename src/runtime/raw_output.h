// SPDX-License-Identifier: Apache-2.0
// Messages on standard error without allocation or locks; signal-safe.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace elision::runtime {

/// A line of text, composed in place and cut off at its capacity.
class Line {
 public:
  Line& text(const char* words) {
    while (*words != '\0' && length_ < kCapacity) buffer_[length_++] = *words++;
    return *this;
  }
  Line& hexadecimal(std::uint64_t number) { return text("0x").digits(number, 16); }
  Line& decimal(std::uint64_t number) { return digits(number, 10); }

  /// Writes it, with a line end, to `descriptor`.
  void write_to(int descriptor) {
    buffer_[length_] = '\n';
    // A closed standard error cannot be reported.
    [[maybe_unused]] const ssize_t written = ::write(descriptor, buffer_, length_ + 1);
  }
  /// The text so far, without line end.
  const char* c_str() {
    buffer_[length_] = '\0';
    return buffer_;
  }

 private:
  static constexpr std::size_t kCapacity = 1000;

  Line& digits(std::uint64_t number, unsigned base) {
    char reversed[20];
    std::size_t count = 0;
    do {
      reversed[count++] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    while (count > 0 && length_ < kCapacity) buffer_[length_++] = reversed[--count];
    return *this;
  }

  char buffer_[kCapacity + 1];
  std::size_t length_ = 0;
};

}  // namespace elision::runtime
