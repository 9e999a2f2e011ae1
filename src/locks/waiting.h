// SPDX-License-Identifier: Apache-2.0
// How a thread waits: the back-off between looks at a lock, and the policy that says when to stop spinning
// and sleep.
//
// Spin is the papers' pure spinning. Park spins for a bounded time and then sleeps on a futex: with more
// threads than CPUs, a spinning thread only keeps the lock holder from running.
#pragma once

#include <cstdint>

#include "locks/futex.h"

namespace elision::locks {

/// The time-stamp counter.
inline std::uint64_t ticks() {
  std::uint32_t low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

/// The papers give back-off in PAUSEs of a Broadwell, which take 9 ticks. Since Skylake a PAUSE takes about
/// 140. A unit of back-off is 9 ticks' worth of PAUSEs, so that a number means the same time on every CPU.
inline constexpr std::uint32_t kTicksPerUnit = 9;
/// Ticks of one PAUSE here. Written once, before locks are in use (cpu.h measures it).
inline constinit std::uint32_t pause_ticks = kTicksPerUnit;

/// Waits about `units` units, at least one PAUSE; returns the units it really took.
inline std::uint32_t pause_units(std::uint32_t units) {
  std::uint32_t pauses = units * kTicksPerUnit / pause_ticks;
  if (pauses == 0) pauses = 1;
  for (std::uint32_t i = 0; i < pauses; ++i) asm volatile("pause" : : : "memory");
  return pauses * pause_ticks / kTicksPerUnit;
}

/// Exponential back-off: 16 units, doubled up to 1,024 (the values of the AAHTM paper's authors).
class Backoff {
 public:
  static constexpr std::uint32_t kFirst = 16;
  static constexpr std::uint32_t kLast = 1024;

  void wait() {
    spent_ += pause_units(units_);
    if (units_ < kLast) units_ *= 2;
  }
  /// Units waited so far.
  std::uint32_t spent() const { return spent_; }

 private:
  std::uint32_t units_ = kFirst;
  std::uint32_t spent_ = 0;
};

/// One PAUSE between two looks, of any length (tts: LHPA paper, section 2).
class OnePause {
 public:
  void wait() {
    asm volatile("pause" : : : "memory");
    ++pauses_;
  }
  /// Units waited so far.
  std::uint32_t spent() const { return pauses_ * pause_ticks / kTicksPerUnit; }

 private:
  std::uint32_t pauses_ = 0;
};

/// The deadline of a spinning thread. Reading the clock takes as long as several looks at a lock, on a
/// virtual machine as long as a system call. So the thread reads it when its wait begins, and then once in
/// kUnitsPerLook units.
class SpinDeadline {
 public:
  static constexpr std::uint32_t kUnitsPerLook = 64;

  /// `deadline` may be null: it never passes.
  explicit SpinDeadline(const Deadline* deadline) : deadline_(deadline) {}

  /// `spun`: units waited so far. It may wrap around.
  bool has_passed(std::uint32_t spun) {
    if (deadline_ == nullptr || spun - looked_at_ < kUnitsPerLook) return false;
    looked_at_ = spun;
    return deadline_->has_passed();
  }

 private:
  const Deadline* deadline_;
  std::uint32_t looked_at_ = 0 - kUnitsPerLook;
};

/// Spins for ever.
struct Spin {
  static constexpr bool kSleeps = false;
  static constexpr bool spun_enough(std::uint32_t) { return false; }
};

/// Spins for about 1,000 units (9,000 ticks, the order of a futex round trip), then sleeps.
struct Park {
  static constexpr bool kSleeps = true;
  static constexpr std::uint32_t kSpinUnits = 1000;
  static constexpr bool spun_enough(std::uint32_t units) { return units >= kSpinUnits; }
};

}  // namespace elision::locks
