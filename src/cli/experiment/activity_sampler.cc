// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/activity_sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "abi/counters.h"
#include "base/usable_cpus.h"
#include "cli/experiment/lock_profile.h"

namespace elision::cli::experiment {
namespace {

using Clock = std::chrono::steady_clock;
using profile::State;

std::string whole_text(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The scheduler's letter for a thread: R, S, D ...; 0: the thread is gone.
char state_letter(std::uint32_t process, std::uint32_t thread) {
  const std::string text =
      whole_text("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/stat");
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : 0;
}

unsigned count_threads(std::uint32_t process) {
  std::error_code error;
  unsigned count = 0;
  const std::filesystem::path folder = "/proc/" + std::to_string(process) + "/task";
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    ++count;
  return count;
}

State state_of(const abi::SeenActivity& seen, bool sleeps) {
  switch (seen.activity) {
    case abi::Activity::kFallback:
      return State::kFallback;
    case abi::Activity::kAttempt:
      return State::kAttempt;
    case abi::Activity::kSpeculating:
      return State::kSpeculating;
    case abi::Activity::kWaiting:
      return State::kWaiting;
    case abi::Activity::kOverhead:
      return State::kOverhead;
    case abi::Activity::kBlocked:
      return State::kBlocked;
    case abi::Activity::kIdle:
      break;
  }
  if (seen.lock != 0) return State::kSection;
  return sleeps ? State::kBlocked : State::kOutside;
}

/// The samples of one process.
struct Process {
  /// It has ended: its file is not needed any more.
  void retire() {
    close(file);
    file = -1;
  }

  int file = -1;
  std::uint32_t id = 0;
  Clock::time_point first{};
  Clock::time_point last{};
  double parallel_ns = 0;
  unsigned most_threads = 0;
  std::uint32_t next_slot = 1;  // where the next look begins
  LockSamples samples;
  std::map<std::uint32_t, std::uint64_t> taken;  // by slot, at the last look
  std::string memory_map;
  std::size_t sites_at_map = 0;  // sites known when the map was read
};

}  // namespace

struct ActivitySampler::Impl {
  explicit Impl(std::filesystem::path folder) : directory(std::move(folder)) {
    looker = std::thread([this] { look_until_stopped(); });
  }
  ~Impl() {
    stop();
    for (auto& [path, process] : processes)
      if (process.file >= 0) close(process.file);
  }

  void stop() {
    {
      const std::lock_guard guard(mutex);
      stopped = true;
    }
    wake.notify_all();
    if (looker.joinable()) looker.join();
  }

  void look_until_stopped() {
    std::mt19937 random(1);
    std::exponential_distribution<double> distance(1 / kPeriodMs);
    Clock::time_point before = Clock::now();
    std::unique_lock guard(mutex);
    while (!stopped) {
      const auto pause =
          std::chrono::duration<double, std::milli>(std::min(distance(random), 10 * kPeriodMs));
      if (wake.wait_for(guard, pause, [this] { return stopped; })) break;
      const Clock::time_point now = Clock::now();
      find_processes();
      for (auto& [path, process] : processes) look_at(process, now, now - before);
      before = now;
    }
  }

  void find_processes() {
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().extension() != ".counters" || processes.count(at->path()) != 0) continue;
      Process process;
      process.file = open(at->path().c_str(), O_RDONLY | O_CLOEXEC);
      if (process.file < 0) continue;
      process.first = Clock::now();
      processes.emplace(at->path(), std::move(process));
    }
  }

  static void look_at(Process& process, Clock::time_point now, Clock::duration step) {
    abi::CountersHeader header;
    if (process.file < 0 || pread(process.file, &header, sizeof header, 0) != sizeof header ||
        header.magic != abi::kCountersMagic || header.version != abi::kCountersVersion)
      return;
    process.id = header.process_id;
    const unsigned threads = count_threads(process.id);
    if (threads == 0) return process.retire();
    process.last = now;
    process.most_threads = std::max(process.most_threads, threads);
    const std::uint32_t slots = std::min(header.next_slot, header.slot_count);
    if (threads >= 2) {
      process.parallel_ns += std::chrono::duration<double, std::nano>(step).count();
      const std::uint32_t looks = std::min(slots > 1 ? slots - 1 : 0, kMostThreadsALook);
      for (std::uint32_t i = 0; i < looks; ++i) {
        if (process.next_slot >= slots) process.next_slot = 1;
        look_at_thread(process, process.next_slot++);
      }
    }
    // The map may grow while the program loads libraries: read it again when there are new sites.
    if (process.samples.sites() > process.sites_at_map || process.memory_map.empty()) {
      const std::string map = whole_text("/proc/" + std::to_string(process.id) + "/maps");
      if (!map.empty()) process.memory_map = map;
      process.sites_at_map = process.samples.sites();
    }
  }

  static void look_at_thread(Process& process, std::uint32_t slot) {
    const auto start = static_cast<off_t>(abi::kCountersHeaderBytes + slot * abi::kCounterSlotBytes);
    std::uint32_t thread = 0;
    abi::ThreadActivity activity;
    constexpr auto kActivityAt = static_cast<off_t>(offsetof(abi::CounterSlot, activity));
    if (pread(process.file, &thread, sizeof thread, start) != sizeof thread ||
        pread(process.file, &activity, sizeof activity, start + kActivityAt) != sizeof activity ||
        thread == 0)
      return;
    const char letter = state_letter(process.id, thread);
    if (letter == 0) return;
    const abi::SeenActivity seen = abi::seen_activity(activity);
    process.samples.add(state_of(seen, letter != 'R'), seen);
    const std::uint64_t taken = abi::ThreadActivity::taken(activity.position);
    const auto [known, is_new] = process.taken.emplace(slot, taken);
    const bool at_lock = seen.activity != abi::Activity::kBlocked;  // not at a condition or barrier
    if (!is_new && taken > known->second && at_lock)
      process.samples.add_taken(seen.lock != 0 ? seen.lock : activity.entries[0].lock(),
                                taken - known->second);
    known->second = taken;
  }

  std::filesystem::path directory;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopped = false;
  std::map<std::filesystem::path, Process> processes;
  std::thread looker;
};

ActivitySampler::ActivitySampler(const std::filesystem::path& directory)
    : impl_(std::make_unique<Impl>(directory)) {}
ActivitySampler::~ActivitySampler() = default;

profile::Profile ActivitySampler::finish() {
  impl_->stop();
  const auto busiest = std::max_element(
      impl_->processes.begin(), impl_->processes.end(),
      [](const auto& a, const auto& b) { return a.second.samples.count() < b.second.samples.count(); });
  if (busiest == impl_->processes.end()) return {};
  const Process& process = busiest->second;
  profile::Profile profile = process.samples.profile(process.parallel_ns);
  profile.wall_ns = std::chrono::duration<double, std::nano>(process.last - process.first).count();
  profile.most_threads = process.most_threads;
  profile.cpus = usable_cpus();
  add_counts(profile, busiest->first, native_ticks_per_second(read_counters(impl_->directory)));
  name_places(profile, process.memory_map);
  return profile;
}

}  // namespace elision::cli::experiment
