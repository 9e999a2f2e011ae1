// SPDX-License-Identifier: Apache-2.0
// Packets: chains of mbufs and clusters of BSD's sizes.
//
// An mbuf has 256 bytes at a multiple of 256. It holds up to 192 bytes itself, or refers to a cluster of 2
// KB, which several mbufs may share. The first mbuf of a packet has the packet's header, which replaces a
// TCP header. A packet belongs to one thread, or to the queue that it is in.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "network/zone.h"

namespace workloads::network {

inline constexpr std::uint32_t kInlineBytes = 192, kClusterBytes = 2048;

struct alignas(64) Cluster {
  Cluster* next = nullptr;
  Cluster* next_magazine = nullptr;
  std::atomic<std::uint32_t> references{0};
  alignas(64) unsigned char bytes[kClusterBytes];
};

struct Header {
  std::uint32_t connection;
  std::uint32_t bytes;         // of data
  std::uint64_t sequence;      // number of the first byte
  std::uint64_t acknowledged;  // the sender has received all bytes before this one
  std::uint32_t window;        // how many more bytes the sender accepts
  std::uint16_t checksum;      // of the data
  bool opens;                  // the first packet of an end
};

struct alignas(256) Mbuf {
  Mbuf* next = nullptr;  // of the packet
  union {
    Mbuf* next_packet = nullptr;  // of a queue
    Mbuf* next_magazine;          // of a zone
  };
  Cluster* cluster = nullptr;  // null: the bytes are here
  Header header;               // of a packet's first mbuf
  std::uint32_t bytes = 0;
  alignas(64) unsigned char own[kInlineBytes];

  unsigned char* data() { return cluster != nullptr ? cluster->bytes : own; }
};
static_assert(sizeof(Mbuf) == 256);

/// A queue of packets.
struct PacketQueue {
  Mbuf* first = nullptr;
  Mbuf* last = nullptr;

  void push(Mbuf* packet) {
    packet->next_packet = nullptr;
    (first == nullptr ? first : last->next_packet) = packet;
    last = packet;
  }
  void append(PacketQueue packets) {
    if (packets.first == nullptr) return;
    (first == nullptr ? first : last->next_packet) = packets.first;
    last = packets.last;
  }
  /// Removes the first packet and returns it. The queue must not be empty.
  Mbuf* pop() {
    Mbuf* const packet = first;
    first = packet->next_packet;
    return packet;
  }
};

/// The zones start with enough memory for the packets of that many threads, if most packets have 64 bytes
/// or more. They grow if needed.
struct Zones {
  explicit Zones(unsigned threads) : mbufs(20 * threads), clusters(4 * threads) {}

  Zone<Mbuf> mbufs;
  Zone<Cluster> clusters;
};

/// Makes packets for one thread.
class Maker {
 public:
  explicit Maker(Zones& zones) : mbufs_(zones.mbufs), clusters_(zones.clusters) {}

  /// Returns a packet without data.
  Mbuf* make() {
    Mbuf* const mbuf = mbufs_.take();
    mbuf->next = nullptr;
    mbuf->cluster = nullptr;
    mbuf->bytes = 0;
    mbuf->header = {};
    return mbuf;
  }
  /// Returns a packet with a copy of `data` and its checksum.
  Mbuf* make(const unsigned char* data, std::uint32_t bytes);
  /// Returns a copy of the packet, which shares its clusters.
  Mbuf* copy(Mbuf* packet);
  void free(Mbuf* packet);
  void free(PacketQueue packets) {
    while (packets.first != nullptr) free(packets.pop());
  }

 private:
  Mbuf* fill(const unsigned char* data, std::uint32_t bytes);

  Cache<Mbuf> mbufs_;
  Cache<Cluster> clusters_;
};

/// Copies bytes in sections, as BSD's bcopy. libc's memcpy may end with VZEROUPPER, which aborts
/// transactions.
inline void copy_words(unsigned char* to, const unsigned char* from, std::uint32_t bytes) {
  std::size_t words = (bytes + 7) / 8;
  asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

/// The Internet checksum: the sum of 16-bit words in ones' complement. All mbufs of a packet but the last
/// have an even number of bytes.
inline std::uint16_t checksum_of(Mbuf* packet) {
  std::uint64_t sum = 0;
  for (Mbuf* mbuf = packet; mbuf != nullptr; mbuf = mbuf->next) {
    const unsigned char* const data = mbuf->data();
    std::uint32_t i = 0;
    for (; i + 4 <= mbuf->bytes; i += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, data + i, 4);
      sum += word;
    }
    std::uint32_t rest = 0;
    std::memcpy(&rest, data + i, mbuf->bytes - i);
    sum += rest;
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

/// Copies at most `most` bytes of a packet's data, from byte `from` on. Returns the number of bytes copied.
inline std::uint32_t copy_out(Mbuf* packet, std::uint32_t from, unsigned char* to, std::size_t most) {
  std::uint32_t copied = 0;
  for (Mbuf* mbuf = packet; mbuf != nullptr && copied < most; mbuf = mbuf->next) {
    if (from >= mbuf->bytes) {
      from -= mbuf->bytes;
      continue;
    }
    const auto bytes = static_cast<std::uint32_t>(std::min<std::size_t>(mbuf->bytes - from, most - copied));
    std::memcpy(to + copied, mbuf->data() + from, bytes);
    copied += bytes;
    from = 0;
  }
  return copied;
}

inline Mbuf* Maker::fill(const unsigned char* data, std::uint32_t bytes) {
  Mbuf* const mbuf = make();
  if (bytes > kInlineBytes) {
    mbuf->cluster = clusters_.take();
    mbuf->cluster->references.store(1, std::memory_order_relaxed);
  }
  std::memcpy(mbuf->data(), data, bytes);
  mbuf->bytes = bytes;
  return mbuf;
}

inline Mbuf* Maker::make(const unsigned char* data, std::uint32_t bytes) {
  Mbuf* packet = nullptr;
  Mbuf** end = &packet;
  for (std::uint32_t done = 0; done < bytes; done += (*end)->bytes, end = &(*end)->next)
    *end = fill(data + done, std::min(bytes - done, kClusterBytes));
  packet->header.bytes = bytes;
  packet->header.checksum = checksum_of(packet);
  return packet;
}

inline Mbuf* Maker::copy(Mbuf* packet) {
  Mbuf* copied = nullptr;
  Mbuf** end = &copied;
  for (Mbuf* mbuf = packet; mbuf != nullptr; mbuf = mbuf->next, end = &(*end)->next) {
    *end = make();
    (*end)->bytes = mbuf->bytes;
    (*end)->cluster = mbuf->cluster;
    if (mbuf->cluster != nullptr)
      mbuf->cluster->references.fetch_add(1, std::memory_order_relaxed);
    else
      copy_words((*end)->own, mbuf->own, mbuf->bytes);
  }
  copied->header = packet->header;
  return copied;
}

inline void Maker::free(Mbuf* packet) {
  while (packet != nullptr) {
    Mbuf* const mbuf = packet;
    packet = mbuf->next;
    if (mbuf->cluster != nullptr && mbuf->cluster->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      clusters_.give(mbuf->cluster);
    mbufs_.give(mbuf);
  }
}

}  // namespace workloads::network
