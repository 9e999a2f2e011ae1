// SPDX-License-Identifier: Apache-2.0
// Compression for dedup's chunks: repeated bytes become references to their last occurrence (LZ77).
//
// A control byte n below 128 precedes n + 1 bytes that are copied. A control byte of 128 + n precedes a
// distance of two bytes, and repeats n + 4 bytes from that distance back.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace workloads::dedup {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::size_t kLeastMatch = 4, kMostMatch = 127 + kLeastMatch, kMostLiterals = 128,
                             kMostDistance = 65535;

inline void append_literals(Bytes& packed, std::span<const std::uint8_t> literals) {
  while (!literals.empty()) {
    const std::size_t number = std::min(literals.size(), kMostLiterals);
    packed.push_back(static_cast<std::uint8_t>(number - 1));
    packed.insert(packed.end(), literals.begin(), literals.begin() + static_cast<std::ptrdiff_t>(number));
    literals = literals.subspan(number);
  }
}

/// Returns how many bytes from `at` on equal those from `earlier` on.
inline std::size_t match_length(std::span<const std::uint8_t> bytes, std::size_t earlier, std::size_t at) {
  std::size_t length = 0;
  while (at + length < bytes.size() && length < kMostMatch && bytes[earlier + length] == bytes[at + length])
    ++length;
  return length;
}

inline Bytes pack(std::span<const std::uint8_t> bytes) {
  Bytes packed;
  std::array<std::uint32_t, 1024> last{};  // of each hash of four bytes: 1 + where they were
  std::size_t at = 0, literals = 0;        // first byte that is not yet packed
  while (at + kLeastMatch <= bytes.size()) {
    std::uint32_t four;
    std::memcpy(&four, &bytes[at], sizeof four);
    std::uint32_t& slot = last[four * 2654435761u >> 22];
    const std::size_t earlier = slot - std::size_t{1};
    const bool near = slot != 0 && at - earlier <= kMostDistance;
    slot = static_cast<std::uint32_t>(at + 1);
    const std::size_t length = near ? match_length(bytes, earlier, at) : 0;
    if (length < kLeastMatch) {
      ++at;
      continue;
    }
    append_literals(packed, bytes.subspan(literals, at - literals));
    const std::size_t distance = at - earlier;
    for (const std::size_t byte : {0x80 | (length - kLeastMatch), distance & 0xff, distance >> 8})
      packed.push_back(static_cast<std::uint8_t>(byte));
    literals = at += length;
  }
  append_literals(packed, bytes.subspan(literals));
  return packed;
}

/// Unpacks `packed` and appends its bytes. Returns false if `packed` is no result of pack().
inline bool unpack(std::span<const std::uint8_t> packed, Bytes& bytes) {
  const std::size_t begin = bytes.size();
  while (!packed.empty()) {
    const std::uint8_t control = packed.front();
    const bool is_match = control >= 128;
    const std::size_t size = is_match ? 3 : control + std::size_t{2};
    if (packed.size() < size) return false;
    if (!is_match) {
      bytes.insert(bytes.end(), packed.begin() + 1, packed.begin() + static_cast<std::ptrdiff_t>(size));
    } else {
      const std::size_t distance = packed[1] | std::size_t{packed[2]} << 8;
      if (distance == 0 || distance > bytes.size() - begin) return false;
      for (std::size_t i = 0; i < control - 128 + kLeastMatch; ++i)
        bytes.push_back(bytes[bytes.size() - distance]);
    }
    packed = packed.subspan(size);
  }
  return true;
}

}  // namespace workloads::dedup
