// SPDX-License-Identifier: Apache-2.0
#include "vm/code/code_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "vm/code/emitter.h"
#include "vm/cpu/cpu.h"
#include "vm/cpu/exit.h"
#include "vm/cpu/stubs.h"
#include "vm/host/failure.h"

namespace elision::vm {
namespace {

constexpr std::size_t kLargestBlock = 64 * 1024;
constexpr std::uint64_t kPageShift = 12;

void map_region(std::uint64_t address, std::uint64_t size, int protection) {
  void* got = mmap(reinterpret_cast<void*>(address), size, protection,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == reinterpret_cast<void*>(address)) return;
  char line[96];
  std::snprintf(line, sizeof line, "cannot map %llu MB at %#llx: %s",
                static_cast<unsigned long long>(size >> 20), static_cast<unsigned long long>(address),
                std::strerror(errno));
  throw std::runtime_error(line);
}

BranchEntry* branch_slot(std::uint64_t pc, Detail detail) {
  std::uint64_t hash = branch_hash_start(detail);
  __asm__("crc32q %1, %0" : "+r"(hash) : "r"(pc));  // the hash that translated code computes
  return reinterpret_cast<BranchEntry*>(kBranchTable) + (hash & (kBranchEntries - 1));
}

}  // namespace

CodeCache::CodeCache()
    : cursor_(reinterpret_cast<std::uint8_t*>(kCodeRegion + kPermanentBytes)), meta_(kMetaRegion) {
  map_region(kCodeRegion, kCodeBytes, PROT_READ | PROT_WRITE | PROT_EXEC);
  map_region(kMetaRegion, kMetaBytes, PROT_READ | PROT_WRITE);
  map_region(kBranchTable, kBranchEntries * sizeof(BranchEntry), PROT_READ | PROT_WRITE);
  map_region(kStubTable, 4096, PROT_READ | PROT_WRITE);
  clear_branches();
}

/// Empty entries hold address 0, so a look-up of address 0 would hit its own entry. That entry gets an
/// address that hashes elsewhere.
void CodeCache::clear_branches() {
  constexpr std::uint64_t kElsewhere = std::uint64_t{1} << 63;
  constexpr Detail kAll[] = {Detail::kTimed, Detail::kCounted, Detail::kLogged};
  std::memset(reinterpret_cast<void*>(kBranchTable), 0, kBranchEntries * sizeof(BranchEntry));
  for (const Detail one : kAll) branch_slot(0, one)->pc = kElsewhere;
  for (const Detail one : kAll)
    for (const Detail other : kAll) {
      check(one == other || branch_slot(0, one) != branch_slot(0, other), "details share branch entries");
      check(branch_slot(kElsewhere, one) != branch_slot(0, other), "the branch table has no empty entry");
    }
}

bool CodeCache::nearly_full() const {
  return reinterpret_cast<std::uint64_t>(cursor_) + kLargestBlock > kCodeRegion + kCodeBytes ||
         meta_ + kLargestBlock > kMetaRegion + kMetaBytes;
}

Block& CodeCache::add(Block block, std::uint8_t* end) {
  block.host_end = reinterpret_cast<std::uint64_t>(end);
  cursor_ = reinterpret_cast<std::uint8_t*>((block.host_end + 15) & ~std::uint64_t{15});
  note_pages(block);
  const std::uint64_t pc = block.pc;
  Block& stored = blocks(block.detail).insert_or_assign(pc, std::move(block)).first->second;
  by_host_.push_back(&stored);
  return stored;
}

const Block* CodeCache::find(std::uint64_t pc, Detail detail) const {
  const Blocks& blocks = blocks_[static_cast<std::size_t>(detail)];
  const auto found = blocks.find(pc);
  return found == blocks.end() ? nullptr : &found->second;
}

const Block* CodeCache::find_host(std::uint64_t host) const {
  const auto after = std::upper_bound(by_host_.begin(), by_host_.end(), host,
                                      [](std::uint64_t h, const Block* b) { return h < b->host; });
  if (after == by_host_.begin()) return nullptr;
  const Block* candidate = *(after - 1);
  return host < candidate->host_end ? candidate : nullptr;
}

void CodeCache::remember_branch(std::uint64_t pc, Detail detail, std::uint64_t host) {
  *branch_slot(pc, detail) = {pc, host};
}

std::vector<std::uint64_t> CodeCache::pages(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t first = begin >> kPageShift;
  const std::uint64_t last = (end + (1u << kPageShift) - 1) >> kPageShift;
  std::vector<std::uint64_t> found;
  if (last - first > pages_.size()) {
    for (const auto& [page, blocks] : pages_)
      if (page >= first && page < last) found.push_back(page << kPageShift);
    std::sort(found.begin(), found.end());  // the map's order depends on its hash
  } else {
    for (std::uint64_t page = first; page < last; ++page)
      if (pages_.contains(page)) found.push_back(page << kPageShift);
  }
  return found;
}

void CodeCache::note_pages(const Block& block) {
  for (std::uint64_t page = block.pc >> kPageShift; page <= (block.end_pc - 1) >> kPageShift; ++page)
    pages_[page].push_back({block.pc, block.detail});
  for (const std::uint64_t page : block.pages_read)
    if (page < block.pc >> kPageShift || page > (block.end_pc - 1) >> kPageShift)
      pages_[page].push_back({block.pc, block.detail});
}

void CodeCache::invalidate(std::uint64_t page) {
  const auto found = pages_.extract(page >> kPageShift);
  if (found.empty()) return;
  for (const auto& [pc, detail] : found.mapped()) {
    const auto entry = blocks(detail).find(pc);
    if (entry == blocks(detail).end()) continue;  // invalidated with another of its pages
    // A block is entered only at its first instruction, whose code is at least as long as this jump.
    Emitter entrance(reinterpret_cast<std::uint8_t*>(entry->second.host));
    std::uint8_t* const patch = entrance.jump();
    Exit exit{};
    exit.reason = ExitReason::kLink;
    exit.pc = pc;
    exit.patch = patch;
    Emitter::patch(patch, reinterpret_cast<std::uint64_t>(cursor_));
    Emitter out(cursor_);
    emit_exit(out, allocate_meta(exit));
    cursor_ = reinterpret_cast<std::uint8_t*>((out.address() + 15) & ~std::uint64_t{15});
    invalid_.push_back(blocks(detail).extract(entry));
  }
}

void emit_exit(Emitter& out, const Exit* exit) {
  out.store_imm64(cpu_field(kOffsetExit), static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(exit)));
  out.jump_through(MemoryOperand{
      .displacement = static_cast<std::int64_t>(stub_slot(static_cast<unsigned>(Stub::kExit)))});
}

void CodeCache::flush() {
  invalid_.clear();
  cursor_ = reinterpret_cast<std::uint8_t*>(kCodeRegion + kPermanentBytes);
  meta_ = kMetaRegion;
  for (Blocks& blocks : blocks_) blocks.clear();
  by_host_.clear();
  pages_.clear();
  clear_branches();
  ++flushes_;
}

}  // namespace elision::vm
