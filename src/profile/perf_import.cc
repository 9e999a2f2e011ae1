// SPDX-License-Identifier: Apache-2.0
#include "profile/perf_import.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <map>
#include <set>

#include "profile/abort_account.h"
#include "profile/call_paths.h"
#include "profile/process_images.h"

namespace elision::profile {
namespace {

constexpr std::size_t kMostCalls = 128;
constexpr std::uint64_t kEventAndMask = 0xffff;
constexpr std::uint64_t kRtmAborted = 0x4c9, kRtmCommit = 0x2c9, kCoreCycles = 0x3c;  // intel/perfmon

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

std::vector<CallStep> calls_of(const PerfSample& sample, ProcessImage& image) {
  if (sample.state && !sample.stack.empty()) {
    const StackBytes stack{sample.stack.data(), sample.stack.size()};
    return image.unwinder().backtrace(*sample.state, &stack, kMostCalls);
  }
  std::vector<CallStep> chain;
  for (const std::uint64_t call : sample.calls)
    if (chain.size() < kMostCalls) chain.push_back({call, !chain.empty()});
  if (chain.empty()) chain.push_back({sample.ip});
  return chain;
}

bool is_in_lock_library(const CallStep& step, const Names& names) {
  const Mapping* const mapping = names.mapping_of(step.place());
  return mapping != nullptr && is_lock_library(*mapping);
}

class Importer {
 public:
  explicit Importer(const PerfFile& file) : file_(file) {
    for (const PerfFileEvent& event : file.events()) meanings_.push_back(meaning_of(event));
    // Two events of time would count it twice.
    bool has_time = false;
    for (PerfMeaning& meaning : meanings_) {
      if (meaning == PerfMeaning::kTime && has_time) meaning = PerfMeaning::kNothing;
      has_time |= meaning == PerfMeaning::kTime;
    }
  }

  void add(const PerfFile::Record& record) {
    if (images_.add(record.bytes)) return add_name(record.bytes);
    if (const auto lost = read_losses(record.bytes)) {
      aborts_.add_losses(*lost);
      result_.profile.paths_lost += static_cast<double>(*lost);
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
    const std::vector<CallStep> chain = calls_of(sample, image);
    const bool at_lock = is_in_lock_library(chain.front(), image.names());
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
    name_frames(profile, images_[most->first].names());
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
  const bool is_cycles = event.type == PERF_TYPE_HARDWARE && event.config == PERF_COUNT_HW_CPU_CYCLES;
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
