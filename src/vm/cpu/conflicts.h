// SPDX-License-Identifier: Apache-2.0
// What the transactions of one CPU access, how long they wait for contended lines, and how an access of
// another CPU ended one of them: evidence for profile::Account.
//
// Helpers call these functions, with the guest's TLS: none allocates. A CPU therefore keeps one note. It
// cannot miss a second conflict, because the engine takes the note before the CPU's next transaction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/held_locks.h"
#include "base/units.h"
#include "profile/access.h"

namespace elision::vm {

using profile::Access;

/// The first access of a transaction to each line, and the first one that writes. Data structures have their
/// lines at regular distances, so that places are chosen by a hash. Where lines need more than kWays places,
/// the last one is forgotten.
class TransactionAccesses {
 public:
  void clear() { ++transaction_; }
  /// The transactions from now on are no other tries of the earlier ones.
  void end_tries() { first_try_ = transaction_ + 1; }
  void note(const Access& access, bool writes) {
    const LineAddr line = line_of(GuestAddr(access.address));
    First* const set = places_[set_of(line)];
    std::size_t way = 0;
    for (; way < kWays && set[way].transaction == transaction_; ++way) {
      if (set[way].line != line) continue;
      if (writes && set[way].write.size == 0) set[way].write = access;
      return;
    }
    // The entry of an earlier try may be the one that is overwritten.
    const Access write = writes ? access : expected_write_in(line);
    set[way < kWays ? way : kWays - 1] = {line, transaction_, access, write};
  }
  /// Without size: not known.
  Access first_in(LineAddr line) const {
    const First* const set = places_[set_of(line)];
    for (std::size_t way = 0; way < kWays && set[way].transaction == transaction_; ++way)
      if (set[way].line == line) return set[way].access;
    return {};
  }

  /// Returns the transaction's first access to the line. If it has not accessed the line yet, returns the
  /// first access of the latest earlier try that did: the model has the lines of those in the sets of a
  /// repeated try before their accesses (machine/early_requests.cc). Without size: not known.
  Access expected_in(LineAddr line) const {
    if (const Access made = first_in(line); made.size != 0) return made;
    return newest_in(line, &First::access);
  }
  /// Returns a first write to the line by this try or an earlier one: what an early request that takes the
  /// line is for. Without size: not known.
  Access expected_write_in(LineAddr line) const { return newest_in(line, &First::write); }

 private:
  struct First {
    LineAddr line{};
    std::uint64_t transaction = 0;
    Access access{}, write{};
  };
  /// The access of that kind by the latest try that made one.
  Access newest_in(LineAddr line, Access First::*kind) const {
    const First* newest = nullptr;
    for (const First& first : places_[set_of(line)])
      if (first.line == line && first.transaction >= first_try_ && (first.*kind).size != 0 &&
          (newest == nullptr || first.transaction > newest->transaction))
        newest = &first;
    return newest == nullptr ? Access{} : newest->*kind;
  }
  static constexpr std::size_t kSetBits = 9, kWays = 4;

  static std::size_t set_of(LineAddr line) {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    return (line.value * kGoldenRatio) >> (64 - kSetBits);
  }

  std::uint64_t transaction_ = 1, first_try_ = 1;
  First places_[std::size_t{1} << kSetBits][kWays];
};

/// How long the accesses of a transaction waited for cache lines that were on their way between other CPUs.
/// Waits for more than kLines lines are not counted.
class TransactionWaits {
 public:
  struct Wait {
    Access access{};  // the first one that waited for its line
    std::uint64_t ticks = 0;
  };

  void clear() { count_ = 0, end_ = 0; }
  /// From `begin` to `end`. Loads wait side by side: what was counted before does not count again.
  void add(const Access& access, std::uint64_t begin, std::uint64_t end) {
    if (begin < end_) begin = end_;
    if (end <= begin) return;
    const LineAddr line = line_of(GuestAddr(access.address));
    std::size_t i = 0;
    while (i < count_ && line_of(GuestAddr(waits_[i].access.address)) != line) ++i;
    if (i == kLines) return;
    if (i == count_) waits_[count_++] = {access, 0};
    waits_[i].ticks += end - begin;
    end_ = end;
  }
  const Wait* begin() const { return waits_; }
  const Wait* end() const { return waits_ + count_; }

 private:
  static constexpr std::size_t kLines = 16;

  std::size_t count_ = 0;
  std::uint64_t end_ = 0;  // of the last wait that counts
  Wait waits_[kLines];
};

/// How an access of another CPU ended a transaction.
struct ConflictNote {
  bool is_new = false;  // the engine has not seen it
  LineAddr line{};
  Access victim{};       // the transaction's first access to the line
  Access other{};        // the access that ended it, or one to another line that prefetched this one
  Access other_first{};  // the first one to the line by the other CPU's transaction, if it was in one
  bool other_writes = false;
  bool other_prefetched = false;
  bool other_under_other_locks = false;  // it elides or holds locks, but not the victim's
  int other_thread = 0;                  // its number in the guest
};

struct ConflictEvidence {
  std::uint64_t lock = 0;                // that the transaction elides; 0: none
  const abi::HeldLocks* held = nullptr;  // by the thread that the CPU runs; null: it has run none
  TransactionAccesses accesses;
  TransactionWaits waits;
  ConflictNote note;
};

}  // namespace elision::vm
