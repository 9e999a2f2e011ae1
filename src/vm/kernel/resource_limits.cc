// SPDX-License-Identifier: Apache-2.0
// Sources: getrlimit(2), execve(2); Linux kernel/sys.c (do_prlimit), mm/mmap.c (may_expand_vm), fs/exec.c
// (bprm_stack_limits), kernel/time/posix-cpu-timers.c (check_process_timers), fs/proc/base.c (limits).
#include "vm/kernel/resource_limits.h"

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <vector>

#include "vm/kernel/credentials.h"
#include "vm/kernel/guest_call.h"
#include "vm/kernel/guest_memory.h"
#include "vm/kernel/host_call.h"
#include "vm/kernel/signal_delivery.h"
#include "vm/kernel/thread_calls.h"
#include "vm/kernel/time_calls.h"

namespace elision::vm {
namespace {

/// Where the host's limit on memory cannot be lifted, the engine keeps this much of it: some 370 MB are
/// mapped as it starts.
constexpr rlim_t kEngineAddressBytes = 512ull << 20;
constexpr rlim_t kLeastGuestBytes = 64ull << 20;
constexpr std::uint64_t kMaxStackBytes = 256u << 20;  // a stack without limit has that
constexpr std::uint64_t kMinStackBytes = 128u << 10;
constexpr std::uint64_t kMostArgumentBytes = 6u << 20;
constexpr std::uint64_t kLeastArgumentBytes = 128u << 10;
constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr VirtualTimers::Key kCpuLimitKey = 900;  // beside those of timer_calls.cc

constexpr bool is_kept_here(int resource) {
  return resource == RLIMIT_AS || resource == RLIMIT_DATA || resource == RLIMIT_STACK ||
         resource == RLIMIT_CPU || resource == RLIMIT_RTPRIO;
}

/// What could keep the engine from what it does for itself.
constexpr int kBindTheEngine[] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_SIGPENDING};

/// The host's own stack of the engine. Not without limit: that changes where an execve maps things.
constexpr rlim_t kHostStackBytes = 8u << 20;

rlimit host_limit(int resource) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  host_call(SYS_prlimit64, 0, resource, 0, reinterpret_cast<std::uint64_t>(&limit));
  return limit;
}

long set_host_limit(int resource, const rlimit& limit) {
  return host_call(SYS_prlimit64, 0, resource, reinterpret_cast<std::uint64_t>(&limit), 0);
}

void bind_host_limit(int resource, const rlimit& wanted) {
  const rlimit host = host_limit(resource);
  if (wanted.rlim_max > host.rlim_max && set_host_limit(resource, wanted) == 0) return;
  const rlim_t soft = std::min(wanted.rlim_cur, host.rlim_max);
  if (soft != host.rlim_cur) set_host_limit(resource, {soft, host.rlim_max});
}

/// As far as the host lets us.
void lift(int resource, rlim_t wanted) {
  const rlimit limit = host_limit(resource);
  if (set_host_limit(resource, {wanted, std::max(wanted, limit.rlim_max)}) != 0)
    set_host_limit(resource, {std::min(wanted, limit.rlim_max), limit.rlim_max});
}

/// Where the initial stack lies: the highest region of that use, and those right below it.
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

/// What a limit that the host did not let us lift leaves to the guest.
rlim_t room_for_guest(int resource) {
  const rlim_t limit = host_limit(resource).rlim_max;
  return limit == RLIM_INFINITY ? limit : limit - std::min(limit, kEngineAddressBytes);
}

struct Mapped {
  std::uint64_t all = 0;
  std::uint64_t data = 0;
};

/// What counts for RLIMIT_AS and RLIMIT_DATA. Of the stack, what it has grown to.
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

/// The stack reaches as far down as the new limit says, unless something lies in the way. What was touched
/// stays.
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

/// A new limit of this process. Results are those of the system call.
long set_limit(Call& call, int resource, const rlimit& wanted) {
  Process& process = call.process;
  rlimit& limit = process.limits[static_cast<unsigned>(resource)];
  if (wanted.rlim_cur > wanted.rlim_max) return -EINVAL;
  if (wanted.rlim_max > limit.rlim_max &&
      (resource == RLIMIT_RTPRIO || !is_capable(call.self, CAP_SYS_RESOURCE)))
    return -EPERM;
  if (!is_kept_here(resource)) {
    const rlimit host = host_limit(resource);
    const bool raises = wanted.rlim_max > host.rlim_max;
    const rlimit on_host{std::min(wanted.rlim_cur, raises ? wanted.rlim_max : host.rlim_max),
                         raises ? wanted.rlim_max : host.rlim_max};
    if (const long error = set_host_limit(resource, on_host); error < 0) return error;
  }
  limit = wanted;
  if (resource == RLIMIT_STACK) resize_stack(process, limit);
  if (resource == RLIMIT_CPU) watch_cpu_limit(process);
  return 0;
}

bool is_valid(int resource) { return resource >= 0 && resource < static_cast<int>(LimitTable{}.size()); }

/// Of another process: what the host says, which binds engines there. So what is kept by the engines cannot
/// be set.
SyscallOutcome limit_of_other(Call& call, int pid) {
  if (call[2] != 0 && is_kept_here(call.integer(1))) return call.finish(-EPERM);
  return call.finish(guest_call(call, SYS_prlimit64,
                                static_cast<std::uint64_t>(call.process.ids.to_host(pid)), call[1], call[2],
                                call[3]));
}

