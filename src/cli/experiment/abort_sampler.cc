// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/abort_sampler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "cli/experiment/event_ring.h"
#include "profile/abort_account.h"
#include "profile/perf_records.h"
#include "profile/process_images.h"

namespace elision::cli::experiment {
namespace {

constexpr std::uint32_t kStackBytes = 4096;
constexpr std::uint32_t kWakeupBytes = 64 << 10;      // in a ring
constexpr std::size_t kMostWaitingBytes = 256 << 20;  // of records that wait for their calls to be followed
constexpr int kMostPrecise = 2;
/// AX to IP and R8 to R15 (arch/x86/include/uapi/asm/perf_regs.h).
constexpr std::uint64_t kRegisters = 0xff01ff;

perf_event_attr attributes(const EventCode& code) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = code.type;
  attr.config = code.config[0];
  attr.config1 = code.config[1];
  attr.config2 = code.config[2];
  attr.exclude_kernel = attr.exclude_hv = 1;
  attr.disabled = attr.enable_on_exec = 1;
  attr.inherit = 1;
  return attr;
}

perf_event_attr sampled(const EventCode& code, std::uint64_t period) {
  perf_event_attr attr = attributes(code);
  attr.sample_period = period;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
                     PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                     PERF_SAMPLE_WEIGHT | PERF_SAMPLE_TRANSACTION;
  attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
  attr.sample_regs_user = kRegisters;
  attr.sample_stack_user = kStackBytes;
  attr.precise_ip = kMostPrecise;
  attr.sample_id_all = 1;
  attr.mmap = attr.mmap2 = attr.mmap_data = attr.comm = attr.comm_exec = attr.task = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = kWakeupBytes;
  return attr;
}

std::string why_refused(int error) {
  const char* hint = "";
  if (error == EACCES || error == EPERM) hint = "; see perf_event_paranoid and what contains this process";
  if (error == EMFILE) hint = "; it takes one for each CPU";
  return fmt::format("perf_event_open: {}{}", std::strerror(error), hint);
}

}  // namespace

struct AbortSampler::Impl {
  Impl(const TransactionCodes& codes_of_cpu, std::uint64_t aborts_a_sample)
      : codes(codes_of_cpu), period(aborts_a_sample) {}
  ~Impl() {
    stop_reading();
    stop_following();
    for (const int end : stop_pipe)
      if (end >= 0) close(end);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::string open(pid_t process) {
    const perf_event_attr attr = sampled(codes.aborts, period);
    const long cpus = std::max(1l, sysconf(_SC_NPROCESSORS_CONF));
    for (int cpu = 0; cpu < cpus; ++cpu) {
      Event event;
      int error = event.open(attr, process, cpu);
      if (error == ENODEV) continue;  // the CPU is not there now
      if (error == 0) error = event.map_ring();
      if (error != 0) return why_refused(error);
      aborts.push_back(std::move(event));
    }
    if (aborts.empty()) return "no CPU has the event";
    layout = aborts.front().layout();
    if (const int error = commits.open(attributes(codes.commits), process, -1); error != 0)
      return why_refused(error);
    counts_cycles = codes.cycles && codes.committed_cycles &&
                    cycles.open(attributes(*codes.cycles), process, -1) == 0 &&
                    committed_cycles.open(attributes(*codes.committed_cycles), process, -1) == 0;
    if (pipe2(stop_pipe, O_CLOEXEC) != 0) return std::strerror(errno);
    reader = std::thread([this] { read_until_stopped(); });
    follower = std::thread([this] { follow_until_stopped(); });
    return "";
  }

  void stop_reading() {
    if (!reader.joinable()) return;
    const char byte = 1;
    (void)!write(stop_pipe[1], &byte, 1);
    reader.join();
  }

  void stop_following() {
    if (!follower.joinable()) return;
    {
      const std::lock_guard guard(mutex);
      stopped = true;
    }
    more.notify_all();
    follower.join();
  }

  void read_until_stopped() {
    std::vector<pollfd> ends{{stop_pipe[0], POLLIN, 0}};
    for (const Event& event : aborts) ends.push_back({event.descriptor(), POLLIN, 0});
    while (ends.front().revents == 0) {
      if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) break;
      take_records();
      // An event whose threads have all ended is ready for ever.
      for (pollfd& end : ends)
        if ((end.revents & (POLLHUP | POLLERR)) != 0) end.fd = -1;
    }
    take_records();
  }

  /// What all rings have now, as one batch. A record refers to memory that earlier ones describe, maybe in
  /// other rings, so a batch is put into the order of time.
  void take_records() {
    std::vector<std::uint8_t> bytes;
    for (Event& event : aborts) event.take(bytes);
    if (bytes.empty()) return;
    const std::lock_guard guard(mutex);
    if (waiting_bytes + bytes.size() > kMostWaitingBytes) {
      dropped += records_in(bytes);
      return;
    }
    waiting_bytes += bytes.size();
    batches.push_back(std::move(bytes));
    more.notify_all();
  }

