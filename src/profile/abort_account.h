// SPDX-License-Identifier: Apache-2.0
// Adds up samples of aborts, as the CPU's performance events give them: where, why, in whose critical
// sections, and how many cycles the attempts had taken. The records come from the ring buffers of events
// that `elision record` opens or from a file of `perf record`.
//
// Each sample stands for its period, so many aborts. Where aborts were counted as well (AbortCounts), samples
// stand for equal parts of that number: lost ones cost accuracy, not aborts.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/process_images.h"
#include "profile/profile.h"

namespace elision::profile {

/// The cause of an abort as the flags of a sample tell it (PERF_TXN_). The names are those of the library
/// (abi/counters.h) where both mean the same: "lock-busy", "explicit", "conflict", "capacity". The library's
/// "other" are "instruction" (one that no transaction may execute, a system call, a fault) and "interrupt".
std::string cause_of(std::uint64_t transaction);
/// Operands of the library's XABORTs for a lock that is held (kCodeLockBusy, kCodeNestedBusy).
inline constexpr std::uint64_t kLockBusyCodes[] = {0xfc, 0xfe};

/// What the CPU has counted, from the program's begin to its end.
struct AbortCounts {
  double aborts = 0, commits = 0;
  double aborted_cycles = 0;  // in transactions that aborted; 0: not known
  double running = 1;         // the least share of an event's time in which it was on the CPU
};

/// Sorts rows, most cycles first. Those beyond AbortAccount::kMostWritten become one a cause, of many places.
void keep_most_cycles(std::vector<AbortRow>& rows);

class AbortAccount {
 public:
  /// So many different rows are kept. Further ones are added to rows without callers, then to one without
  /// places.
  static constexpr std::size_t kMostRows = 1 << 14;
  /// So many are written into a profile, those with most cycles. The others are one row a cause, of many
  /// places.
  static constexpr std::size_t kMostWritten = 1000;

  /// One sample. `image`: of its process. The images must be the same in all calls.
  void add(const PerfSample& sample, ProcessImages& images, std::size_t image);
  void add_losses(std::uint64_t records) { lost_ += static_cast<double>(records); }
  double samples() const { return samples_; }

  /// What is known now, with names. `counts`: null: nothing was counted.
  AbortEvents events(ProcessImages& images, const AbortCounts* counts) const;

 private:
  struct Sums {
    double samples = 0, aborts = 0, cycles = 0;
  };
  /// As AbortRow, with addresses. `inside`: call instructions.
  struct Key {
    std::size_t image = 0;
    std::string cause{};
    std::uint64_t place = 0;
    std::vector<std::uint64_t> callers{}, inside{};

    auto operator<=>(const Key&) const = default;
  };

  std::map<Key, Sums> rows_;
  double samples_ = 0, aborts_ = 0, cycles_ = 0, cycles_squared_ = 0, lost_ = 0;
  double with_branches_ = 0, whole_paths_ = 0;
};

}  // namespace elision::profile
