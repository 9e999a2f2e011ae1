// SPDX-License-Identifier: Apache-2.0
// An item as memcached lays it out: a header of 56 bytes, and behind it the key with a zero, the suffix
// (flags and length as text) and the value with its line end. It fills the beginning of a chunk of a slab.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace workloads::cache_server {

inline constexpr std::uint8_t kLinked = 1;  // in the hash table and in an LRU list
inline constexpr std::uint8_t kFree = 4;    // in a slab class's list of free chunks

struct Item {
  Item *next, *previous;      // in the LRU list of its slab class
  Item* chained;              // in its bucket of the hash table
  std::uint32_t time;         // when it was last put at the head of its list, in seconds
  std::uint32_t expiry;       // 0: never
  std::uint32_t value_bytes;  // with its line end
  std::uint16_t references;   // of requests that use it
  std::uint8_t suffix_bytes, flags, slab_class, key_bytes;
  std::uint64_t version;

  char* key() { return reinterpret_cast<char*>(this + 1); }
  char* suffix() { return key() + key_bytes + 1; }
  char* value() { return suffix() + suffix_bytes; }
  bool has_key(std::string_view wanted) {
    return key_bytes == wanted.size() && std::memcmp(key(), wanted.data(), wanted.size()) == 0;
  }
  std::string_view key_text() { return {key(), key_bytes}; }
  std::uint32_t bytes() const {
    return static_cast<std::uint32_t>(sizeof(Item)) + key_bytes + 1 + suffix_bytes + value_bytes;
  }
};
static_assert(sizeof(Item) == 56);

}  // namespace workloads::cache_server
