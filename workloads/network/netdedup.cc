// SPDX-License-Identifier: Apache-2.0
// netdedup (PARSEC 3.0): compression of a stream that removes duplicates. A client sends a file in large
// pieces; the server reads it, then cuts it into chunks by their content, looks up each chunk by its hash
// in one table for all connections, and compresses new chunks. Written from PARSEC's description and the
// TSX paper (section 6).
//
// A proxy of dedup's computation: a gear hash finds the chunks' ends, 4 KB apart on average, FNV-1a hashes
// a chunk, and run-length encoding compresses it. The original has one connection, SHA-1 and gzip. A file
// has blocks of 4 KB. Half of them come from a few blocks that all files share.
#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <unordered_set>

#include "network/locking.h"
#include "network/run.h"
#include "support.h"

namespace {

using namespace workloads::network;

constexpr std::size_t kBlockBytes = 4096, kLeastChunk = 1024, kMostChunk = 16384;
constexpr std::uint32_t kSharedBlocks = 32;
constexpr std::uint64_t kChunkEnd = 4095;  // these bits of the gear hash are 0

class Netdedup {
 public:
  static constexpr const char* kName = "netdedup";
  static constexpr const char* kDescription = "PARSEC's netdedup: files over a user-level TCP/IP stack";
  static constexpr std::uint32_t kMessages = 4;
  static constexpr std::uint32_t kMessageBytes = 65536, kUnitBytes = 1;
  static constexpr std::size_t kReadBytes = 131072;
  static constexpr bool kConnectionEach = false;

  explicit Netdedup(const Options& options) : options_(options) {
    workloads::CheapRandom random(options.seed);
    for (std::uint64_t& gear : gear_)
      gear = std::uint64_t{random.below(1u << 31)} << 32 | random.below(1u << 31);
  }

  Bytes stream(std::uint32_t connection) const {
    workloads::CheapRandom random(options_.seed + 1 + connection);
    Bytes stream(std::size_t{options_.messages} * options_.message_bytes);
    for (std::size_t block = 0; block < stream.size(); block += kBlockBytes) {
      const bool is_shared = random.below(2) == 0;
      workloads::CheapRandom bytes(is_shared ? random.below(kSharedBlocks)
                                             : (connection + 1) << 20 | block >> 12);
      const std::size_t end = std::min(block + kBlockBytes, stream.size());
      for (std::size_t i = block; i < end; ++i) stream[i] = static_cast<unsigned char>(bytes.below(256));
    }
    return stream;
  }

  void serve(End&, const Bytes& stream) {
    std::uint64_t chunks = 0, unique = 0, compressed = 0;
    for (std::size_t at = 0; at < stream.size(); ++chunks) {
      const std::size_t bytes = chunk_bytes(stream, at);
      if (is_new(hash_of(&stream[at], bytes))) {
        ++unique;
        compressed += runs(&stream[at], bytes);
      }
      at += bytes;
    }
    const std::lock_guard lock(table_mutex_);
    chunks_ += chunks;
    unique_ += unique;
    compressed_ += compressed;
  }

  bool is_answered(End&, const Bytes&) const { return true; }

  bool report() const {
    std::printf("chunks: %" PRIu64 "\nunique chunks: %" PRIu64 "\nruns: %" PRIu64 "\n", chunks_, unique_,
                compressed_);
    if (unique_ == table_.size()) return true;
    std::printf("WRONG table: %zu chunks\n", table_.size());
    return false;
  }

 private:
  std::size_t chunk_bytes(const Bytes& stream, std::size_t at) const {
    const std::size_t most = std::min(kMostChunk, stream.size() - at);
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < most; ++i) {
      hash = (hash << 1) + gear_[stream[at + i]];
      if (i + 1 >= kLeastChunk && (hash >> 20 & kChunkEnd) == 0) return i + 1;
    }
    return most;
  }

  static std::uint64_t hash_of(const unsigned char* bytes, std::size_t number) {
    std::uint64_t hash = 14695981039346656037u;
    for (std::size_t i = 0; i < number; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
  }

  static std::uint64_t runs(const unsigned char* bytes, std::size_t number) {
    std::uint64_t runs = 1;
    for (std::size_t i = 1; i < number; ++i) runs += bytes[i] != bytes[i - 1] ? 1 : 0;
    return runs;
  }

  bool is_new(std::uint64_t hash) {
    const std::lock_guard lock(table_mutex_);
    return table_.insert(hash).second;
  }

  const Options options_;
  std::array<std::uint64_t, 256> gear_;
  Mutex table_mutex_;
  std::unordered_set<std::uint64_t> table_;
  std::uint64_t chunks_ = 0, unique_ = 0, compressed_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return program<Netdedup>(argc, argv); }
