// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/events/event_attributes.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <vector>

#include "vm/host/guest_memory.h"
#include "vm/interface/guest_layout.h"
#include "vm/linux/events/event_branches.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kSampleTypes =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ |
    PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID |
    PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
    PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TRANSACTION |
    PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_WEIGHT_STRUCT;
constexpr std::uint64_t kReadFormats = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                                       PERF_FORMAT_ID | PERF_FORMAT_GROUP | PERF_FORMAT_LOST;
/// DS, ES, FS and GS have no place among the registers of 64-bit code, and bits from 24 on no register.
constexpr std::uint64_t kRegisters = 0xff0fff;
constexpr unsigned kMostPrecise = 2;
constexpr int kGuestClocks[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME,
                                CLOCK_TAI};

/// Linux writes the size that it knows, so that a program can try again.
Errno too_big(std::uint64_t address) {
  (void)store_guest(address + offsetof(perf_event_attr, size), std::uint32_t{sizeof(perf_event_attr)});
  return {-E2BIG};
}

/// 0 or an error. What Linux refuses itself.
int invalid(const perf_event_attr& attr) {
  if (attr.__reserved_1 != 0 || attr.__reserved_2 != 0 || attr.__reserved_3 != 0) return -EINVAL;
  if ((attr.sample_type & ~std::uint64_t{PERF_SAMPLE_MAX - 1}) != 0) return -EINVAL;
  if ((attr.read_format & ~std::uint64_t{PERF_FORMAT_MAX - 1}) != 0) return -EINVAL;
  if (attr.freq ? attr.sample_freq > kMostSamplesPerSecond : attr.sample_period >> 63 != 0) return -EINVAL;
  if ((attr.sample_type & PERF_SAMPLE_REGS_USER) != 0 && (attr.sample_regs_user & ~kRegisters) != 0)
    return -EINVAL;
  if ((attr.sample_type & PERF_SAMPLE_REGS_INTR) != 0 && (attr.sample_regs_intr & ~kRegisters) != 0)
    return -EINVAL;
  if ((attr.sample_type & PERF_SAMPLE_STACK_USER) != 0 &&
      (attr.sample_stack_user == 0 || attr.sample_stack_user >= 0xffff || attr.sample_stack_user % 8 != 0))
    return -EINVAL;
  if (attr.inherit && (attr.sample_type & PERF_SAMPLE_READ) != 0) return -EINVAL;
  const bool two_weights =
      (attr.sample_type & PERF_SAMPLE_WEIGHT) != 0 && (attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT) != 0;
  if (two_weights || (attr.precise_ip != 0 && attr.sample_period == 0)) return -EINVAL;
  if (attr.sample_max_stack > kMostStackEntries) return -EOVERFLOW;
  if (attr.use_clockid &&
      std::find(std::begin(kGuestClocks), std::end(kGuestClocks), attr.clockid) == std::end(kGuestClocks))
    return -EINVAL;
  return 0;
}

/// 0 or an error. What this kernel does not implement, as Linux refuses it where it does not exist: flags of
/// later kernels by EINVAL, features of hardware by EOPNOTSUPP.
int unsupported(const perf_event_attr& attr) {
  if (attr.sigtrap || attr.write_backward || attr.aux_output || attr.cgroup || attr.build_id ||
      attr.namespaces)
    return -EINVAL;
  if (attr.context_switch || attr.text_poke) return -EINVAL;
  if ((attr.sample_type & ~kSampleTypes) != 0 || (attr.read_format & ~kReadFormats) != 0) return -EINVAL;
  if (attr.precise_ip > kMostPrecise || attr.exclude_user) return -EOPNOTSUPP;
  return refusal_of_branches(attr);
}

}  // namespace

OrErrno<perf_event_attr> load_attributes(std::uint64_t address) {
  const auto given = load_guest<std::uint32_t>(address + offsetof(perf_event_attr, size));
  if (!given) return Errno{-EFAULT};
  const std::uint64_t size = *given == 0 ? std::uint64_t{PERF_ATTR_SIZE_VER0} : *given;
  if (size < PERF_ATTR_SIZE_VER0 || size > kPageBytes) return too_big(address);
  std::vector<char> bytes(std::max(size, sizeof(perf_event_attr)));
  if (!copy_from_guest(bytes.data(), address, size)) return Errno{-EFAULT};
  if (std::any_of(bytes.begin() + sizeof(perf_event_attr), bytes.end(), [](char byte) { return byte != 0; }))
    return too_big(address);
  perf_event_attr attr;
  std::copy_n(bytes.data(), sizeof attr, reinterpret_cast<char*>(&attr));
  attr.size = static_cast<std::uint32_t>(sizeof attr);
  if (const int error = invalid(attr); error != 0) return Errno{error};
  if (const int error = unsupported(attr); error != 0) return Errno{error};
  return attr;
}

}  // namespace elision::vm
