// SPDX-License-Identifier: Apache-2.0
// ALE's fallback (ALE paper, Algorithm 2): segments, reads that lock, buffered writes and their write-back.
//
// A segment begins inside a barrier and runs on in the program's code. If it aborts, the CPU restores
// registers, stack and the thread's state, and the barrier begins it again.
#include "htm/rtm.h"
#include "tm/bytes.h"
#include "tm/injected_aborts.h"
#include "tm/software.h"

namespace elision::tm {
namespace {

using htm::Rtm;
using htm::Status;

constexpr unsigned kSegmentTries = 4;     // then the segment runs in software
constexpr unsigned kWriteBackTries = 10;  // ALE paper, 2.2, as for the fast path
constexpr std::uint32_t kCommitsToGrow = 4;

/// Whether the address lies in a frame that the transaction made. Such a frame is gone when the transaction
/// ends: buffered, its bytes would be stored over frames of this library. No other thread sees it.
[[gnu::always_inline]] inline bool is_own_frame(const Thread& thread, const void* address) {
  std::uint64_t stack_pointer;
  asm("movq %%rsp, %0" : "=r"(stack_pointer));
  const auto at = reinterpret_cast<std::uint64_t>(address);
#ifdef ELISION_TEST_DEAD_FRAMES
  (void)thread;
  (void)at;
  return false;
#endif
  return at >= stack_pointer && at < thread.outer_cfa;
}

/// Whether barriers access the address directly.
[[gnu::always_inline]] inline bool is_own(const Thread& thread, const void* address) {
  return is_own_frame(thread, address) || thread.logs->fresh.has(address);
}

/// Outside of a segment, the lock must be visible before the location is read.
[[gnu::always_inline]] inline void lock_stripe(Thread& thread, std::uint64_t word) {
  const std::uint32_t stripe = stripe_of(reinterpret_cast<const void*>(word));
  if (stripe == thread.last_locked) return;
  thread.last_locked = stripe;
  std::atomic<std::uint64_t>& lock = stripe_locks[stripe];
  if (lock.load(std::memory_order_relaxed) == thread.turn) return;
  if (thread.segments.in_hardware) {
    lock.store(thread.turn, std::memory_order_relaxed);
  } else {
    lock.exchange(thread.turn, std::memory_order_seq_cst);
  }
}

/// A fast path that writes to the same place will look at the lock, where a page fault would only abort it.
[[gnu::always_inline]] inline void touch_lock(std::uint64_t word) {
  (void)stripe_locks[stripe_of(reinterpret_cast<const void*>(word))].load(std::memory_order_relaxed);
}

void split_segment(Thread& thread) {
  end_segment(thread);
  start_segment(thread);
}

[[gnu::always_inline]] inline void pass_checkpoint(Thread& thread) {
  if (++thread.segments.accesses >= thread.segments.limit) [[unlikely]]
    split_segment(thread);
  may_abort_here();
}

/// The word at `word`, of which the caller wants the bytes in `mask`.
[[gnu::always_inline]] inline std::uint64_t read_word(Thread& thread, std::uint64_t word,
                                                      std::uint64_t mask) {
  const WriteLog::Entry* const entry = thread.logs->writes.find(word);
  if (entry != nullptr && (entry->mask & mask) == mask) return entry->value;
  lock_stripe(thread, word);
  const std::uint64_t value = *reinterpret_cast<const volatile std::uint64_t*>(word);
  return entry == nullptr ? value : (value & ~entry->mask) | (entry->value & entry->mask);
}

/// The part of an access that lies in one word.
struct Part {
  std::uint64_t word;
  unsigned shift;  // bits
  std::size_t bytes;
  std::uint64_t mask;
};

[[gnu::always_inline]] inline Part part_at(std::uint64_t address, std::size_t bytes) {
  const std::size_t offset = address & 7;
  const std::size_t here = bytes < 8 - offset ? bytes : 8 - offset;
  const auto shift = static_cast<unsigned>(8 * offset);
  return {address - offset, shift, here, ~std::uint64_t{0} >> (64 - 8 * here) << shift};
}

}  // namespace

void start_segment(Thread& thread) {
  Segments& segments = thread.segments;
  segments.accesses = 0;
  for (unsigned aborts = 0; aborts < kSegmentTries; ++aborts) {
    const Status status = Rtm::begin();
    if (status.started()) {
      segments.in_hardware = true;
      return;
    }
    if (segments.limit > 1) --segments.limit;
    segments.commits_in_a_row = 0;
    ++thread.counters->segment_aborts;
    // A system call or a page fault would only come again.
    if (status.cause() == abi::AbortCause::kOther) break;
  }
  ++thread.counters->software_segments;
}

void end_segment(Thread& thread) {
  Segments& segments = thread.segments;
  if (!segments.in_hardware) return;
  segments.in_hardware = false;
  Rtm::commit();
  ++thread.counters->segments;
  thread.counters->segment_accesses += segments.accesses;
  if (++segments.commits_in_a_row < kCommitsToGrow) return;
  segments.commits_in_a_row = 0;
  ++segments.limit;
}

void write_back(Thread& thread) {
  WriteLog& writes = thread.logs->writes;
  if (writes.is_empty()) return;
  ++thread.counters->write_backs;
  for (unsigned tries = 0; tries < kWriteBackTries; ++tries) {
    const Status status = Rtm::begin();
    if (status.started()) {
      writes.flush();
      may_abort_here();
      Rtm::commit();
      return;
    }
    if ((status.raw & Status::kRetryBit) == 0) break;
  }
  ++thread.counters->write_backs_under_lock;
  Section::acquire(shared.section, nullptr);
  writes.flush();
  Section::release(shared.section);
}

std::uint64_t read_buffered_word(Thread& thread, const void* from, std::size_t bytes) {
  pass_checkpoint(thread);
  const Part part = part_at(reinterpret_cast<std::uint64_t>(from), bytes);
  if (is_own(thread, from)) return *reinterpret_cast<const volatile std::uint64_t*>(part.word) >> part.shift;
  return read_word(thread, part.word, part.mask) >> part.shift;
}

void write_buffered_word(Thread& thread, void* to, std::uint64_t value, std::size_t bytes) {
  pass_checkpoint(thread);
  if (is_own(thread, to)) {
    std::memcpy(to, &value, bytes);
    return;
  }
  const Part part = part_at(reinterpret_cast<std::uint64_t>(to), bytes);
  touch_lock(part.word);
  thread.logs->writes.store(part.word, value << part.shift, part.mask);
}

void read_buffered(Thread& thread, const void* from, void* to, std::size_t bytes) {
  pass_checkpoint(thread);
  if (is_own(thread, from)) {
    move_bytes(to, from, bytes);
    return;
  }
  auto address = reinterpret_cast<std::uint64_t>(from);
  auto* out = static_cast<unsigned char*>(to);
  while (bytes > 0) {
    const Part part = part_at(address, bytes);
    const std::uint64_t value = read_word(thread, part.word, part.mask) >> part.shift;
    std::memcpy(out, &value, part.bytes);
    address += part.bytes;
    out += part.bytes;
    bytes -= part.bytes;
  }
}

void write_buffered(Thread& thread, void* to, const void* from, std::size_t bytes) {
  pass_checkpoint(thread);
  if (is_own(thread, to)) {
    move_bytes(to, from, bytes);
    return;
  }
  auto address = reinterpret_cast<std::uint64_t>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  while (bytes > 0) {
    const Part part = part_at(address, bytes);
    touch_lock(part.word);
    std::uint64_t value = 0;
    std::memcpy(&value, in, part.bytes);
    thread.logs->writes.store(part.word, value << part.shift, part.mask);
    address += part.bytes;
    in += part.bytes;
    bytes -= part.bytes;
  }
}

}  // namespace elision::tm
