// SPDX-License-Identifier: Apache-2.0
// SHA-1 (FIPS 180-4). dedup identifies chunks by it, as PARSEC's program does.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace workloads::dedup {

struct Fingerprint {
  std::array<std::uint32_t, 5> words{};
  bool operator==(const Fingerprint&) const = default;
  std::uint64_t code() const { return words[0] | std::uint64_t{words[1]} << 32; }
};

class Sha1 {
 public:
  static Fingerprint of(std::span<const std::uint8_t> bytes) {
    Sha1 state;
    std::size_t done = 0;
    for (; bytes.size() - done >= kBlock; done += kBlock) state.take(bytes.data() + done);
    state.take_rest(bytes.subspan(done), bytes.size());
    return state.fingerprint_;
  }

 private:
  static constexpr std::size_t kBlock = 64;

  /// The last bytes, a one, zeros, and the length in bits.
  void take_rest(std::span<const std::uint8_t> rest, std::uint64_t bytes) {
    std::array<std::uint8_t, 2 * kBlock> end{};
    for (std::size_t i = 0; i < rest.size(); ++i) end[i] = rest[i];
    end[rest.size()] = 0x80;
    const std::size_t size = rest.size() + 9 > kBlock ? 2 * kBlock : kBlock;
    for (unsigned i = 0; i < 8; ++i) end[size - 1 - i] = static_cast<std::uint8_t>(bytes * 8 >> (8 * i));
    for (std::size_t i = 0; i < size; i += kBlock) take(end.data() + i);
  }

  void take(const std::uint8_t* block) {
    std::array<std::uint32_t, 80> schedule;
    for (unsigned i = 0; i < 16; ++i, block += 4)
      schedule[i] = std::uint32_t{block[0]} << 24 | block[1] << 16 | block[2] << 8 | block[3];
    for (unsigned i = 16; i < 80; ++i)
      schedule[i] = std::rotl(schedule[i - 3] ^ schedule[i - 8] ^ schedule[i - 14] ^ schedule[i - 16], 1);
    auto [a, b, c, d, e] = fingerprint_.words;
    for (unsigned i = 0; i < 80; ++i) {
      const auto [mixed, constant] = round(i / 20, b, c, d);
      const std::uint32_t sum = std::rotl(a, 5) + mixed + e + constant + schedule[i];
      e = d, d = c, c = std::rotl(b, 30), b = a, a = sum;
    }
    const std::array<std::uint32_t, 5> sums = {a, b, c, d, e};
    for (unsigned i = 0; i < 5; ++i) fingerprint_.words[i] += sums[i];
  }

  struct Round {
    std::uint32_t mixed, constant;
  };
  static Round round(unsigned quarter, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    switch (quarter) {
      case 0:
        return {(b & c) | (~b & d), 0x5a827999};
      case 1:
        return {b ^ c ^ d, 0x6ed9eba1};
      case 2:
        return {(b & c) | (b & d) | (c & d), 0x8f1bbcdc};
      default:
        return {b ^ c ^ d, 0xca62c1d6};
    }
  }

  Fingerprint fingerprint_{{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
};

}  // namespace workloads::dedup
