// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/abort_counters.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/rtm_events.h"
#include "cli/experiment/proc_file.h"
#include "cli/host/descriptors.h"

namespace elision::cli::experiment {
namespace {

constexpr std::uint32_t kStackBytes = 4096;
constexpr std::uint32_t kWakeupBytes = 64 << 10;  // in a ring
constexpr int kMostPrecise = 2;
/// AX to IP and R8 to R15 (arch/x86/include/uapi/asm/perf_regs.h).
constexpr std::uint64_t kRegisters = 0xff01ff;

/// Threads that begin while the events of others are opened are looked for so many times.
constexpr int kMostTries = 10;
/// In place of an errno: an event of accesses tells no addresses.
constexpr int kNotPrecise = -1;
/// Descriptors that the events leave to the rest of the recorder.
constexpr std::size_t kLeftDescriptors = 32;

/// The attributes of an event that counts a thread and what it starts. It is disabled at first.
perf_event_attr counted(const PerfEventCode& code, bool from_exec) {
  perf_event_attr attr = attributes_of(code);
  attr.inherit = 1;
  attr.enable_on_exec = from_exec ? 1 : 0;
  return attr;
}

struct SampledFields {
  bool branches, accesses;
};

perf_event_attr sampled(const PerfEventCode& code, bool from_exec, std::uint64_t period,
                        SampledFields fields) {
  perf_event_attr attr = counted(code, from_exec);
  attr.sample_period = period;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
                     PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                     PERF_SAMPLE_WEIGHT | PERF_SAMPLE_TRANSACTION;
  if (fields.accesses) attr.sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_IDENTIFIER;
  if (fields.branches)
    attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY_CALL |
                              PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_ABORT_TX |
                              PERF_SAMPLE_BRANCH_TYPE_SAVE;
  else
    attr.sample_type &= ~std::uint64_t{PERF_SAMPLE_BRANCH_STACK};
  attr.sample_regs_user = kRegisters;
  attr.sample_stack_user = kStackBytes;
  attr.precise_ip = kMostPrecise;
  attr.sample_id_all = 1;
  attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = kWakeupBytes;
  return attr;
}

long cpus() { return std::max(1l, sysconf(_SC_NPROCESSORS_CONF)); }

/// The number of descriptors that the events of so many threads take, and the recorder beside them.
std::size_t descriptors_for(std::size_t threads, bool with_accesses) {
  const std::size_t on_each_cpu = with_accesses ? 3 : 1;
  const std::size_t others = with_accesses ? 1 : 3;  // commits, and cycles of two kinds
  return threads * (on_each_cpu * static_cast<std::size_t>(cpus()) + others) + kLeftDescriptors;
}

void add(EventCount& sum, const EventCount& more) {
  sum.count += more.count;
  sum.running_ns += more.running_ns;
  sum.enabled_ns += more.enabled_ns;
}

/// An event that shared its counter with others has counted for a part of the time. `running`: the least part
/// so far.
double extrapolated(const EventCount& sum, double& running) {
  if (sum.running_ns == 0 || sum.enabled_ns == 0) return static_cast<double>(sum.count);
  // The clocks of CPUs differ a little.
  constexpr double kWhole = 0.999;
  const double share = static_cast<double>(sum.running_ns) / static_cast<double>(sum.enabled_ns);
  if (share >= kWhole) return static_cast<double>(sum.count);
  running = std::min(running, share);
  return static_cast<double>(sum.count) / share;
}

}  // namespace

EventCount over_cpus(std::span<const EventCount> cpus) {
  EventCount all;
  for (const EventCount& one : cpus) {
    if (one.enabled_ns == 0) continue;
    all.count += one.count;
    all.running_ns += one.running_ns;
    all.enabled_ns = all.enabled_ns == 0 ? one.enabled_ns : std::min(all.enabled_ns, one.enabled_ns);
  }
  return all;
}

std::string AbortCounters::why_refused(int error, std::size_t threads) const {
  if (error == kNotPrecise) return "this CPU does not record the addresses of loads and stores";
  std::string hint;
  if (error == EACCES || error == EPERM) hint = "; see perf_event_paranoid and what contains this process";
  if (error == EMFILE)
    hint = fmt::format("; {} thread{} on {} CPU{} take {} file descriptors, and the limit is {}", threads,
                       threads == 1 ? "" : "s", cpus(), cpus() == 1 ? "" : "s",
                       descriptors_for(threads, access_period_ != 0), descriptor_limit());
  return fmt::format("perf_event_open: {}{}", std::strerror(error), hint);
}

std::string AbortCounters::open(pid_t process) {
  from_exec_ = true;
  const int error = open_threads({static_cast<std::uint32_t>(process)});
  return error != 0 ? why_refused(error, 1) : map_rings();
}

/// Threads inherit the events of the thread that makes them as soon as these are open. Nobody can tell
/// whether a thread that began while they were being opened has inherited all of them, so they are opened
/// anew until no thread has begun meanwhile. In a program that makes threads all the time, some that begin
/// during the last try may be missed.
std::string AbortCounters::attach(std::uint32_t process) {
  from_exec_ = false;
  bool is_complete = false;
  for (int tries = 0; tries < kMostTries && !is_complete; ++tries) {
    const std::vector<std::uint32_t> known = threads_of(process);
    if (const int error = open_threads(known); error != 0) return why_refused(error, known.size());
    is_complete = std::ranges::all_of(threads_of(process), [&known](std::uint32_t thread) {
      return std::ranges::find(known, thread) != known.end();
    });
  }
  return map_rings();
}

/// Opens the events of these threads, and closes those that were open. A thread that has ended is left out.
/// Returns 0 or the errno.
///
/// An event is opened without branch records if its CPU has none. Records of all rings must have one layout,
/// so then none has them.
int AbortCounters::open_threads(const std::vector<std::uint32_t>& ids) {
  int error = open_each(ids);
  if (error == 0 && !has_one_layout()) {
    with_branches_ = false;
    error = open_each(ids);
  }
  return error;
}

bool AbortCounters::has_one_layout() const {
  return std::ranges::all_of(threads_, [this](const ThreadEvents& thread) {
    return std::ranges::all_of(thread.aborts, [this](const OfCpu& one) {
      const auto has_it = [this](const Event& event) {
        return event.layout().sample_type == layout().sample_type;
      };
      return has_it(one.event) && std::ranges::all_of(one.accesses, has_it);
    });
  });
}

int AbortCounters::open_each(const std::vector<std::uint32_t>& ids) {
  threads_.clear();
  accesses_.clear();
  const KeptDescriptors left(kLeftDescriptors);
  if (!left.are_there()) return EMFILE;
  for (const std::uint32_t id : ids) {
    ThreadEvents thread;
    const int error = open_thread(static_cast<pid_t>(id), thread);
    if (error == ESRCH) continue;
    if (error != 0) return error;
    threads_.push_back(std::move(thread));
  }
  return threads_.empty() ? ESRCH : 0;
}

int AbortCounters::open_thread(pid_t id, ThreadEvents& thread) {
  const perf_event_attr attr =
      sampled(events_.aborts, from_exec_, period_, {with_branches_, access_period_ != 0});
  for (int cpu = 0; cpu < cpus(); ++cpu) {
    Event event;
    const int error = event.open(attr, id, cpu);
    if (error == ENODEV) continue;  // the CPU is not there now
    if (error != 0) return error;
    OfCpu& one = thread.aborts.emplace_back(cpu, std::move(event));
    if (const int refusal = open_accesses(id, one); refusal != 0) return refusal;
  }
  if (thread.aborts.empty()) return ENODEV;
  if (const int error = thread.commits.open(counted(events_.commits, from_exec_), id, -1); error != 0)
    return error;
  if (!counts_cycles_) return 0;
  int error = thread.cycles.open(counted(*events_.cycles, from_exec_), id, -1);
  if (error == 0)
    error = thread.committed_cycles.open(counted(*events_.committed_cycles, from_exec_), id, -1);
  if (error == ESRCH || error == EMFILE) return error;
  counts_cycles_ = error == 0;
  return 0;
}

/// Their samples have the layout of those of aborts, since they share rings. Of the stack they copy the
/// least.
int AbortCounters::open_accesses(pid_t id, OfCpu& one) {
  if (access_period_ == 0) return 0;
  for (const std::uint64_t code : {kAllLoads, kAllStores}) {
    perf_event_attr attr =
        sampled({PERF_TYPE_RAW, {code}}, from_exec_, access_period_, {with_branches_, true});
    attr.sample_stack_user = sizeof(std::uint64_t);
    attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 0;
    Event& event = one.accesses.emplace_back();
    if (const int error = event.open(attr, id, one.cpu); error != 0) return error;
    if (!event.is_precise()) return kNotPrecise;
    accesses_[event.id()] = code == kAllStores ? Sampled::kStores : Sampled::kLoads;
  }
  return 0;
}

std::string AbortCounters::map_rings() {
  std::map<int, Event*> owners;
  for (ThreadEvents& thread : threads_)
    for (auto& [cpu, event, accesses] : thread.aborts) {
      const auto [owner, is_first] = owners.try_emplace(cpu, &event);
      int error = is_first ? event.map_ring() : event.write_to(*owner->second);
      for (Event& access : accesses)
        if (error == 0) error = access.write_to(*owner->second);
      if (error != 0) return why_refused(error, threads_.size());
    }
  return "";
}

void AbortCounters::for_each_event(void (Event::*act)() const) const {
  for (const ThreadEvents& thread : threads_) {
    for (const OfCpu& one : thread.aborts) {
      (one.event.*act)();
      for (const Event& access : one.accesses) (access.*act)();
    }
    for (const Event* const event : {&thread.commits, &thread.cycles, &thread.committed_cycles})
      (event->*act)();
  }
}

std::vector<int> AbortCounters::sampling_descriptors() const {
  std::vector<int> descriptors;
  for (const ThreadEvents& thread : threads_)
    for (const OfCpu& one : thread.aborts) {
      descriptors.push_back(one.event.descriptor());
      for (const Event& access : one.accesses) descriptors.push_back(access.descriptor());
    }
  return descriptors;
}

void AbortCounters::take(std::vector<std::uint8_t>& bytes) {
  for (ThreadEvents& thread : threads_)
    for (OfCpu& one : thread.aborts) one.event.take(bytes);
}

profile::AbortCounts AbortCounters::counts() const {
  EventCount aborts, commits, cycles, committed_cycles;
  for (const ThreadEvents& thread : threads_) {
    std::vector<EventCount> of_cpus;
    for (const OfCpu& one : thread.aborts) of_cpus.push_back(one.event.count());
    add(aborts, over_cpus(of_cpus));
    add(commits, thread.commits.count());
    if (!counts_cycles_) continue;
    add(cycles, thread.cycles.count());
    add(committed_cycles, thread.committed_cycles.count());
  }
  profile::AbortCounts sum;
  sum.aborts = extrapolated(aborts, sum.running);
  sum.commits = extrapolated(commits, sum.running);
  if (counts_cycles_)
    sum.aborted_cycles =
        std::max(0.0, extrapolated(cycles, sum.running) - extrapolated(committed_cycles, sum.running));
  return sum;
}

}  // namespace elision::cli::experiment
