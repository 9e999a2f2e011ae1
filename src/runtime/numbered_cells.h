// SPDX-License-Identifier: Apache-2.0
// Cells with 32-bit numbers: the library's state of locks and barriers whose objects in the program are too
// small for it.
//
// Cells never move and are never unmapped, so a late reader finds an old cell and not a hole. They lie in
// blocks of anonymous memory, each twice as long as the one before. take() and give_back() use no locks and
// may be called anywhere, also in the child of a fork. Inside a transaction they work too, unless a new block
// is needed: its system call aborts the transaction. A reused cell has its last content.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace elision::runtime {

/// `Cell` has a member std::atomic<std::uint32_t> next_free, and zeros are a valid cell.
template <class Cell>
class NumberedCells {
 public:
  static constexpr std::uint32_t kNone = 0;

  /// kNone: there is no memory.
  std::uint32_t take() {
    std::uint64_t top = free_.load(std::memory_order_acquire);
    while (number_of(top) != kNone) {
      const std::uint64_t below =
          with_next_tag(top, (*this)[number_of(top)].next_free.load(std::memory_order_relaxed));
      if (free_.compare_exchange_weak(top, below, std::memory_order_acquire)) return number_of(top);
    }
    const std::uint64_t number = 1 + used_.fetch_add(1, std::memory_order_relaxed);
    return number <= kMostCells && block_is_there(block_of(number)) ? static_cast<std::uint32_t>(number)
                                                                    : kNone;
  }

  void give_back(std::uint32_t number) {
    std::uint64_t top = free_.load(std::memory_order_relaxed);
    do {
      (*this)[number].next_free.store(number_of(top), std::memory_order_relaxed);
    } while (!free_.compare_exchange_weak(top, with_next_tag(top, number), std::memory_order_release));
  }

  /// Null: the number was never taken. Not every such number is noticed.
  Cell* find(std::uint32_t number) const {
    const unsigned block = block_of(number);
    Cell* const cells = block < kBlocks ? blocks_[block].load(std::memory_order_acquire) : nullptr;
    return cells != nullptr ? cells + (number - first_of(block)) : nullptr;
  }
  /// The cell of a taken number.
  Cell& operator[](std::uint32_t number) const {
    const unsigned block = block_of(number);
    return blocks_[block].load(std::memory_order_acquire)[number - first_of(block)];
  }

 private:
  static constexpr unsigned kBlocks = 20;
  static constexpr std::uint64_t kFirstCells = 256;
  static constexpr std::uint64_t kMostCells = (kFirstCells << kBlocks) - kFirstCells - 1;

  // Block b begins at number 256 * (2^b - 1), and has 256 * 2^b cells.
  static unsigned block_of(std::uint64_t number) {
    return static_cast<unsigned>(std::bit_width(number / kFirstCells + 1)) - 1;
  }
  static std::uint64_t first_of(unsigned block) { return (kFirstCells << block) - kFirstCells; }

  bool block_is_there(unsigned block) {
    if (blocks_[block].load(std::memory_order_acquire) != nullptr) return true;
    const int saved_errno = errno;
    const std::size_t bytes = (kFirstCells << block) * sizeof(Cell);
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    Cell* nothing = nullptr;
    if (memory != MAP_FAILED && !blocks_[block].compare_exchange_strong(nothing, static_cast<Cell*>(memory),
                                                                        std::memory_order_acq_rel))
      munmap(memory, bytes);
    errno = saved_errno;
    return memory != MAP_FAILED;
  }

  // The first free cell, and a tag that changes each time (against the ABA problem).
  static std::uint32_t number_of(std::uint64_t top) { return static_cast<std::uint32_t>(top); }
  static std::uint64_t with_next_tag(std::uint64_t top, std::uint32_t number) {
    return ((top >> 32) + 1) << 32 | number;
  }

  std::atomic<std::uint64_t> free_{0};
  std::atomic<std::uint64_t> used_{0};
  std::atomic<Cell*> blocks_[kBlocks]{};
};

}  // namespace elision::runtime
