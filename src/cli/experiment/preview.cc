// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/preview.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "cli/options/designs.h"

namespace elision::cli::experiment {
namespace {

/// What programs call at the end of a section. The lock library has these functions under every design.
constexpr const char* kReleases[] = {"libelision!pthread_mutex_unlock", "libelision!pthread_rwlock_unlock",
                                     "libelision!pthread_spin_unlock",  "libelision!mtx_unlock",
                                     "libelision!GOMP_critical_end",    "libelision!GOMP_critical_name_end",
                                     "libelision!GOMP_atomic_end",      "libelision!__kmpc_end_critical",
                                     "libelision!omp_unset_lock",       "libelision!omp_unset_nest_lock"};

/// Behind the end of a look at it.
bool goes_on(const nlohmann::json& process) {
  const auto region = process.find("region");
  return region != process.end() && region->at("ended").get<bool>();
}

}  // namespace

std::optional<Preview> preview_of(const std::vector<nlohmann::json>& processes, std::uint64_t look_length) {
  std::optional<Preview> most;
  for (const nlohmann::json& process : processes) {
    std::vector<std::uint64_t> starts;
    for (const nlohmann::json& thread : process.at("threads"))
      starts.push_back(thread.at("started_instructions").get<std::uint64_t>());
    const bool is_cut = goes_on(process);
    const auto instructions = is_cut ? look_length : process.at("instructions").get<std::uint64_t>();
    if (starts.size() < 2 || (most && instructions <= most->all)) continue;
    std::nth_element(starts.begin(), starts.begin() + 1, starts.end());
    most = {.alone = starts[1], .all = instructions, .is_cut = is_cut};
  }
  return most;
}

namespace {

/// Looks with one number of threads.
class Looks {
 public:
  Looks(const Plan& plan, std::optional<unsigned> threads, Runner& runner, const LookLimits& limits)
      : plan_(plan), threads_(threads), runner_(runner), limits_(limits) {}

  /// Nothing: the program has no part to look at, or needs too long.
  std::optional<Preview> look() {
    if (limits_.enough <= 0) return look_at(0);
    // Longer and longer, until there is a second thread. This tells how fast fast mode is.
    constexpr std::uint64_t kFirst = 500'000'000, kTimesLonger = 4, kLongest = 1ULL << 60;
    std::uint64_t length = kFirst;
    std::optional<Preview> seen = look_at(length);
    while (!seen && goes_on_ && length < kLongest) seen = look_at(length *= kTimesLonger);
    if (!seen || !seen->is_cut) return seen;
    double slowest = last_;
    if (const auto elided = eliding_design(plan_)) {
      (void)look_at(seen->all, *elided);
      slowest = std::max(slowest, last_);
    }
    const double enough = limits_.enough * static_cast<double>(seen->all) / slowest;
    if (static_cast<double>(seen->all - seen->alone) >= enough) return seen;
    return look_at(seen->alone + static_cast<std::uint64_t>(enough));
  }

  bool timed_out() const { return timed_out_; }

 private:
  std::optional<Preview> look_at(std::uint64_t length, const std::string& design = kReference) {
    Cell cell{threads_, design, 0, plan_.first_seed};
    cell.previews = true;
    cell.look_length = length;
    const Sample sample = runner_.run(cell, limits_.timeout - spent_);
    last_ = sample.host_seconds;
    spent_ += last_;
    goes_on_ = false;
    timed_out_ = sample.outcome == Outcome::kTimedOut;
    if (runner_.cancelled() || !sample.start_error.empty() || !plan_.accepts(sample)) return std::nullopt;
    goes_on_ = std::any_of(sample.processes.begin(), sample.processes.end(), goes_on);
    auto preview = preview_of(sample.processes, length);
    if (preview) preview->host_seconds = spent_;
    return preview;
  }

  const Plan& plan_;
  const std::optional<unsigned> threads_;
  Runner& runner_;
  const LookLimits limits_;
  double spent_ = 0, last_ = 0;  // real seconds
  bool goes_on_ = false;         // behind the end of the last look
  bool timed_out_ = false;
};

}  // namespace

std::optional<std::string> eliding_design(const Plan& plan) {
  const auto found = std::find_if(plan.designs.begin(), plan.designs.end(), [&](const std::string& design) {
    return elides(design) && !plan.not_run.contains(design);
  });
  return found == plan.designs.end() ? std::nullopt : std::optional(*found);
}

Previews previews(const Plan& plan, Runner& runner, Observer& observer, const LookLimits& limits) {
  Previews found;
  for (const std::optional<unsigned>& threads : plan.thread_counts) {
    observer.progress({0, plan.thread_counts.size(), true, std::nullopt, "a look in fast mode"});
    Looks looks(plan, threads, runner, limits);
    const auto preview = looks.look();
    if (!preview) return {.timed_out = looks.timed_out()};
    found.seen.push_back(*preview);
  }
  return found;
}

std::vector<unsigned> spread_order(unsigned count) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(std::max(count, 1U) - 1));
  std::vector<unsigned> order;
  for (unsigned i = 0; i < 1U << bits; ++i) {
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < bits; ++bit) reversed |= (i >> bit & 1U) << (bits - 1 - bit);
    if (reversed < count) order.push_back(reversed);
  }
  return order;
}

std::vector<vm::RunRegion> windows_in(const Preview& preview, unsigned count, std::uint64_t length_ns) {
  std::vector<vm::RunRegion> windows;
  const double share = static_cast<double>(preview.all - preview.alone) / count;
  for (const unsigned i : spread_order(count)) {
    const std::uint64_t begin = preview.alone + static_cast<std::uint64_t>((i + 0.5) * share) + 2;
    vm::RunRegion window;
    window.start = {vm::Trigger::Kind::kInstructions, begin};
    window.warm_from = {vm::Trigger::Kind::kInstructions,
                        begin > kWarmUpInstructions ? begin - kWarmUpInstructions : 1};
    window.length = length_ns;
    window.ends_process = true;
    window.counted.assign(std::begin(kReleases), std::end(kReleases));
    windows.push_back(window);
  }
  return windows;
}

}  // namespace elision::cli::experiment
