// SPDX-License-Identifier: Apache-2.0
// The fallback's buffered stores: words of eight bytes with a mask of the bytes that were stored. A hash
// table, and a Bloom filter that tells most reads of a small transaction that there is nothing for them (ALE
// paper, 2.2). The table has 64 buckets, and doubles when it holds four entries a bucket.
//
// Grows by system calls, which abort a hardware segment; the segment then runs in software.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tm/bytes.h"
#include "tm/pages.h"

namespace elision::tm {

class WriteLog {
 public:
  struct Entry {
    std::uint64_t word;  // address, a multiple of 8
    std::uint64_t value;
    std::uint64_t mask;  // 0xff in each byte that was stored
    std::uint64_t next;  // in the bucket; 0: none
  };

  void reserve_first() {
    entries_.reserve_first();
    if (buckets_ != nullptr) return;
    buckets_ = static_cast<std::uint64_t*>(take_pages(kPageBytes));
    reserved_ = kPageBytes / sizeof *buckets_;
  }
  void give_back() {
    entries_.give_back();
    if (buckets_ != nullptr) give_pages_back(buckets_, reserved_ * sizeof *buckets_);
    buckets_ = nullptr;
  }
  void clear() {
    bucket_count_ = kFirstBuckets;
    std::memset(buckets_, 0, kFirstBuckets * sizeof *buckets_);
    filter_ = 0;
    entries_.clear();
    entries_.push({});  // index 0 means none
  }
  bool is_empty() const { return entries_.size() <= 1; }

  /// Returns the entry of the word at `word`, or null if the log does not have that word.
  [[gnu::always_inline]] Entry* find(std::uint64_t word) {
    if ((filter_ & filter_bit(word)) == 0) [[likely]]
      return nullptr;
    for (std::uint64_t at = buckets_[bucket(word)]; at != 0; at = entries_[at].next) {
      if (entries_[at].word == word) return &entries_[at];
    }
    return nullptr;
  }

  /// Notes the bytes of `value` that `mask` selects.
  void store(std::uint64_t word, std::uint64_t value, std::uint64_t mask) {
    if (Entry* const entry = find(word)) {
      entry->value = (entry->value & ~mask) | (value & mask);
      entry->mask |= mask;
      return;
    }
    filter_ |= filter_bit(word);
    std::uint64_t& head = buckets_[bucket(word)];
    entries_.push({word, value & mask, mask, head});
    head = entries_.size() - 1;
    if (entries_.size() > kMostInBucket * bucket_count_) [[unlikely]]
      double_buckets();
  }

  /// Stores everything to memory, byte-exact.
  void flush() {
    for (std::size_t i = 1; i < entries_.size(); ++i) flush_entry(entries_[i]);
  }

  /// The entries that a search looks at in the longest bucket.
  std::size_t most_probes() {
    std::size_t most = 0;
    for (std::size_t i = 0; i < bucket_count_; ++i) {
      std::size_t probes = 0;
      for (std::uint64_t at = buckets_[i]; at != 0; at = entries_[at].next) ++probes;
      most = probes > most ? probes : most;
    }
    return most;
  }

 private:
  static constexpr std::size_t kFirstBuckets = 64;
  static constexpr std::size_t kMostInBucket = 4;  // on average

  static std::uint64_t filter_bit(std::uint64_t word) { return std::uint64_t{1} << (mix(word) >> 58); }
  /// Bits that the filter does not use, as far as there are not more than 2^26 buckets.
  std::size_t bucket(std::uint64_t word) const { return mix(word) >> 32 & (bucket_count_ - 1); }
  static std::uint64_t mix(std::uint64_t word) { return (word >> 3) * 0x9e3779b97f4a7c15ULL; }

  [[gnu::noinline, gnu::cold]] void double_buckets() {
    bucket_count_ *= 2;
    if (bucket_count_ > reserved_) {
      void* const more = take_pages(bucket_count_ * sizeof *buckets_);
      give_pages_back(buckets_, reserved_ * sizeof *buckets_);
      buckets_ = static_cast<std::uint64_t*>(more);
      reserved_ = bucket_count_;
    } else {
      set_bytes(buckets_, 0, bucket_count_ * sizeof *buckets_);
    }
    for (std::uint64_t at = 1; at < entries_.size(); ++at) {
      std::uint64_t& head = buckets_[bucket(entries_[at].word)];
      entries_[at].next = head;
      head = at;
    }
  }

  static void flush_entry(const Entry& entry) {
    auto* const memory = reinterpret_cast<unsigned char*>(entry.word);
    if (entry.mask == ~std::uint64_t{0}) {
      std::memcpy(memory, &entry.value, 8);
      return;
    }
    // Runs of bytes, so that what was one aligned store stays one where it can.
    for (unsigned at = 0; at < 8;) {
      const std::uint64_t rest = entry.mask >> 8 * at;
      if ((rest & 0xff) == 0) {
        ++at;
        continue;
      }
      at +=
          store_run(memory + at, entry.value >> 8 * at, static_cast<unsigned>(std::countr_one(rest)) / 8, at);
    }
  }
  static unsigned store_run(unsigned char* memory, std::uint64_t value, unsigned length, unsigned at) {
    const unsigned bytes = length >= 4 && at % 4 == 0 ? 4 : length >= 2 && at % 2 == 0 ? 2 : 1;
    if (bytes == 4) {
      std::memcpy(memory, &value, 4);
    } else if (bytes == 2) {
      std::memcpy(memory, &value, 2);
    } else {
      std::memcpy(memory, &value, 1);
    }
    return bytes;
  }

  Array<Entry> entries_;
  std::uint64_t filter_ = 0;
  std::uint64_t* buckets_ = nullptr;
  std::size_t bucket_count_ = kFirstBuckets;
  std::size_t reserved_ = 0;
};

}  // namespace elision::tm
