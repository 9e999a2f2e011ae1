// SPDX-License-Identifier: Apache-2.0
// Sources: getrlimit(2), execve(2); Linux mm/mmap.c (may_expand_vm), fs/exec.c (bprm_stack_limits),
// fs/proc/base.c (limits).
#include "vm/linux/process/limits.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <tuple>
#include <vector>

#include "vm/host/host_call.h"
#include "vm/host/host_limits.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kMaxStackBytes = 256u << 20;  // size of a stack without limit
constexpr std::uint64_t kMinStackBytes = 128u << 10;
constexpr std::uint64_t kMostArgumentBytes = 6u << 20;
constexpr std::uint64_t kLeastArgumentBytes = 128u << 10;

/// Begin and end of the initial stack: the highest region of that use and those adjacent below.
std::pair<std::uint64_t, std::uint64_t> stack_extent(const AddressSpace& memory) {
  std::uint64_t begin = 0, end = 0;
  const auto& regions = memory.regions().regions();
  for (auto region = regions.rbegin(); region != regions.rend(); ++region) {
    if (region->second.properties.use != RegionUse::kStack) continue;
    if (end == 0) end = region->second.end;
    if (begin != 0 && region->second.end != begin) break;
    begin = region->first;
  }
  return {begin, end};
}

/// The lowest page of the stack that was ever touched.
std::uint64_t touched_stack_begin(std::uint64_t begin, std::uint64_t end) {
  std::vector<unsigned char> pages((end - begin) / kPageBytes);
  if (host_call(SYS_mincore, begin, end - begin, reinterpret_cast<std::uint64_t>(pages.data())) != 0)
    return begin;
  const auto first = std::find_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; });
  return begin + static_cast<std::uint64_t>(first - pages.begin()) * kPageBytes;
}

struct Mapped {
  std::uint64_t all = 0;
  std::uint64_t data = 0;
};

/// Memory that counts for RLIMIT_AS and RLIMIT_DATA. The stack counts as far as it has grown.
Mapped mapped_by_guest(const AddressSpace& memory) {
  Mapped total;
  for (const auto& [begin, region] : memory.regions().regions()) {
    const RegionProperties& properties = region.properties;
    if (properties.use == RegionUse::kForeign || properties.use == RegionUse::kStack) continue;
    total.all += region.end - begin;
    if (properties.writable && !properties.shared) total.data += region.end - begin;
  }
  const auto [begin, end] = stack_extent(memory);
  if (end != 0) total.all += std::max(end - touched_stack_begin(begin, end), kMinStackBytes);
  return total;
}

std::string limit_text(rlim_t value) { return value == RLIM_INFINITY ? "unlimited" : std::to_string(value); }

}  // namespace

bool may_map(const Process& process, std::uint64_t bytes, std::uint64_t data_bytes) {
  static const rlim_t all_room = room_for_guest(RLIMIT_AS), data_room = room_for_guest(RLIMIT_DATA);
  const rlim_t all_limit = std::min(process.limits[RLIMIT_AS].rlim_cur, all_room);
  const rlim_t data_limit = std::min(process.limits[RLIMIT_DATA].rlim_cur, data_room);
  if (all_limit == RLIM_INFINITY && data_limit == RLIM_INFINITY) return true;
  const Mapped total = mapped_by_guest(process.memory);
  const bool fits = bytes == 0 || (bytes <= all_limit && total.all <= all_limit - bytes);
  return fits && (data_bytes == 0 || (data_bytes <= data_limit && total.data <= data_limit - data_bytes));
}

void resize_stack(Process& process, const rlimit& limit) {
  AddressSpace& memory = process.memory;
  const auto [begin, end] = stack_extent(memory);
  if (end == 0) return;
  const std::uint64_t wanted =
      end - std::clamp<std::uint64_t>(page_up(std::min<rlim_t>(limit.rlim_cur, kMaxStackBytes)),
                                      kMinStackBytes, kMaxStackBytes);
  if (wanted > begin) {
    const std::uint64_t kept = std::min(wanted, touched_stack_begin(begin, end));
    if (kept > begin) memory.unmap(begin, kept - begin);
  } else if (wanted < begin && memory.regions().is_free(wanted, begin)) {
    memory.map(wanted, begin - wanted, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0, RegionUse::kStack);
  }
}

std::uint64_t stack_bytes(const LimitTable& limits, std::uint64_t contents) {
  const rlim_t limit = std::min<rlim_t>(limits[RLIMIT_STACK].rlim_cur, kMaxStackBytes);
  return std::max(page_up(std::max<std::uint64_t>(limit, kMinStackBytes)),
                  page_up(contents) + kMinStackBytes);
}

std::uint64_t most_argument_bytes(const LimitTable& limits) {
  return std::clamp<std::uint64_t>(limits[RLIMIT_STACK].rlim_cur / 4, kLeastArgumentBytes,
                                   kMostArgumentBytes);
}

std::string describe_limits(const LimitTable& limits) {
  constexpr const char* kRows[][2] = {
      {"Max cpu time", "seconds"},    {"Max file size", "bytes"},      {"Max data size", "bytes"},
      {"Max stack size", "bytes"},    {"Max core file size", "bytes"}, {"Max resident set", "bytes"},
      {"Max processes", "processes"}, {"Max open files", "files"},     {"Max locked memory", "bytes"},
      {"Max address space", "bytes"}, {"Max file locks", "locks"},     {"Max pending signals", "signals"},
      {"Max msgqueue size", "bytes"}, {"Max nice priority", ""},       {"Max realtime priority", ""},
      {"Max realtime timeout", "us"}};
  static_assert(std::size(kRows) == std::tuple_size_v<LimitTable>);
  char line[128];
  std::snprintf(line, sizeof line, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
  std::string text = line;
  for (unsigned i = 0; i < limits.size(); ++i) {
    std::snprintf(line, sizeof line, "%-25s %-20s %-20s ", kRows[i][0],
                  limit_text(limits[i].rlim_cur).c_str(), limit_text(limits[i].rlim_max).c_str());
    text += line;
    std::snprintf(line, sizeof line, *kRows[i][1] != '\0' ? "%-10s\n" : "%s\n", kRows[i][1]);
    text += line;
  }
  return text;
}

}  // namespace elision::vm
