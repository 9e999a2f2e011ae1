// SPDX-License-Identifier: Apache-2.0
#include "machine/description_fields.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/units.h"
#include "machine/cache.h"
#include "machine/directory.h"
#include "machine/link.h"

namespace elision::machine {
namespace {

constexpr std::string_view kAbortedLinesWords[] = {"l1", "l2", "lost"};
constexpr std::string_view kReadEvictionWords[] = {"l1", "l3", "never"};

/// Bounds are wide. They catch typing errors (such as a wrong unit) and keep the model's arithmetic far from
/// overflow; they do not judge plausibility.
constexpr std::uint32_t kMostCycles = 100'000'000;
constexpr std::uint32_t kMostPicoseconds = 50'000'000;

// A function that returns a member. A macro, because C++ has no pointer to a nested member.
#define ELISION_NUMBER(path, member_path, least, most)                            \
  Field {                                                                         \
    path, NumberField {                                                           \
      [](Description& d) -> std::uint32_t& { return d.member_path; }, least, most \
    }                                                                             \
  }
/// Nanoseconds with up to three decimals; the member has picoseconds.
#define ELISION_NANOSECONDS(path, member_path, least, most)                          \
  Field {                                                                            \
    path, NumberField {                                                              \
      [](Description& d) -> std::uint32_t& { return d.member_path; }, least, most, 3 \
    }                                                                                \
  }
#define ELISION_CYCLES(path, member_path) ELISION_NUMBER(path, member_path, 0, kMostCycles)
#define ELISION_FLAG(path, member_path)                     \
  Field {                                                   \
    path, FlagField {                                       \
      [](Description& d) -> bool& { return d.member_path; } \
    }                                                       \
  }
#define ELISION_TEXT(path, member_path)                                                        \
  Field {                                                                                      \
    path, TextField {                                                                          \
      [](Description& d) -> char* { return d.member_path; }, sizeof(Description{}.member_path) \
    }                                                                                          \
  }
#define ELISION_CHOICE(path, member_path, words)                                                            \
  Field {                                                                                                   \
    path, ChoiceField {                                                                                     \
      [](Description& d) -> std::uint8_t& { return reinterpret_cast<std::uint8_t&>(d.member_path); }, words \
    }                                                                                                       \
  }
#define ELISION_CACHE(path, member_path, most_ways)                  \
  ELISION_NUMBER(path ".size_kb", member_path.size_kb, 1, 1u << 20), \
      ELISION_NUMBER(path ".ways", member_path.ways, 1, most_ways)
#define ELISION_CORE_CACHE(path, member_path, most_ways) \
  ELISION_CACHE(path, member_path, most_ways),           \
      ELISION_NUMBER(path ".latency_cycles", member_path.latency_cycles, 1, 10'000)

const Field kFields[] = {
    ELISION_TEXT("name", name),
    ELISION_NUMBER("cpuid.family", cpuid.family, 6, 6),
    ELISION_NUMBER("cpuid.model", cpuid.model, 0, 255),
    ELISION_NUMBER("cpuid.stepping", cpuid.stepping, 0, 15),
    ELISION_TEXT("cpuid.brand", cpuid.brand),
    ELISION_NUMBER("clock.frequency_mhz", frequency_mhz, 100, 10'000),
    ELISION_NUMBER("clock.core_mhz", core_mhz, 100, 10'000),
    ELISION_NUMBER("topology.sockets", topology.sockets, 1, 8),
    ELISION_NUMBER("topology.cores", topology.cores, 1, kMaxCpus),
    ELISION_NUMBER("topology.threads_per_core", topology.threads_per_core, 1, 2),
    ELISION_NUMBER("core.issue_width", core.issue_width, 1, 16),
    ELISION_NUMBER("core.reorder_buffer_uops", core.reorder_buffer_uops, 1, 4096),
    ELISION_NUMBER("core.load_buffer_entries", core.load_buffer_entries, 1, 256),
    ELISION_NUMBER("core.fill_buffers", core.fill_buffers, 1, 64),
    ELISION_NUMBER("core.store_buffer_entries", core.store_buffer_entries, 1, 128),
    ELISION_NUMBER("core.outstanding_stores", core.outstanding_stores, 1, 64),
    ELISION_NUMBER("core.branch_misprediction_cycles", core.branch_misprediction_cycles, 0, 1000),
    ELISION_NUMBER("core.sibling_issue_percent", core.sibling_issue_percent, 1, 100),
    ELISION_CORE_CACHE("l1d", l1d, 16),
    ELISION_CORE_CACHE("l1i", l1i, 16),
    ELISION_CORE_CACHE("l2", l2, 16),
    ELISION_CACHE("l3", l3, 24),
    ELISION_NANOSECONDS("l3.latency_ns", uncore.l3_latency_ps, 1, kMostPicoseconds),
    ELISION_NUMBER("l3.gigabytes_per_second", uncore.l3_gigabytes_per_second, 1, 100'000),
    ELISION_NUMBER("l3.slices", l3_slices, 1, 128),
    ELISION_FLAG("l3.inclusive", l3_inclusive),
    ELISION_NUMBER("tlb.data_entries", tlb.data_entries, 1, 16384),
    ELISION_NUMBER("tlb.data_ways", tlb.data_ways, 1, 16),
    ELISION_NUMBER("tlb.huge_entries", tlb.huge_entries, 1, 16384),
    ELISION_NUMBER("tlb.huge_ways", tlb.huge_ways, 1, 16),
    ELISION_NUMBER("tlb.code_entries", tlb.code_entries, 1, 16384),
    ELISION_NUMBER("tlb.code_ways", tlb.code_ways, 1, 16),
    ELISION_NUMBER("tlb.shared_entries", tlb.shared_entries, 1, 16384),
    ELISION_NUMBER("tlb.shared_ways", tlb.shared_ways, 1, 16),
    ELISION_NUMBER("tlb.shared_latency_cycles", tlb.shared_latency_cycles, 0, 1000),
    ELISION_NUMBER("tlb.walk_cycles", tlb.walk_cycles, 0, 10'000),
    ELISION_FLAG("prefetch.next_line", prefetch.next_line),
    ELISION_FLAG("prefetch.stride", prefetch.stride),
    ELISION_FLAG("prefetch.adjacent_line", prefetch.adjacent_line),
    ELISION_NUMBER("prefetch.stream_lines", prefetch.stream_lines, 0, 63),
    ELISION_FLAG("prefetch.snoops", prefetch.snoops),
    ELISION_NANOSECONDS("memory.latency_ns", uncore.memory_latency_ps, 1, kMostPicoseconds),
    ELISION_NUMBER("memory.gigabytes_per_second", uncore.memory_gigabytes_per_second, 1, 100'000),
    ELISION_NANOSECONDS("numa.hop_ns", uncore.hop_ps, 0, kMostPicoseconds),
    ELISION_NANOSECONDS("coherence.dirty_transfer_ns", uncore.dirty_transfer_ps, 1, kMostPicoseconds),
    ELISION_NANOSECONDS("coherence.clean_transfer_ns", uncore.clean_transfer_ps, 1, kMostPicoseconds),
    ELISION_NANOSECONDS("coherence.upgrade_ns", uncore.upgrade_ps, 1, kMostPicoseconds),
    ELISION_NANOSECONDS("coherence.request_ns", uncore.request_ps, 0, kMostPicoseconds),
    ELISION_CYCLES("coherence.hot_window_cycles", coherence.hot_window_cycles),
    ELISION_FLAG("coherence.loads_take_modified", coherence.loads_take_modified),
    ELISION_NUMBER("jitter.latency_percent", jitter.latency_percent, 0, 50),
    ELISION_NUMBER("jitter.transaction_percent", jitter.transaction_percent, 0, 50),
    ELISION_CYCLES("instructions.pause_cycles", instructions.pause_cycles),
    ELISION_CYCLES("instructions.locked_cycles", instructions.locked_cycles),
    ELISION_CYCLES("instructions.mfence_cycles", instructions.mfence_cycles),
    ELISION_CYCLES("instructions.lfence_cycles", instructions.lfence_cycles),
    ELISION_CYCLES("instructions.rdtsc_cycles", instructions.rdtsc_cycles),
    ELISION_CYCLES("instructions.cpuid_cycles", instructions.cpuid_cycles),
    ELISION_CYCLES("instructions.syscall_cycles", instructions.syscall_cycles),
    ELISION_CYCLES("system.context_switch_cycles", system.context_switch_cycles),
    ELISION_CYCLES("system.futex_wake_cycles", system.futex_wake_cycles),
    ELISION_CYCLES("system.timer_interrupt_cycles", system.timer_interrupt_cycles),
    ELISION_NUMBER("system.page_fault_cycles", system.page_fault_cycles, 0, 1'000'000),
    ELISION_NUMBER("system.timer_hz", system.timer_hz, 1, 100'000),
    ELISION_NUMBER("system.time_slice_us", system.time_slice_us, 1, 10'000'000),
    ELISION_CYCLES("transactions.begin_cycles", transactions.begin_cycles),
    ELISION_CYCLES("transactions.commit_cycles", transactions.commit_cycles),
    ELISION_NUMBER("transactions.commit_line_cycles", transactions.commit_line_cycles, 0, 1000),
    ELISION_NUMBER("transactions.commit_hold_cycles", transactions.commit_hold_cycles, 0, 100000),
    ELISION_CYCLES("transactions.abort_cycles", transactions.abort_cycles),
    ELISION_NUMBER("transactions.nesting_limit", transactions.nesting_limit, 1, 255),
    ELISION_NUMBER("transactions.spurious_aborts_per_million", transactions.spurious_aborts_per_million, 0,
                   1'000'000),
    ELISION_NUMBER("transactions.read_filter_log2", transactions.read_filter_log2, 0, 20),
    ELISION_FLAG("transactions.vzeroupper_aborts", transactions.vzeroupper_aborts),
    ELISION_CHOICE("transactions.aborted_lines", transactions.aborted_lines, kAbortedLinesWords),
    ELISION_CHOICE("always_abort.abort_on_read_eviction", always_abort.abort_on_read_eviction,
                   kReadEvictionWords),
    ELISION_FLAG("always_abort.detects_read_conflicts", always_abort.detects_read_conflicts),
    ELISION_FLAG("always_abort.detects_write_conflicts", always_abort.detects_write_conflicts),
};

#undef ELISION_NUMBER
#undef ELISION_CYCLES
#undef ELISION_FLAG
#undef ELISION_TEXT
#undef ELISION_CHOICE
#undef ELISION_CACHE
#undef ELISION_CORE_CACHE
#undef ELISION_NANOSECONDS

/// True if the cache has a whole number of sets and that number is a power of two.
bool indexable(std::uint32_t entries, std::uint32_t ways) {
  return entries % ways == 0 && std::has_single_bit(entries / ways);
}
bool indexable(const CacheDescription& cache, std::uint32_t slices) {
  return indexable(cache.lines(), cache.ways * slices);
}

}  // namespace

std::span<const Field> description_fields() { return kFields; }

std::optional<std::int64_t> parse_number(const NumberField& field, std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string_view decimals = text.substr(std::min(point + 1, text.size()));
  if (decimals.size() > field.decimals || (point + 1 == text.size())) return std::nullopt;
  std::string digits(text.substr(0, point));
  if (digits.empty() || digits.back() == '-') return std::nullopt;
  digits.append(decimals).append(field.decimals - decimals.size(), '0');
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return digits.front() == '-' ? INT64_MIN : INT64_MAX;
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::string number_text(const NumberField& field, std::int64_t value) {
  std::string digits = std::to_string(value);
  if (field.decimals == 0) return digits;
  if (digits.size() <= field.decimals) digits = std::string(field.decimals + 1 - digits.size(), '0') + digits;
  const std::size_t point = digits.size() - field.decimals;
  const std::size_t end = std::max(point, digits.find_last_not_of('0') + 1);
  return digits.substr(0, point) + (end > point ? "." + digits.substr(point, end - point) : "");
}

void convert_uncore(Description& d) {
  const auto cycles = [&d](std::uint32_t picoseconds) {
    const std::uint64_t nearest = (std::uint64_t{picoseconds} * d.core_mhz + 500'000) / 1'000'000;
    return static_cast<std::uint32_t>(picoseconds != 0 ? std::max<std::uint64_t>(1, nearest) : 0);
  };
  d.l3.latency_cycles = cycles(d.uncore.l3_latency_ps);
  d.memory_latency_cycles = cycles(d.uncore.memory_latency_ps);
  d.hop_cycles = cycles(d.uncore.hop_ps);
  d.coherence.dirty_transfer_cycles = cycles(d.uncore.dirty_transfer_ps);
  d.coherence.clean_transfer_cycles = cycles(d.uncore.clean_transfer_ps);
  d.coherence.upgrade_cycles = cycles(d.uncore.upgrade_ps);
  d.coherence.request_cycles = cycles(d.uncore.request_ps);
  const auto line_time = [&d](std::uint32_t gigabytes_per_second) {
    const std::uint64_t time = (std::uint64_t{kLineBytes} * d.core_mhz << Link::kFractionBits) / 1000;
    return static_cast<std::uint32_t>(time / gigabytes_per_second);
  };
  d.l3_line_time = line_time(d.uncore.l3_gigabytes_per_second);
  d.memory_line_time = line_time(d.uncore.memory_gigabytes_per_second);
}

const char* inconsistency(const Description& d) {
  if (!indexable(d.l1d, 1)) return "l1d.size_kb: the number of sets is not a power of two";
  if ((d.l1d.sets() << PrivateCache::kWayBits) >= 65536)
    return "l1d.size_kb: more lines than a filter entry can number";
  if (!indexable(d.l1i, 1)) return "l1i.size_kb: the number of sets is not a power of two";
  if (!indexable(d.l2, 1)) return "l2.size_kb: the number of sets is not a power of two";
  if (!indexable(d.l3, d.l3_slices)) return "l3.slices: the number of sets in a slice is not a power of two";
  if (d.l3.sets() / d.l3_slices < Directory::kLeastSetsInSlice)
    return "l3.slices: fewer than 1024 sets in a slice";
  if (!indexable(d.tlb.data_entries, d.tlb.data_ways))
    return "tlb.data_entries: the number of sets is not a power of two";
  if (!indexable(d.tlb.huge_entries, d.tlb.huge_ways))
    return "tlb.huge_entries: the number of sets is not a power of two";
  if (!indexable(d.tlb.code_entries, d.tlb.code_ways))
    return "tlb.code_entries: the number of sets is not a power of two";
  if (!indexable(d.tlb.shared_entries, d.tlb.shared_ways))
    return "tlb.shared_entries: the number of sets is not a power of two";
  if (d.l1d.latency_cycles > d.l2.latency_cycles) return "l2.latency_cycles: below that of l1d";
  if (d.l2.latency_cycles > d.l3.latency_cycles) return "l3.latency_ns: below that of l2";
  if (d.l3.latency_cycles > d.memory_latency_cycles) return "memory.latency_ns: below that of l3";
  if (d.topology.cpus() > kMaxCpus) return "topology.cores: more than 128 CPUs";
  const std::uint64_t private_lines = std::uint64_t{d.l1d.lines() + d.l2.lines()} * d.topology.total_cores();
  if (d.l3_inclusive && private_lines > d.l3.lines())
    return "l3.size_kb: an inclusive L3 cannot be smaller than all L1 and L2";
  return nullptr;
}

}  // namespace elision::machine
