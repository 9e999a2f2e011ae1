// SPDX-License-Identifier: Apache-2.0
// The code cache: translated blocks, their access checks and exits, and the indirect-branch table.
//
// Everything lies at fixed addresses below 2 GB, within reach of 32-bit absolute and RIP-relative addresses.
// Blocks never move. CodeManager flushes the whole cache when it is full, or when an assumption about flags
// proves wrong. After a flush no CPU may resume at an old host address: CodeManager::flush() sends each CPU
// to its guest address.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "vm/cpu/detail.h"
#include "vm/cpu/exit.h"
#include "vm/cpu/stubs.h"

namespace elision::vm {

inline constexpr std::uint64_t kCodeRegion = 0x70000000;
inline constexpr std::uint64_t kCodeBytes = 0x08000000;  // 128 MB of code
inline constexpr std::uint64_t kPermanentBytes = 4096;   // at the start of the code; survives flushes
inline constexpr std::uint64_t kMetaRegion = 0x78000000;
inline constexpr std::uint64_t kMetaBytes = 0x06000000;    // 96 MB of access checks and exits
inline constexpr std::uint64_t kBranchTable = 0x7e000000;  // 1 MB
inline constexpr std::uint64_t kPermanentExits = kStubTable + 0x200;

/// The host code of one guest instruction. Maps a host fault address to the guest instruction.
struct HostRange {
  std::uint32_t host_offset;  // from the start of the block
  std::uint32_t guest_offset;
  /// The register whose guest value lies in Cpu::scratch[0], or -1. For RCX, scratch[0] must be added to it.
  std::int8_t spilled = -1;
  std::uint16_t overwritten = 0;  // mask of registers whose guest values lie in Cpu::overwritten
};

struct Block {
  Detail detail = Detail::kTimed;
  std::uint64_t pc = 0;
  std::uint64_t end_pc = 0;
  std::uint64_t host = 0;  // entry
  std::uint64_t host_end = 0;
  std::vector<std::uint64_t> pages_read;  // numbers of pages whose code the translator read for this block
  std::vector<HostRange> ranges;          // ascending by host_offset, from the first instruction on

  /// The range that contains the host address `address`.
  const HostRange& range_of(std::uint64_t address) const {
    std::size_t at = 0;
    while (at + 1 < ranges.size() && host + ranges[at + 1].host_offset <= address) ++at;
    return ranges[at];
  }
};

/// An entry of the indirect-branch table, which translated code looks up.
struct BranchEntry {
  std::uint64_t pc;
  std::uint64_t host;
};
inline constexpr std::size_t kBranchEntries = 65536;
/// The hash of a target begins with this. CRC-32C is linear: hashes of one target that begin with different
/// values differ by a constant, so an entry is found only by code of the same detail.
constexpr std::uint32_t branch_hash_start(Detail detail) { return static_cast<std::uint32_t>(detail); }
static_assert(branch_hash_start(Detail::kTimed) == 0);

class Emitter;

class CodeCache {
 public:
  /// Maps the regions. Throws std::runtime_error with a message of one line if mmap() fails.
  CodeCache();

  std::uint8_t* cursor() const { return cursor_; }
  /// The start of the code that flushes keep (kPermanentBytes).
  static std::uint8_t* permanent() { return reinterpret_cast<std::uint8_t*>(kCodeRegion); }
  /// True if a block of the largest size may not fit.
  bool nearly_full() const;
  template <class T>
  T* allocate_meta(const T& value) {
    meta_ = (meta_ + 15) & ~std::uint64_t{15};
    T* result = reinterpret_cast<T*>(meta_);
    *result = value;
    meta_ += sizeof(T);
    return result;
  }

  /// Adds a finished block, whose code was written at cursor() and ends at `end`.
  Block& add(Block block, std::uint8_t* end);
  const Block* find(std::uint64_t pc, Detail detail) const;
  /// The block whose code contains `host`, or null.
  const Block* find_host(std::uint64_t host) const;
  /// Maps `pc` to `host` in the indirect-branch table.
  static void remember_branch(std::uint64_t pc, Detail detail, std::uint64_t host);
  /// Addresses of the pages in [begin, end) from which blocks were translated.
  std::vector<std::uint64_t> pages(std::uint64_t begin, std::uint64_t end) const;
  /// Invalidates all blocks translated from the page at `page`. A jump to such a block leaves to the engine.
  /// A CPU inside one runs on to the end of the block. The cache must have room (nearly_full).
  void invalidate(std::uint64_t page);
  void flush();
  std::uint64_t flushes() const { return flushes_; }

 private:
  using Blocks = std::unordered_map<std::uint64_t, Block>;
  struct BlockKey {
    std::uint64_t pc;
    Detail detail;
  };

  void note_pages(const Block& block);
  Blocks& blocks(Detail detail) { return blocks_[static_cast<std::size_t>(detail)]; }
  static void clear_branches();

  std::uint8_t* cursor_;
  std::uint64_t meta_;
  std::array<Blocks, kDetails> blocks_;
  std::vector<Blocks::node_type> invalid_;  // by_host_ points to them
  std::vector<const Block*> by_host_;
  /// Maps a page number to the blocks translated from that page.
  std::unordered_map<std::uint64_t, std::vector<BlockKey>> pages_;
  std::uint64_t flushes_ = 0;
};

/// Emits code that leaves to the engine with `exit`.
void emit_exit(Emitter& out, const Exit* exit);

}  // namespace elision::vm