void end_second_of_cpu_limit(Process& process) {
  const rlimit limit = process.limits[RLIMIT_CPU];
  const Nanoseconds used = process_cpu_time(process);
  const bool over = limit.rlim_max != RLIM_INFINITY && used / kSecond >= limit.rlim_max;
  siginfo_t info{};
  info.si_signo = over ? SIGKILL : SIGXCPU;
  info.si_code = SI_KERNEL;
  post_to_process(process, info);
}

std::string limit_text(rlim_t value) { return value == RLIM_INFINITY ? "unlimited" : std::to_string(value); }

}  // namespace

LimitTable host_limits() {
  LimitTable limits;
  for (unsigned i = 0; i < limits.size(); ++i) limits[i] = host_limit(static_cast<int>(i));
  limits[RLIMIT_RTPRIO] = {0, 0};  // no real-time scheduling here (policy_calls.h)
  return limits;
}

std::string lift_host_limits() {
  lift(RLIMIT_AS, RLIM_INFINITY);
  lift(RLIMIT_DATA, RLIM_INFINITY);
  lift(RLIMIT_STACK, kHostStackBytes);
  for (const int resource : kBindTheEngine) lift(resource, host_limit(resource).rlim_max);
  const rlim_t left = std::min(host_limit(RLIMIT_AS).rlim_max, host_limit(RLIMIT_DATA).rlim_max);
  if (left >= kEngineAddressBytes + kLeastGuestBytes) return "";
  return "the limit of " + std::to_string(left / 1024) +
         " kB on memory (ulimit -v or -d) leaves too little for the virtual machine itself, which needs " +
         std::to_string((kEngineAddressBytes + kLeastGuestBytes) / 1024) +
         " kB; to limit the program alone: elision vm -- sh -c 'ulimit -v N; exec PROGRAM'";
}

void bind_host_limits(const LimitTable& limits) {
  for (unsigned i = 0; i < limits.size(); ++i)
    if (!is_kept_here(static_cast<int>(i))) bind_host_limit(static_cast<int>(i), limits[i]);
}

LiftedLimits::LiftedLimits() {
  for (const int resource : kBindTheEngine) {
    rlimit& before = before_[static_cast<unsigned>(resource)];
    before = host_limit(resource);
    if (before.rlim_cur != before.rlim_max) set_host_limit(resource, {before.rlim_max, before.rlim_max});
  }
}

LiftedLimits::~LiftedLimits() {
  for (const int resource : kBindTheEngine) {
    const rlimit& before = before_[static_cast<unsigned>(resource)];
    if (before.rlim_cur != before.rlim_max) set_host_limit(resource, before);
  }
}

bool may_map(const Process& process, std::uint64_t bytes, std::uint64_t data_bytes) {
  static const rlim_t all_room = room_for_guest(RLIMIT_AS), data_room = room_for_guest(RLIMIT_DATA);
  const rlim_t all_limit = std::min(process.limits[RLIMIT_AS].rlim_cur, all_room);
  const rlim_t data_limit = std::min(process.limits[RLIMIT_DATA].rlim_cur, data_room);
  if (all_limit == RLIM_INFINITY && data_limit == RLIM_INFINITY) return true;
  const Mapped total = mapped_by_guest(process.memory);
  const bool fits = bytes == 0 || (bytes <= all_limit && total.all <= all_limit - bytes);
  return fits && (data_bytes == 0 || (data_bytes <= data_limit && total.data <= data_limit - data_bytes));
}

bool may_add_thread(const Process& process, const KernelThread& thread) {
  const std::size_t count = process.threads.size() + process.companions.size();
  return count < process.limits[RLIMIT_NPROC].rlim_cur || call_as(thread, SYS_getuid) == 0 ||
         is_capable(thread, CAP_SYS_RESOURCE) || is_capable(thread, CAP_SYS_ADMIN);
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

/// A limit of 0 counts as 1.
void watch_cpu_limit(Process& process) {
  const rlim_t seconds = process.limits[RLIMIT_CPU].rlim_cur;
  process.cpu_timers.remove(kCpuLimitKey);
  if (seconds >= ~Nanoseconds{0} / kSecond) return;
  const Nanoseconds end = std::max<Nanoseconds>(seconds, 1) * kSecond;
  process.cpu_timers.set(
      kCpuLimitKey, {end, kSecond}, [&process] { return process_cpu_time(process); },
      [&process] { end_second_of_cpu_limit(process); });
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

SyscallOutcome sys_getrlimit(Call& call) {
  if (!is_valid(call.integer(0))) return call.finish(-EINVAL);
  return call.finish(store_guest(call[1], call.process.limits[call[0] & 0xf]) ? 0 : -EFAULT);
}

SyscallOutcome sys_setrlimit(Call& call) {
  const auto wanted = load_guest<rlimit>(call[1]);
  if (!wanted) return call.finish(-EFAULT);
  if (!is_valid(call.integer(0))) return call.finish(-EINVAL);
  return call.finish(set_limit(call, call.integer(0), *wanted));
}

SyscallOutcome sys_prlimit64(Call& call) {
  const int pid = call.integer(0), resource = call.integer(1);
  const bool own = pid == 0 || pid == call.process.ids.pid() || find_thread(call.process, pid) != nullptr;
  std::optional<rlimit> wanted;
  if (call[2] != 0 && !(wanted = load_guest<rlimit>(call[2]))) return call.finish(-EFAULT);
  if (!is_valid(resource)) return call.finish(-EINVAL);
  if (!own) return limit_of_other(call, pid);
  const rlimit before = call.process.limits[static_cast<unsigned>(resource)];
  if (wanted)
    if (const long error = set_limit(call, resource, *wanted); error != 0) return call.finish(error);
  return call.finish(call[3] == 0 || store_guest(call[3], before) ? 0 : -EFAULT);
}

}  // namespace elision::vm
