// SPDX-License-Identifier: Apache-2.0
#include "profile/perf_import.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/rtm_events.h"
#include "profile/abort_account.h"
#include "profile/call_paths.h"
#include "profile/process_images.h"

namespace elision::profile {
namespace {

constexpr std::size_t kMostCalls = 128;
constexpr std::uint64_t kEventAndMask = 0xffff;
constexpr std::uint64_t kCoreCycles = 0x3c;  // github.com/intel/perfmon
/// On hybrid CPUs the upper half of a generic event's number names the PMU.
constexpr unsigned kPmuShift = 32;

/// "tx-abort" of "cpu/tx-abort/upp" and of "tx-abort:pp".
std::string bare_name(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) name = name.substr(slash + 1);
  return name.substr(0, name.find_first_of("/:"));
}

/// Nanoseconds that a sample stands for. Cycles at a fixed period count as nanoseconds, since the file does
/// not tell the frequency: shares are right.
double nanoseconds(const PerfFileEvent& event, const PerfSample& sample) {
  const bool is_clock = event.type == PERF_TYPE_SOFTWARE;
  if (!is_clock && event.is_frequency && event.frequency_or_period != 0)
    return 1e9 / static_cast<double>(event.frequency_or_period);
  return static_cast<double>(sample.period != 0 ? sample.period : event.frequency_or_period);
}

class Importer {
 public:
  explicit Importer(const PerfFile& file) : file_(file) {
    result_.other_samples = static_cast<double>(file.unknown_samples());
    for (const PerfFileEvent& event : file.events()) meanings_.push_back(meaning_of(event));
    // Two events of time would count it twice, but for the cycles of two kinds of cores.
    const PerfFileEvent* time = nullptr;
    for (std::size_t i = 0; i < meanings_.size(); ++i) {
      const PerfFileEvent& event = file.events()[i];
      if (meanings_[i] != PerfMeaning::kTime) continue;
      if (time == nullptr) time = &event;
      const bool is_of_other_cores = event.type == PERF_TYPE_HARDWARE && time->type == PERF_TYPE_HARDWARE &&
                                     event.config >> kPmuShift != time->config >> kPmuShift;
      if (time != &event && !is_of_other_cores) meanings_[i] = PerfMeaning::kNothing;
    }
  }

  void add(const PerfFile::Record& record) {
    if (images_.add(record.bytes)) return add_name(record.bytes);
    if (const auto lost = read_losses(record.bytes)) {
      if (has(PerfMeaning::kAborts)) aborts_.add_losses(*lost);
      if (has(PerfMeaning::kTime)) result_.profile.paths_lost += static_cast<double>(*lost);
      return;
    }
    const PerfFileEvent& event = file_.events()[record.event];
    const auto sample = read_sample(record.bytes, event.layout);
    if (!sample) return;
    if (sample->time != 0) {
      if (first_time_ == 0) first_time_ = sample->time;
      last_time_ = sample->time;
    }
    switch (meanings_[record.event]) {
      case PerfMeaning::kTime:
        return add_time(*sample, nanoseconds(event, *sample));
      case PerfMeaning::kAborts:
        ++result_.abort_samples;
        return aborts_.add(with_period(*sample, event), images_, images_.number_of(sample->process));
      case PerfMeaning::kCommits:
        commits_ += static_cast<double>(with_period(*sample, event).period);
        return;
      case PerfMeaning::kNothing:
        ++result_.other_samples;
    }
  }

  PerfImport finish() {
    Profile& profile = result_.profile;
    profile.wall_ns = static_cast<double>(last_time_ - first_time_);
    profile.most_threads = static_cast<std::uint32_t>(threads_.size());
    add_paths();
    AbortEvents& events = profile.abort_events.emplace();
    if (!has(PerfMeaning::kAborts)) {
      events.missing = "the file has no event of aborts";
      return std::move(result_);
    }
    events = aborts_.events(images_, nullptr);
    events.commits = commits_;
    return std::move(result_);
  }

 private:
  bool has(PerfMeaning meaning) const {
    return std::find(meanings_.begin(), meanings_.end(), meaning) != meanings_.end();
  }

  static PerfSample with_period(PerfSample sample, const PerfFileEvent& event) {
    if (sample.period == 0 && !event.is_frequency) sample.period = event.frequency_or_period;
    return sample;
  }

  void add_name(PerfBytes record) {
    if (const auto name = read_name(record)) names_[name->thread] = name->name;
  }

  void add_time(const PerfSample& sample, double ns) {
    ++result_.time_samples;
    threads_.insert(sample.thread);
    const std::size_t number = images_.number_of(sample.process);
    ProcessImage& image = images_[number];
    std::vector<CallStep> chain = image.calls_of(sample, kMostCalls);
    if (chain.empty()) chain.push_back({sample.ip});
    const bool at_lock = image.names().is_in_lock_library(chain.front().place());
    paths_[number].add(at_lock ? State::kOverhead : State::kOutside, 0, sample.thread,
                       places_outside_library(chain, image.names()), ns);
  }

  void add_paths() {
    Profile& profile = result_.profile;
    const auto most = std::max_element(paths_.begin(), paths_.end(), [](const auto& a, const auto& b) {
      return a.second.samples() < b.second.samples();
    });
    if (most == paths_.end()) {
      profile.paths_missing = "the file has no samples of time";
      return;
    }
    result_.other_processes = result_.time_samples - static_cast<double>(most->second.samples());
    most->second.add_to(profile);
    for (Thread& thread : profile.threads)
      if (const auto name = names_.find(thread.id); name != names_.end()) thread.name = name->second;
    name_frames(profile, images_[most->first].names_by_servers());
  }

  const PerfFile& file_;
  std::vector<PerfMeaning> meanings_;  // of the file's events
  ProcessImages images_;
  AbortAccount aborts_;
  std::map<std::size_t, CallPaths> paths_;  // by image
  std::map<std::uint32_t, std::string> names_;
  std::set<std::uint32_t> threads_;
  std::uint64_t first_time_ = 0, last_time_ = 0;
  double commits_ = 0;
  PerfImport result_;
};

}  // namespace

PerfMeaning meaning_of(const PerfFileEvent& event) {
  const std::string name = bare_name(event.name);
  if (name == "tx-abort" || name == "rtm_retired.aborted") return PerfMeaning::kAborts;
  if (name == "tx-commit" || name == "rtm_retired.commit") return PerfMeaning::kCommits;
  if (event.type == PERF_TYPE_RAW) {
    const std::uint64_t number = event.config & kEventAndMask;
    if (number == kRtmAborted) return PerfMeaning::kAborts;
    if (number == kRtmCommit) return PerfMeaning::kCommits;
    if (event.config == kCoreCycles) return PerfMeaning::kTime;
  }
  const bool is_cycles = event.type == PERF_TYPE_HARDWARE &&
                         static_cast<std::uint32_t>(event.config) == PERF_COUNT_HW_CPU_CYCLES;
  const bool is_clock = event.type == PERF_TYPE_SOFTWARE &&
                        (event.config == PERF_COUNT_SW_CPU_CLOCK || event.config == PERF_COUNT_SW_TASK_CLOCK);
  return is_cycles || is_clock ? PerfMeaning::kTime : PerfMeaning::kNothing;
}

PerfImport import_perf(const PerfFile& file) {
  Importer importer(file);
  for (const PerfFile::Record& record : file.records()) importer.add(record);
  return importer.finish();
}

}  // namespace elision::profile
