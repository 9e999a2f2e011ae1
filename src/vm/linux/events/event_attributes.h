// SPDX-License-Identifier: Apache-2.0
// Which attributes of perf_event_open the guest kernel takes. What it does not implement is refused with the
// error that Linux has for hardware or kernels without it, so that programs fall back as on those.
//
// Sources: perf_event_open(2), Linux kernel/events/core.c (perf_copy_attr), arch/x86/events.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>

#include "vm/interface/fallible.h"

namespace elision::vm {

/// /proc/sys/kernel: perf_event_max_sample_rate, perf_event_max_stack, perf_event_paranoid.
inline constexpr std::uint64_t kMostSamplesPerSecond = 100000;
inline constexpr std::uint64_t kMostStackEntries = 127;
inline constexpr int kParanoid = 2;

/// Reads the attributes at `address`.
OrErrno<perf_event_attr> load_attributes(std::uint64_t address);

inline bool is_sampled(const perf_event_attr& attr) { return attr.sample_period != 0; }

}  // namespace elision::vm
