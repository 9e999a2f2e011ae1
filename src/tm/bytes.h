// SPDX-License-Identifier: Apache-2.0
// memmove and memset for hardware transactions. The C library's may execute VZEROUPPER, which aborts a
// transaction on some CPUs. glibc has variants without it, but does not choose them on some Haswells.
#pragma once

#include <cstddef>

namespace elision::tm {

/// Sixteen bytes anywhere.
using Block [[gnu::vector_size(16), gnu::may_alias, gnu::aligned(1)]] = long long;
inline constexpr std::size_t kBlockBytes = sizeof(Block);

/// The two may overlap.
[[gnu::noinline]] inline void move_bytes(void* to, const void* from, std::size_t bytes) {
  auto* const target = static_cast<char*>(to);
  const auto* const source = static_cast<const char*>(from);
  const auto move_block = [&](std::size_t at) {
    *reinterpret_cast<Block*>(target + at) = *reinterpret_cast<const Block*>(source + at);
  };
  if (target <= source || target >= source + bytes) {
    std::size_t at = 0;
    for (; at + kBlockBytes <= bytes; at += kBlockBytes) move_block(at);
    for (; at < bytes; ++at) target[at] = source[at];
    return;
  }
  std::size_t left = bytes;
  for (; left >= kBlockBytes; left -= kBlockBytes) move_block(left - kBlockBytes);
  for (; left > 0; --left) target[left - 1] = source[left - 1];
}

[[gnu::noinline]] inline void set_bytes(void* to, int value, std::size_t bytes) {
  auto* const target = static_cast<char*>(to);
  const auto byte = static_cast<unsigned char>(value);
  const auto half = static_cast<long long>(0x0101010101010101ULL * byte);
  const Block block = {half, half};
  std::size_t at = 0;
  for (; at + kBlockBytes <= bytes; at += kBlockBytes) *reinterpret_cast<Block*>(target + at) = block;
  for (; at < bytes; ++at) target[at] = static_cast<char>(byte);
}

}  // namespace elision::tm