  static std::uint64_t records_in(profile::PerfBytes bytes) {
    std::uint64_t count = 0;
    while (const auto header = profile::read_header(bytes)) {
      count += header->type == PERF_RECORD_SAMPLE ? 1 : 0;
      bytes = bytes.subspan(header->size);
    }
    return count;
  }

  void follow_until_stopped() {
    std::unique_lock guard(mutex);
    while (true) {
      more.wait(guard, [this] { return stopped || !batches.empty(); });
      if (batches.empty()) return;
      const std::vector<std::uint8_t> bytes = std::move(batches.front());
      batches.pop_front();
      waiting_bytes -= bytes.size();
      guard.unlock();
      add(bytes);
      guard.lock();
    }
  }

  void add(profile::PerfBytes bytes) {
    struct Record {
      std::uint64_t time;
      profile::PerfBytes bytes;
    };
    std::vector<Record> records;
    while (const auto header = profile::read_header(bytes)) {
      const profile::PerfBytes record = bytes.first(header->size);
      records.push_back({profile::time_of_record(record, layout), record});
      bytes = bytes.subspan(header->size);
    }
    std::stable_sort(records.begin(), records.end(),
                     [](const Record& a, const Record& b) { return a.time < b.time; });
    for (const Record& record : records) add_record(record.bytes);
  }

  void add_record(profile::PerfBytes record) {
    if (images.add(record)) return;
    if (const auto lost = profile::read_losses(record)) return account.add_losses(*lost);
    if (const auto sample = profile::read_sample(record, layout))
      account.add(*sample, images, images.number_of(sample->process));
  }

  /// An event that shared its counter with others has counted for a part of the time. The kernel takes an
  /// event of one CPU as enabled while its thread runs on any: together, those of all CPUs run as long.
  static double extrapolated(const std::vector<const Event*>& one_a_cpu, double& running) {
    EventCount sum;
    for (const Event* const event : one_a_cpu) {
      const EventCount count = event->count();
      sum.count += count.count;
      sum.running_ns += count.running_ns;
      sum.enabled_ns = std::max(sum.enabled_ns, count.enabled_ns);
    }
    if (sum.running_ns == 0 || sum.enabled_ns == 0) return static_cast<double>(sum.count);
    // The clocks of CPUs differ a little.
    constexpr double kWhole = 0.999;
    const double share = static_cast<double>(sum.running_ns) / static_cast<double>(sum.enabled_ns);
    if (share >= kWhole) return static_cast<double>(sum.count);
    running = std::min(running, share);
    return static_cast<double>(sum.count) / share;
  }

  profile::AbortCounts counts() const {
    profile::AbortCounts sum;
    std::vector<const Event*> of_cpus;
    for (const Event& event : aborts) of_cpus.push_back(&event);
    sum.aborts = extrapolated(of_cpus, sum.running);
    sum.commits = extrapolated({&commits}, sum.running);
    if (counts_cycles)
      sum.aborted_cycles = std::max(
          0.0, extrapolated({&cycles}, sum.running) - extrapolated({&committed_cycles}, sum.running));
    return sum;
  }

  const TransactionCodes codes;
  const std::uint64_t period;
  std::vector<Event> aborts;  // one a CPU
  Event commits, cycles, committed_cycles;
  bool counts_cycles = false;
  profile::PerfLayout layout;
  int stop_pipe[2] = {-1, -1};
  std::thread reader, follower;

  std::mutex mutex;  // of what follows
  std::condition_variable more;
  std::deque<std::vector<std::uint8_t>> batches;
  std::size_t waiting_bytes = 0;
  std::uint64_t dropped = 0;
  bool stopped = false;

  profile::ProcessImages images;  // of the follower, until it has stopped
  profile::AbortAccount account;
};

AbortSampler::AbortSampler(const TransactionCodes& codes, std::uint64_t period)
    : impl_(std::make_unique<Impl>(codes, period)) {}
AbortSampler::~AbortSampler() = default;

std::string AbortSampler::open(pid_t process) { return impl_->open(process); }

profile::AbortEvents AbortSampler::finish() {
  impl_->stop_reading();
  impl_->stop_following();
  impl_->account.add_losses(impl_->dropped);
  const profile::AbortCounts counts = impl_->counts();
  profile::AbortEvents result = impl_->account.events(impl_->images, &counts);
  result.period = static_cast<double>(impl_->period);
  return result;
}

}  // namespace elision::cli::experiment
