// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/abort_sampler.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "cli/experiment/abort_counters.h"
#include "cli/experiment/proc_file.h"
#include "profile/abort_account.h"
#include "profile/perf_records.h"
#include "profile/process_images.h"
#include "profile/shared_data.h"

namespace elision::cli::experiment {
namespace {

constexpr std::size_t kMostWaitingBytes = 256 << 20;  // of records that wait for their calls to be followed

}  // namespace

struct AbortSampler::Impl {
  Impl(const TransactionEvents& events, std::uint64_t aborts_a_sample, std::uint64_t accesses_a_sample)
      : period(aborts_a_sample),
        access_period(accesses_a_sample),
        counters(events, aborts_a_sample, accesses_a_sample) {}
  ~Impl() {
    stop_reading();
    stop_following();
    for (const int end : stop_pipe)
      if (end >= 0) close(end);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Reads the rings from now on. `ran_already`: the process, if it ran before.
  std::string begin(std::uint32_t ran_already = 0) {
    if (pipe2(stop_pipe, O_CLOEXEC) != 0) return std::strerror(errno);
    layout = counters.layout();
    if (ran_already != 0) {
      counters.enable();
      images.add_map(ran_already, memory_map_of(ran_already));  // changes from now on are in the rings
    }
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
    for (const int event : counters.sampling_descriptors()) ends.push_back({event, POLLIN, 0});
    while (ends.front().revents == 0) {
      if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) break;
      take_records();
      // An event whose threads have all ended is ready for ever.
      for (pollfd& end : ends)
        if ((end.revents & (POLLHUP | POLLERR)) != 0) end.fd = -1;
    }
    take_records();
  }

  /// Reads all rings into one batch, which is put into the order of time later: a sample needs the mappings
  /// before it, which may lie in other rings. Rings are read one after another, so a mapping that another CPU
  /// adds meanwhile may come one batch late.
  void take_records() {
    std::vector<std::uint8_t> bytes;
    counters.take(bytes);
    if (bytes.empty()) return;
    const std::lock_guard guard(mutex);
    if (waiting_bytes + bytes.size() > kMostWaitingBytes) dropped += drop_samples(bytes);
    waiting_bytes += bytes.size();
    batches.push_back(std::move(bytes));
    more.notify_all();
  }

  /// Leaves the mappings, names and forks of a batch, which later samples need. Returns how many samples it
  /// had.
  static std::uint64_t drop_samples(std::vector<std::uint8_t>& bytes) {
    std::vector<std::uint8_t> others;
    std::uint64_t count = 0;
    profile::PerfBytes rest = bytes;
    while (const auto header = profile::read_header(rest)) {
      if (header->type == PERF_RECORD_SAMPLE)
        ++count;
      else
        others.insert(others.end(), rest.begin(), rest.begin() + header->size);
      rest = rest.subspan(header->size);
    }
    bytes = std::move(others);
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
    if (const auto lost = profile::read_losses(record)) {
      lost_records += *lost;
      return;
    }
    if (const auto header = profile::read_header(record); header && header->type == PERF_RECORD_THROTTLE)
      ++throttled;
    const auto sample = profile::read_sample(record, layout);
    if (!sample) return;
    const std::size_t image = images.number_of(sample->process);
    const AbortCounters::Sampled what = counters.sampled_by(sample->id);
    if (what == AbortCounters::Sampled::kAborts)
      account.add(*sample, images, image);
    else
      shared_data.add(*sample, what == AbortCounters::Sampled::kStores, images, image);
  }

  const std::uint64_t period, access_period;
  AbortCounters counters;
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
  profile::SharedDataAccount shared_data;
  std::uint64_t lost_records = 0, throttled = 0;
};

AbortSampler::AbortSampler(const TransactionEvents& events, std::uint64_t period, std::uint64_t access_period)
    : impl_(std::make_unique<Impl>(events, period, access_period)) {}
AbortSampler::~AbortSampler() = default;

std::string AbortSampler::open(pid_t process) {
  const std::string why = impl_->counters.open(process);
  return why.empty() ? impl_->begin() : why;
}

std::string AbortSampler::attach(pid_t process) {
  const auto number = static_cast<std::uint32_t>(process);
  const std::string why = impl_->counters.attach(number);
  return why.empty() ? impl_->begin(number) : why;
}

void AbortSampler::stop() { impl_->counters.disable(); }

void AbortSampler::finish(profile::Profile& profile) {
  stop();
  impl_->stop_reading();
  impl_->stop_following();
  const double lost = static_cast<double>(impl_->lost_records + impl_->dropped);
  const profile::AbortCounts counts = impl_->counters.counts();
  profile::AbortEvents& aborts = profile.abort_events.emplace(impl_->account.events(impl_->images, &counts));
  aborts.period = static_cast<double>(impl_->period);
  aborts.lost = lost;
  if (impl_->access_period == 0) return;
  profile::AccessEvents& accesses = profile.access_events.emplace(impl_->shared_data.events(impl_->images));
  accesses.period = static_cast<double>(impl_->access_period);
  accesses.throttled = static_cast<double>(impl_->throttled);
  // A full ring loses whatever comes, so both kinds lose in proportion.
  const double taken = aborts.samples + accesses.loads + accesses.stores;
  aborts.lost = taken > 0 ? std::round(lost * aborts.samples / taken) : 0;
  accesses.lost = lost - aborts.lost;
}

}  // namespace elision::cli::experiment
