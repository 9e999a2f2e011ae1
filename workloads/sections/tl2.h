// SPDX-License-Identifier: Apache-2.0
// Transactional Locking II: software transactions with versioned locks and a global clock, written from its
// paper (Dice, Shalev, Shavit: Transactional Locking II, DISC 2006). The TSX paper compares with it.
//
// Each place maps to one of 2^20 words by its address. A word holds a version, or the transaction that is
// about to write. A transaction notes the clock when it begins. It reads places whose version is at most
// that, and buffers its writes. To commit, it acquires the words of the places it wrote, increments the clock
// for a new version, validates the words it read, writes, and releases its words with the new version. A
// transaction that only read commits at once. If a transaction finds a word acquired by another one, or a
// version above the clock it noted, it restarts.
//
// Memory released in a section is freed when the team ends. Otherwise a transaction that will fail could read
// memory that is in use for something else.
#pragma once

#include <setjmp.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include "sections/plain.h"
#include "support.h"

namespace workloads::sections {

class Tl2 {
 public:
  class Thread;
  class Transaction;
  static constexpr const char* kName = "tl2";
  static constexpr bool kCountsAborts = true;

 private:
  using Word = std::atomic<std::uint64_t>;  // version * 2, or 1 | address of the owner
  static constexpr std::size_t kWords = std::size_t{1} << 20;

  Word& word_of(const void* place) { return words_[(reinterpret_cast<std::uintptr_t>(place) >> 3) % kWords]; }

  alignas(128) std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::uint64_t> threads_{0};  // seeds their random numbers
  alignas(128) std::array<Word, kWords> words_{};
};

class Tl2::Transaction {
 public:
  template <class T>
  T read(const T& place) {
    check<T>();
    if (const Write* const own = written(&place)) return value_of<T>(own->bits);
    Word& word = shared_.word_of(&place);
    const std::uint64_t before = word.load(std::memory_order_acquire);
    const T value = load(place, __ATOMIC_ACQUIRE);
    const std::uint64_t after = word.load(std::memory_order_relaxed);
    if (before != after || (before & 1) != 0 || before / 2 > version_) restart();
    reads_.push_back(&word);
    return value;
  }

  template <class T>
  void write(T& place, std::type_identity_t<T> value) {
    check<T>();
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, kSizeOf<T>);
    if (Write* const own = written(&place)) {
      own->bits = bits;
      return;
    }
    filter_ |= filter_bit(&place);
    writes_.push_back({&place, bits, store<T>, 0});
  }

  template <class T>
  T peek(const T& place) {
    check<T>();
    if (const Write* const own = written(&place)) return value_of<T>(own->bits);
    return load(place, __ATOMIC_RELAXED);
  }

  template <class T, class... Arguments>
  T* make(Arguments... arguments) {
    T* const object = plain_.make<T>(arguments...);
    made_.push_back(object);
    return object;
  }
  template <class T>
  T* make_array(std::size_t number) {
    T* const array = plain_.make_array<T>(number);
    made_.push_back(array);
    return array;
  }
  void release(void* memory) { released_.push_back(memory); }

  [[noreturn]] void restart() { longjmp(start_, 1); }

 private:
  friend class Thread;
  struct Write {
    void* place;
    std::uint64_t bits;
    void (*store)(void*, std::uint64_t);
    std::uint64_t version;  // of its word, while this transaction owns it
  };

  explicit Transaction(Tl2& shared) : shared_(shared) {}

