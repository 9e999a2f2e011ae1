// SPDX-License-Identifier: Apache-2.0
// A client: draws keys and values, writes requests, checks replies. The words of a value follow from its
// key, its writer and its number, so a client notices a mixture of two values.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "protocol.h"
#include "support.h"

namespace workloads::cache_server {

inline constexpr std::size_t kKeyBytes = 8;
inline constexpr std::size_t kWord = sizeof(std::uint64_t);

/// Eight hexadecimal digits.
class Key {
 public:
  explicit Key(std::uint32_t index) {
    for (std::size_t i = 0; i < kKeyBytes; ++i) digits_[i] = "0123456789abcdef"[index >> (28 - 4 * i) & 15];
  }
  std::string_view text() const { return {digits_.data(), digits_.size()}; }

 private:
  std::array<char, kKeyBytes> digits_;
};

/// Returns word `at` of a value. Words 0 and 1 are the key and the stamp, which names the writer and the
/// number of its set.
inline std::uint64_t word_of(std::uint64_t key, std::uint64_t stamp, std::size_t at) {
  if (at < 2) return at == 0 ? key : stamp;
  return (key ^ std::rotl(stamp, static_cast<int>(at))) * 0x9e3779b97f4a7c15ull;
}

inline std::uint64_t stamp_of(unsigned writer, std::uint64_t number) {
  return std::uint64_t{writer} << 48 | number;
}

/// Returns the stamp of a value, or 0 if the value is damaged or belongs to another key.
inline std::uint64_t stamp_in(std::string_view value, std::uint32_t key) {
  std::uint64_t stamp = 0;
  for (std::size_t at = 0; at < value.size() / kWord; ++at) {
    std::uint64_t word = 0;
    std::memcpy(&word, value.data() + at * kWord, kWord);
    if (at == 1) stamp = word;
    if (word != word_of(key, stamp, at)) return 0;
  }
  return stamp;
}

struct Traffic {
  std::uint32_t keys, value_bytes;
  unsigned reads;  // percent
};

class Client {
 public:
  Client(const Traffic& traffic, unsigned writer, std::uint64_t seed)
      : traffic_(traffic), writer_(writer), random_(seed), value_(traffic.value_bytes / kWord) {}

  /// Draws a request and writes it.
  void ask(Buffer& request) {
    is_get_ = random_.below(100) < traffic_.reads;
    key_ = random_.below(traffic_.keys);
    if (is_get_)
      write_get(request);
    else
      write_set(request);
  }

  void set(std::uint32_t key, Buffer& request) {
    is_get_ = false;
    key_ = key;
    write_set(request);
  }

  /// Returns whether `reply` answers the last request.
  bool accepts(std::string_view reply) {
    if (is_get_) return reply == kMiss || accepts_value(reply);
    if (reply == kNoMemory) ++refused_;
    return reply == kStored || reply == kNoMemory;
  }

  std::uint64_t gets() const { return gets_; }
  std::uint64_t sets() const { return sets_; }
  std::uint64_t refused() const { return refused_; }  // sets

 private:
  void write_get(Buffer& request) {
    ++gets_;
    request.clear();
    request.append("get ");
    request.append(Key(key_).text());
    request.append(kLineEnd);
  }

  void write_set(Buffer& request) {
    const std::uint64_t stamp = stamp_of(writer_, ++sets_);
    for (std::size_t at = 0; at < value_.size(); ++at) value_[at] = word_of(key_, stamp, at);
    request.clear();
    request.append("set ");
    request.append(Key(key_).text());
    request.append(" 0 0 ");
    request.append(traffic_.value_bytes);
    request.append(kLineEnd);
    request.append({reinterpret_cast<const char*>(value_.data()), traffic_.value_bytes});
    request.append(kLineEnd);
  }

  bool accepts_value(std::string_view reply) const {
    constexpr std::string_view kHead = "VALUE ", kTail = "\r\nEND\r\n";
    const std::size_t begin = reply.find('\n') + 1;
    return reply.starts_with(kHead) && reply.substr(kHead.size(), kKeyBytes) == Key(key_).text() &&
           reply.size() == begin + traffic_.value_bytes + kTail.size() && reply.ends_with(kTail) &&
           stamp_in(reply.substr(begin, traffic_.value_bytes), key_) != 0;
  }

  const Traffic traffic_;
  const unsigned writer_;
  CheapRandom random_;
  std::vector<std::uint64_t> value_;
  bool is_get_ = false;
  std::uint32_t key_ = 0;
  std::uint64_t gets_ = 0, sets_ = 0, refused_ = 0;
};

}  // namespace workloads::cache_server
