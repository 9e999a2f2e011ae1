// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/part.h"

#include <algorithm>
#include <cmath>

#include "cli/experiment/time_limit.h"
#include "cli/options/designs.h"
#include "cli/options/region_options.h"

namespace elision::cli::experiment {
namespace {

/// Detailed simulation takes at least so many times as long as fast mode (docs/measured/performance.md), so
/// that a whole run need not be tried to know that it does not fit.
constexpr double kSlowerThanFast = 3;

/// Designs that elide locks may take so many times as long as the reference, and rarely take longer.
constexpr double kMostTimesSlower = 8;

/// The round of the window in the middle (spread_order()).
constexpr unsigned kMiddleWindow = 0;

/// A window has so many sections under the reference, if it need not be longer than the longest.
constexpr double kSectionsOfWindow = 500;
constexpr std::uint64_t kShortestLength = 300'000, kLongestLength = 20'000'000;
constexpr std::uint64_t kLengthStep = 100'000;

/// The runs of one round, of designs that `counts` accepts.
template <class Counts>
double cells_a_round(const Plan& plan, Counts counts) {
  const auto runs = std::count_if(plan.designs.begin(), plan.designs.end(), [&](const std::string& design) {
    return !plan.not_run.contains(design) && counts(design);
  });
  return static_cast<double>(runs) * static_cast<double>(plan.thread_counts.size());
}

double cells_a_round(const Plan& plan) {
  return cells_a_round(plan, [](const std::string&) { return true; });
}

std::vector<std::string> from_second_thread(const std::vector<Preview>& seen) {
  const std::uint64_t alone =
      std::min_element(seen.begin(), seen.end(), [](const Preview& a, const Preview& b) {
        return a.alone < b.alone;
      })->alone;
  vm::RunRegion part;
  part.start = {vm::Trigger::Kind::kThread, 2};
  part.warm_from = {vm::Trigger::Kind::kInstructions,
                    alone > kWarmUpInstructions ? alone - kWarmUpInstructions : 1};
  return as_words(part);
}

Windows windows_of(const Part& part, const std::vector<std::optional<unsigned>>& thread_counts) {
  Windows windows;
  for (std::size_t i = 0; i < part.seen.size(); ++i)
    for (const vm::RunRegion& window : windows_in(part.seen[i], part.windows, part.length_ns))
      windows[thread_counts[i]].push_back({as_words(window), window.start.value});
  return windows;
}

std::uint64_t length_for_sections(const Sample& window) {
  if (window.ends_in_window) return kShortestLength;
  if (window.has_no_section) return kLongestLength;
  const double wanted = 1e9 * window.seconds * kSectionsOfWindow / static_cast<double>(kLengthStep);
  const auto length = static_cast<std::uint64_t>(std::min(std::ceil(wanted), 1e6)) * kLengthStep;
  return std::clamp(length, kShortestLength, kLongestLength);
}

/// Tries runs of one plan, and keeps count of their time.
class Trial {
 public:
  Trial(Plan& plan, const Previews& looks, const Wishes& wishes, Runner& runner, Observer& observer)
      : plan_(plan),
        seen_(looks.seen),
        wishes_(wishes),
        runner_(runner),
        observer_(observer),
        spent_(looks.host_seconds) {}

  Fit fit() {
    if (!wishes_.samples &&
        std::none_of(seen_.begin(), seen_.end(), [](const Preview& each) { return each.is_cut; })) {
      if (auto tried = whole_runs_that_fit()) return {.tried = std::move(*tried)};
    }
    return choose_windows();
  }

 private:
  bool has_budget() const { return plan_.budget_seconds > 0; }
  /// Of the workers together, in what is left of the budget.
  double left() const { return (plan_.budget_seconds - spent_) * runner_.workers(); }
  /// Of one run.
  double limit() const {
    double seconds = kNoLimit;
    if (has_budget()) seconds = std::max(plan_.budget_seconds - spent_, 1e-3);
    return wishes_.timeout_seconds > 0 ? std::min(seconds, wishes_.timeout_seconds) : seconds;
  }

  /// For a whole round, if the reference takes `one` second and designs that elide locks `other` seconds.
  double round_seconds(double one, double other) const {
    const double eliding = cells_a_round(plan_, elides);
    return (cells_a_round(plan_) - eliding) * one + eliding * other;
  }

  /// Nothing: the first rounds of whole runs do not fit.
  std::optional<std::vector<Result>> whole_runs_that_fit() {
    const double fast = std::max_element(seen_.begin(), seen_.end(), [](const Preview& a, const Preview& b) {
                          return a.host_seconds < b.host_seconds;
                        })->host_seconds;
    const double round = left() / plan_.default_rounds().first;
    const double share = round / cells_a_round(plan_);
    if (kSlowerThanFast * fast > share) return std::nullopt;
    simulate(plan_, {.kind = Part::Kind::kFromSecondThread, .seen = seen_});
    const double before = spent_;
    std::vector<Result> tried;
    tried.push_back(run(kReference, 0, std::min(share, limit())));
    if (timed_out(tried.back())) return std::nullopt;
    const double one = tried.back().sample.host_seconds;
    const auto elided = eliding_design(plan_);
    if (elided && round_seconds(one, kMostTimesSlower * one) > round) {
      const double allowed = (round - round_seconds(one, 0)) / cells_a_round(plan_, elides);
      tried.push_back(run(*elided, 0, std::min(allowed, limit())));
      if (timed_out(tried.back())) return std::nullopt;
    }
    spent_ = before;  // these count as runs of the first round
    plan_.rounds_seconds = plan_.budget_seconds - spent_;
    return tried;
  }

