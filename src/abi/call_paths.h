// SPDX-License-Identifier: Apache-2.0
// Samples of call paths: what a thread did at its locks, its registers, and the innermost part of its stack.
// The library writes them into a ring that `elision record` reads while the program runs. Functions are found
// from them outside of the program.
//
// With ELISION_CALL_PATHS=N the library creates DIR/NNNN.paths beside the process's counter file
// (counters.h), with its number: a PathsHeader, padded to kPathsHeaderBytes, then kPathSamples samples of
// kPathSampleBytes.
//
// A sample is of one of two kinds:
//  - kCpuTime: N times in a second of a thread's CPU time, a signal of the thread's own timer.
//  - kWait: the thread has waited for locks for about 1/N of a second since its last sample of this kind,
//  awake
//    or asleep, and one of those waits has ended now. A wait is met in proportion to its length, so the time
//    since the last sample counts for it.
//
// Invariants:
//  - The sample with number `n` (from 0) lies at `n % kPathSamples`. A writer claims it by adding 1 to
//    `begun`, if `begun - taken` leaves room, and completes it by storing n + 1 to `turn`.
//  - Only the reader changes `taken`, after it has copied the samples before.
//  - `version` changes when the meaning or place of a field changes.
//
// Freestanding. Who may write: src/runtime; `taken`: the reader.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/thread_activity.h"

namespace elision::abi {

inline constexpr std::uint64_t kPathsMagic = 0x31485441504c45ULL;  // "ELPATH1"
inline constexpr std::uint32_t kPathsVersion = 1;
inline constexpr const char* kPathsExtension = ".paths";
inline constexpr std::size_t kPathsHeaderBytes = 4096;
inline constexpr std::size_t kPathSampleBytes = 8192;
inline constexpr std::uint64_t kPathSamples = 256;
inline constexpr std::size_t kPathsFileBytes = kPathsHeaderBytes + kPathSamples * kPathSampleBytes;

enum class PathEvent : std::uint32_t { kCpuTime, kWait };

/// DWARF's numbers for x86-64 (System V ABI, AMD64 supplement, figure 3.36).
inline constexpr std::size_t kPathRegisters = 17;
inline constexpr std::size_t kDwarfRbx = 3, kDwarfRbp = 6, kDwarfRsp = 7, kDwarfR8 = 8, kDwarfR12 = 12,
                             kDwarfRip = 16;

struct PathSample {
  static constexpr std::size_t kStackBytes = kPathSampleBytes - 192;

  std::uint64_t turn = 0;
  std::uint32_t thread_id = 0;
  PathEvent event = PathEvent::kCpuTime;
  std::uint64_t weight = 0;  // kCpuTime: periods of the timer; kWait: ticks of the time-stamp counter
  std::uint64_t lock = 0;    // as SeenActivity has it
  std::uint32_t activity = 0;
  std::uint32_t stack_bytes = 0;  // copied, from the stack pointer on
  std::uint64_t reserved = 0;
  std::uint64_t registers[kPathRegisters] = {};
  std::uint64_t more_reserved = 0;
  std::uint8_t stack[kStackBytes] = {};
};
static_assert(sizeof(PathSample) == kPathSampleBytes && offsetof(PathSample, stack) == 192);

struct PathsHeader {
  std::uint64_t magic = 0;  // written last
  std::uint32_t version = 0;
  std::uint32_t process_id = 0;
  std::uint64_t period_ns = 0;      // of a thread's timer
  std::uint32_t signal_in_use = 0;  // 1: the program handles the signal itself, so there are waits only
  std::uint32_t timers_missing =
      0;  // threads without a timer: they block the signal, or the kernel made none
  alignas(64) std::uint64_t begun = 0;
  std::uint64_t lost = 0;  // samples for which there was no room
  alignas(64) std::uint64_t taken = 0;
};
static_assert(sizeof(PathsHeader) <= kPathsHeaderBytes && offsetof(PathsHeader, taken) == 128);

}  // namespace elision::abi
