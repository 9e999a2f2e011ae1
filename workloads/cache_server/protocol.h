// SPDX-License-Identifier: Apache-2.0
// The part of memcached's text protocol that the clients use: a line of words, and for a set its value
// behind the line. The client writes and reads with it, and the server divides a line into words.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace workloads::cache_server {

inline constexpr std::string_view kLineEnd = "\r\n", kMiss = "END\r\n", kStored = "STORED\r\n",
                                  kNoMemory = "SERVER_ERROR out of memory storing object\r\n";
inline constexpr std::size_t kRoom = 128;  // in a buffer, beside the value

/// Bytes that one end writes and the other reads.
class Buffer {
 public:
  explicit Buffer(std::size_t value_bytes) : bytes_(value_bytes + kRoom) {}

  void clear() { end_ = 0; }
  void append(std::string_view text) {
    std::memcpy(&bytes_[end_], text.data(), text.size());
    end_ += text.size();
  }
  void append(std::uint32_t number) {
    char* const begin = &bytes_[end_];
    end_ += static_cast<std::size_t>(std::to_chars(begin, begin + 10, number).ptr - begin);
  }
  std::string_view text() const { return {bytes_.data(), end_}; }

 private:
  std::vector<char> bytes_;
  std::size_t end_ = 0;
};

/// The words of a line.
class Words {
 public:
  static constexpr std::size_t kMost = 8;

  /// `line`: without its line end.
  explicit Words(std::string_view line) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= line.size() && count_ < kMost; ++i) {
      if (i < line.size() && line[i] != ' ') continue;
      if (i > begin) words_[count_++] = line.substr(begin, i - begin);
      begin = i + 1;
    }
  }

  std::size_t count() const { return count_; }
  std::string_view operator[](std::size_t at) const { return words_[at]; }
  std::uint32_t number(std::size_t at) const {
    std::uint32_t value = 0;
    std::from_chars(words_[at].data(), words_[at].data() + words_[at].size(), value);
    return value;
  }

 private:
  std::array<std::string_view, kMost> words_;
  std::size_t count_ = 0;
};

/// The first line of a request, without its line end, and the rest of the request.
struct Request {
  explicit Request(std::string_view text) {
    const auto* const end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
    const auto bytes = static_cast<std::size_t>(end - text.data());
    line = text.substr(0, bytes - 1);
    rest = text.substr(bytes + 1);
  }
  std::string_view line, rest;
};

}  // namespace workloads::cache_server
