// SPDX-License-Identifier: Apache-2.0
// The memory of translated code, and what is known about it.
//
// One region at a fixed place below 2 GB holds code, access checks, exits and the indirect-branch table, so
// that 32-bit absolute and RIP-relative addresses reach all of it and all guest code down there.
// A block is never moved; the whole cache is flushed when it is full or code is unmapped. After a
// flush no CPU may resume at an old address: CodeManager::flush sends each to its guest address.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "vm/cpu/exit.h"
#include "vm/cpu/stubs.h"

namespace elision::vm {

inline constexpr std::uint64_t kCodeRegion = 0x70000000;
inline constexpr std::uint64_t kCodeBytes = 0x08000000;  // 128 MB of code
inline constexpr std::uint64_t kPermanentBytes = 4096;   // at its start: code that flushes spare
inline constexpr std::uint64_t kMetaRegion = 0x78000000;
inline constexpr std::uint64_t kMetaBytes = 0x06000000;    // 96 MB of access checks and exits
inline constexpr std::uint64_t kBranchTable = 0x7e000000;  // 1 MB
inline constexpr std::uint64_t kPermanentExits = kStubTable + 0x200;

/// One copied instruction: where a host fault address belongs.
struct HostRange {
  std::uint32_t host_offset;  // from the start of the block
  std::uint32_t guest_offset;
  std::int8_t spilled =
      -1;  // register whose guest value lies in Cpu::scratch[0]; RCX: that much is missing from it
  std::uint16_t overwritten = 0;  // registers whose guest values lie in Cpu::overwritten
};

struct Block {
  std::uint64_t pc = 0;
  std::uint64_t end_pc = 0;
  std::uint64_t host = 0;  // entry
  std::uint64_t host_end = 0;
  std::vector<std::uint64_t> pages_read;  // by number: other code that its translation rests on lies there
  std::vector<HostRange> ranges;          // by host_offset; the first is at the first instruction

  /// The instruction whose code contains `address`.
  const HostRange& range_of(std::uint64_t address) const {
    std::size_t at = 0;
    while (at + 1 < ranges.size() && host + ranges[at + 1].host_offset <= address) ++at;
    return ranges[at];
  }
};

/// An entry of the table that translated code consults for indirect branches.
struct BranchEntry {
  std::uint64_t pc;
  std::uint64_t host;
};
inline constexpr std::size_t kBranchEntries = 65536;

class Emitter;

class CodeCache {
 public:
  /// Maps the regions. Throws std::runtime_error with one line if the host does not grant them.
  CodeCache();

  std::uint8_t* cursor() const { return cursor_; }
  /// Where code that is never flushed goes (kPermanentBytes of it).
  static std::uint8_t* permanent() { return reinterpret_cast<std::uint8_t*>(kCodeRegion); }
  /// True if a block of the largest size no longer fits.
  bool nearly_full() const;
  template <class T>
  T* allocate_meta(const T& value) {
    meta_ = (meta_ + 15) & ~std::uint64_t{15};
    T* result = reinterpret_cast<T*>(meta_);
    *result = value;
    meta_ += sizeof(T);
    return result;
  }

  /// Takes over a finished block that was written at cursor().
  Block& add(Block block, std::uint8_t* end);
  const Block* find(std::uint64_t pc) const;
  /// The block whose code contains `host`, or null.
  const Block* find_host(std::uint64_t host) const;
  /// Enters pc -> host into the indirect-branch table.
  static void remember_branch(std::uint64_t pc, std::uint64_t host);
  /// The pages in [begin, end) that code was translated from.
  std::vector<std::uint64_t> pages(std::uint64_t begin, std::uint64_t end) const;
  /// Blocks of code in the page at `page` are found no more, and whoever jumps to one leaves to the engine.
  /// CPUs within one go on to its end. There must be room (nearly_full).
  void invalidate(std::uint64_t page);
  void flush();
  std::uint64_t flushes() const { return flushes_; }

 private:
  void note_pages(const Block& block);
  static void clear_branches();

  std::uint8_t* cursor_;
  std::uint64_t meta_;
  std::unordered_map<std::uint64_t, Block> blocks_;
  std::vector<std::unordered_map<std::uint64_t, Block>::node_type> invalid_;  // by_host_ still names them
  std::vector<const Block*> by_host_;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>>
      pages_;  // by number: the blocks that touch it
  std::uint64_t flushes_ = 0;
};

/// Code that leaves to the engine by `exit`.
void emit_exit(Emitter& out, const Exit* exit);

}  // namespace elision::vm
