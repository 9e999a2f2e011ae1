// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/part.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

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
    windows[thread_counts[i]] = windows_in(part.seen[i], part.windows, part.places, part.length_ns);
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

  /// For a process of each design, if that of the reference takes `one` second and designs that elide locks
  /// `other` seconds.
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
    std::vector<Result> tried = run(plan_.reference(), std::min(share, limit()));
    if (timed_out(tried)) return std::nullopt;
    const double one = seconds_of(tried);
    const auto elided = eliding_design(plan_);
    if (elided && round_seconds(one, kMostTimesSlower * one) > round) {
      const double allowed = (round - round_seconds(one, 0)) / cells_a_round(plan_, elides);
      add(tried, run(*elided, std::min(allowed, limit())));
      if (timed_out(tried)) return std::nullopt;
    }
    give_back(seconds_of(tried));
    plan_.rounds_seconds = plan_.budget_seconds - spent_;
    return tried;
  }

  Fit choose_windows() {
    std::vector<Result> tried =
        wishes_.length_ns ? try_reference(*wishes_.length_ns, limit()) : try_lengths();
    if (tried.empty() || runner_.cancelled()) return {.fits = false, .one_fits = false};
    const double one = std::max(seconds_of(tried), 1e-3);
    double other = one;
    if (const auto elided = eliding_design(plan_)) {
      std::vector<Result> eliding = run(*elided, std::min(time_limit(one), limit()));
      if (!timed_out(eliding)) {  // else it may hang
        other = seconds_of(eliding);
        add(tried, std::move(eliding));
      }
    }
    give_back(seconds_of(tried));
    Part part = plan_.part;
    const double processes =
        has_budget() ? std::floor(left() / std::max(round_seconds(one, other), 1e-3)) : kMostWindows;
    const double windows = std::min<double>(processes * part.together, kMostWindows);
    const bool fits = windows >= kFirstWindows;
    part.windows = fits ? static_cast<unsigned>(windows) : kFirstWindows;
    simulate(plan_, part);
    plan_.runs = kFirstWindows;
    plan_.most_runs = part.windows;
    plan_.rounds_seconds = has_budget() ? std::max(plan_.budget_seconds - spent_, 1e-3) : 0;
    return {.fits = fits, .tried = std::move(tried)};
  }

  /// Windows long enough for the sections of each of the first windows, since threads may sleep in some of
  /// them; but no longer than fits. Returns runs of the reference with that length; none if one does not fit.
  std::vector<Result> try_lengths() {
    const std::vector<Result> first = try_reference(kFirstLength, limit(), kFirstWindows);
    if (first.empty() || runner_.cancelled()) return {};
    std::uint64_t longest = kShortestLength;
    for (const Result& result : first) longest = std::max(longest, length_for_sections(result.sample));
    if (longest == kFirstLength && windows_together() == kFirstWindows) return first;
    const double runs = cells_a_round(plan_) * kFirstWindows / windows_together();
    const double share = has_budget() ? left() / runs : kNoLimit;
    if (auto tried = try_reference(longest, std::min(share, limit())); !tried.empty()) return tried;
    if (windows_together() != kFirstWindows)
      return try_reference(kFirstLength, std::max(limit(), seconds_of(first)));
    simulate_windows(kFirstLength, kFirstWindows);
    return first;
  }

  /// The more windows a process simulates, the less runs in fast mode in all; but each worker needs a
  /// process. Without a budget, results must not depend on the host.
  unsigned windows_together() const {
    if (!has_budget()) return kFirstWindows;
    const double windows = kFirstWindows * cells_a_round(plan_) / runner_.workers();
    return static_cast<unsigned>(std::clamp<double>(std::floor(windows), 1, kFirstWindows));
  }

  std::vector<Result> try_reference(std::uint64_t length_ns, double timeout_seconds) {
    return try_reference(length_ns, timeout_seconds, windows_together());
  }

  /// The first windows under the reference; none if they take longer than the limit.
  std::vector<Result> try_reference(std::uint64_t length_ns, double timeout_seconds, unsigned together) {
    simulate_windows(length_ns, together);
    std::vector<Result> tried = run(plan_.reference(), timeout_seconds);
    return timed_out(tried) ? std::vector<Result>() : tried;
  }

  void simulate_windows(std::uint64_t length_ns, unsigned together) {
    simulate(plan_, {.kind = Part::Kind::kWindows,
                     .seen = seen_,
                     .windows = kFirstWindows,
                     .places = kMostWindows,
                     .together = together,
                     .length_ns = length_ns});
  }

  /// Runs that were tried alone count as runs of the first round, too. There each has a worker.
  void give_back(double seconds) { spent_ -= seconds / runner_.workers(); }

  static bool timed_out(const std::vector<Result>& results) {
    return std::any_of(results.begin(), results.end(),
                       [](const Result& result) { return result.sample.outcome == Outcome::kTimedOut; });
  }

  static double seconds_of(const std::vector<Result>& results) {
    double seconds = 0;
    for (const Result& result : results) seconds += result.sample.host_seconds;
    return seconds;
  }

  static void add(std::vector<Result>& results, std::vector<Result> more) {
    std::move(more.begin(), more.end(), std::back_inserter(results));
  }

  /// The first process of a design, with the most threads.
  std::vector<Result> run(const std::string& design, double timeout_seconds) {
    observer_.progress({0, 1, true, std::nullopt, "a run to know how long one takes"});
    const auto most = std::max_element(plan_.thread_counts.begin(), plan_.thread_counts.end(),
                                       [](auto a, auto b) { return a.value_or(0) < b.value_or(0); });
    std::vector<Cell> cells;
    for (unsigned round = 0; round < plan_.part.together; ++round)
      cells.push_back(plan_.cell_of(*most, design, round, 0));
    std::vector<Sample> samples = runner_.run(cells, timeout_seconds);
    std::vector<Result> results;
    for (std::size_t i = 0; i < samples.size(); ++i) results.push_back({cells[i], std::move(samples[i])});
    spent_ += seconds_of(results) + results.front().sample.wait_seconds;
    return results;
  }

  Plan& plan_;
  const std::vector<Preview> seen_;
  const Wishes wishes_;
  Runner& runner_;
  Observer& observer_;
  double spent_;  // of the budget
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