  template <class T>
  static constexpr void check() {
    static_assert(std::is_trivially_copyable_v<T> && kSizeOf<T> <= 8 && (kSizeOf<T> & (kSizeOf<T> - 1)) == 0);
  }
  template <class T>
  static T value_of(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, kSizeOf<T>);
    return value;
  }
  template <class T>
  static T load(const T& place, int order) {
    T value;
    __atomic_load(&place, &value, order);
    return value;
  }
  template <class T>
  static void store(void* place, std::uint64_t bits) {
    T value = value_of<T>(bits);
    __atomic_store(static_cast<T*>(place), &value, __ATOMIC_RELEASE);
  }
  static std::uint64_t filter_bit(const void* place) {
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    return std::uint64_t{1} << (((address >> 3) ^ (address >> 9)) & 63);
  }
  Write* written(const void* place) {
    if ((filter_ & filter_bit(place)) == 0) return nullptr;
    for (Write& write : writes_) {
      if (write.place == place) return &write;
    }
    return nullptr;
  }

  void begin() {
    reads_.clear();
    writes_.clear();
    made_.clear();
    released_.clear();
    filter_ = 0;
    version_ = shared_.clock_.load(std::memory_order_acquire);
  }

  std::uint64_t mine() const { return 1 | reinterpret_cast<std::uintptr_t>(this); }

  bool commit() {
    if (writes_.empty()) return true;
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      Word& word = shared_.word_of(writes_[i].place);
      std::uint64_t seen = word.load(std::memory_order_relaxed);
      writes_[i].version = kNotTaken;
      if (seen == mine()) continue;  // of an earlier write
      if ((seen & 1) != 0 || !word.compare_exchange_strong(seen, mine(), std::memory_order_acquire)) {
        give_back(i);
        return false;
      }
      writes_[i].version = seen;
    }
    const std::uint64_t version = shared_.clock_.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (version != version_ + 1 && !reads_are_valid()) {
      give_back(writes_.size());
      return false;
    }
    for (const Write& write : writes_) write.store(write.place, write.bits);
    for (const Write& write : writes_) {
      if (write.version != kNotTaken)
        shared_.word_of(write.place).store(version * 2, std::memory_order_release);
    }
    return true;
  }

  bool reads_are_valid() const {
    for (const Word* const word : reads_) {
      const std::uint64_t seen = word->load(std::memory_order_acquire);
      if (seen == mine()) {
        if (taken_version(word) / 2 > version_) return false;
      } else if ((seen & 1) != 0 || seen / 2 > version_) {
        return false;
      }
    }
    return true;
  }

  /// The version that `word` had when this transaction acquired it.
  std::uint64_t taken_version(const Word* word) const {
    for (const Write& write : writes_) {
      if (write.version != kNotTaken && &shared_.word_of(write.place) == word) return write.version;
    }
    return kNotTaken;
  }

  /// Releases the words of the first `number` writes with their old versions.
  void give_back(std::size_t number) {
    for (std::size_t i = 0; i < number; ++i) {
      if (writes_[i].version != kNotTaken)
        shared_.word_of(writes_[i].place).store(writes_[i].version, std::memory_order_release);
    }
  }

  static constexpr std::uint64_t kNotTaken = ~std::uint64_t{0};

  Tl2& shared_;
  Plain plain_;
  std::uint64_t version_ = 0;
  std::uint64_t filter_ = 0;
  std::vector<const Word*> reads_;
  std::vector<Write> writes_;
  std::vector<void*> made_, released_;
  jmp_buf start_;
};

class Tl2::Thread {
 public:
  explicit Thread(Tl2& shared) : transaction_(shared), random_(shared.threads_.fetch_add(1)) {}
  ~Thread() {
    for (void* const memory : limbo_) std::free(memory);
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  template <class Body>
  void atomically(Body body) {
    tries_ = 0;
    while (!run_once(body)) {
      ++counts.aborts;
      for (void* const memory : transaction_.made_) std::free(memory);
      back_off();
    }
    limbo_.insert(limbo_.end(), transaction_.released_.begin(), transaction_.released_.end());
    ++counts.commits;
  }
  Counts counts;

 private:
  /// Returns false if the section was undone. A separate function, so that no variable of atomically() lives
  /// in a register across setjmp.
  template <class Body>
  [[gnu::noinline]] bool run_once(Body& body) {
    if (setjmp(transaction_.start_) != 0) return false;
    transaction_.begin();
    body(transaction_);
    return transaction_.commit();
  }

  void back_off() {
    if (++tries_ < kTriesAtOnce) return;
    const unsigned exponent = tries_ < kMostExponent ? tries_ : kMostExponent;
    for (std::uint32_t pauses = random_.below(1u << exponent); pauses != 0; --pauses) __builtin_ia32_pause();
  }

  static constexpr unsigned kTriesAtOnce = 4;
  static constexpr unsigned kMostExponent = 12;

  Transaction transaction_;
  CheapRandom random_;
  unsigned tries_ = 0;
  std::vector<void*> limbo_;
};

}  // namespace workloads::sections