  Fit choose_windows() {
    std::uint64_t length = wishes_.length_ns.value_or(kFirstLength);
    std::optional<double> one =
        wishes_.length_ns ? try_window(length, kMiddleWindow, limit()) : try_lengths(length);
    if (!one) return {.fits = false, .one_fits = false};
    double other = *one;
    if (const auto elided = eliding_design(plan_); elided && !runner_.cancelled()) {
      const Result tried = run(*elided, kMiddleWindow, std::min(time_limit(*one), limit()));
      if (!timed_out(tried)) other = tried.sample.host_seconds;  // else it may hang
    }
    const double rounds = has_budget() ? left() / std::max(round_seconds(*one, other), 1e-3) : kMostWindows;
    Part part = plan_.part;
    part.windows =
        static_cast<unsigned>(std::clamp<double>(std::floor(rounds), kFewestWindows, kMostWindows));
    simulate(plan_, part);
    plan_.runs = std::min(part.windows, kFirstWindows);
    plan_.most_runs = part.windows;
    plan_.rounds_seconds = has_budget() ? std::max(plan_.budget_seconds - spent_, 1e-3) : 0;
    return {.fits = rounds >= kFewestWindows};
  }

  /// Windows long enough for the sections of each of the fewest windows, since threads may sleep in some of
  /// them; but no longer than fits. Returns the real time of a run.
  std::optional<double> try_lengths(std::uint64_t& length) {
    std::uint64_t longest = kShortestLength;
    double middle = 0;
    for (unsigned round = 0; round < kFewestWindows && !runner_.cancelled(); ++round) {
      const auto seconds = try_window(kFirstLength, round, limit());
      if (!seconds) return std::nullopt;
      if (round == kMiddleWindow) middle = *seconds;
      longest = std::max(longest, length_for_sections(sample_));
    }
    if (longest != kFirstLength) {
      const double share = has_budget() ? left() / (kFewestWindows * cells_a_round(plan_)) : kNoLimit;
      if (const auto seconds = try_window(longest, kMiddleWindow, std::min(share, limit()))) {
        length = longest;
        return seconds;
      }
      simulate_windows(kFirstLength);
    }
    length = kFirstLength;
    return middle;
  }

  void simulate_windows(std::uint64_t length_ns) {
    simulate(plan_, {Part::Kind::kWindows, seen_, kFewestWindows, length_ns});
  }

  /// The real time that a run of the reference takes; nothing if that is longer than the limit.
  std::optional<double> try_window(std::uint64_t length_ns, unsigned round, double timeout_seconds) {
    simulate_windows(length_ns);
    const Result tried = run(kReference, round, timeout_seconds);
    sample_ = tried.sample;
    return timed_out(tried) ? std::nullopt : std::optional(std::max(sample_.host_seconds, 1e-3));
  }

  static bool timed_out(const Result& result) { return result.sample.outcome == Outcome::kTimedOut; }

  /// With the most threads.
  Result run(const std::string& design, unsigned round, double timeout_seconds) {
    const auto most = std::max_element(plan_.thread_counts.begin(), plan_.thread_counts.end(),
                                       [](auto a, auto b) { return a.value_or(0) < b.value_or(0); });
    observer_.progress({0, 1, true, std::nullopt, "a run to know how long one takes"});
    const Cell cell{*most, design, round, plan_.first_seed + round};
    Sample sample = runner_.run(cell, timeout_seconds);
    spent_ += sample.host_seconds;
    return {cell, std::move(sample)};
  }

  Plan& plan_;
  const std::vector<Preview> seen_;
  const Wishes wishes_;
  Runner& runner_;
  Observer& observer_;
  double spent_;   // of the budget
  Sample sample_;  // of the window that was tried last
};

}  // namespace

double seconds_of_look(const Plan& plan, const Runner& runner) {
  const double runs = cells_a_round(plan) * plan.default_rounds().first;
  return plan.budget_seconds * runner.workers() / runs / kSlowerThanFast;
}

void simulate(Plan& plan, Part part) {
  plan.part = std::move(part);
  plan.windows.clear();
  switch (plan.part.kind) {
    case Part::Kind::kAsAsked:
      return;
    case Part::Kind::kFromSecondThread:
      plan.launch.vm_words = from_second_thread(plan.part.seen);
      return;
    case Part::Kind::kWindows:
      plan.launch.vm_words.clear();
      plan.windows = windows_of(plan.part, plan.thread_counts);
      plan.compare_output = false;  // processes end before they print all
      return;
  }
}

Fit fit_into_budget(Plan& plan, const Previews& looks, const Wishes& wishes, Runner& runner,
                    Observer& observer) {
  return Trial(plan, looks, wishes, runner, observer).fit();
}

}  // namespace elision::cli::experiment
