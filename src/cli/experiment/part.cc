// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/part.h"

#include <algorithm>
#include <cmath>

#include "cli/options/designs.h"
#include "cli/options/region_options.h"

namespace elision::cli::experiment {
namespace {

constexpr double kAnyTime = 1e9;

/// Of the fewest windows, the round that has the one in the middle.
constexpr unsigned kMiddleWindow = 2;
static_assert(kFewestWindows == 3);

/// A window has so many sections under the reference, if it need not be longer than the longest.
constexpr double kSectionsOfWindow = 500;
constexpr std::uint64_t kFirstLength = 1'000'000, kShortestLength = 300'000, kLongestLength = 20'000'000;
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
double eliding_cells_a_round(const Plan& plan) { return cells_a_round(plan, elides); }

double first_cells(const Plan& plan) { return cells_a_round(plan) * plan.default_rounds().first; }

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

WindowOptions windows_of(const Part& part, const std::vector<std::optional<unsigned>>& thread_counts) {
  WindowOptions windows;
  for (std::size_t i = 0; i < part.seen.size(); ++i)
    for (const vm::RunRegion& window : windows_in(part.seen[i], part.windows, part.length_ns))
      windows[thread_counts[i]].push_back(as_words(window));
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
  Trial(Plan& plan, const std::vector<Preview>& seen, Runner& runner, Observer& observer)
      : plan_(plan), seen_(seen), runner_(runner), observer_(observer) {
    for (const Preview& preview : seen) spent_ += preview.host_seconds;
  }

  Fit fit(const Wishes& wishes) {
    const double share = budget() * runner_.workers() / first_cells(plan_);
    const bool is_cut =
        std::any_of(seen_.begin(), seen_.end(), [](const Preview& each) { return each.is_cut; });
    const double fast = std::max_element(seen_.begin(), seen_.end(), [](const Preview& a, const Preview& b) {
                          return a.host_seconds < b.host_seconds;
                        })->host_seconds;
    if (!wishes.samples && !is_cut && kSlowerThanFast * fast <= share) {
      simulate(plan_, {.kind = Part::Kind::kFromSecondThread, .seen = seen_});
      Result whole = run(0, share);
      if (whole.sample.outcome != Outcome::kTimedOut) {
        spent_ -= whole.sample.host_seconds;  // it counts as a run of the first round
        plan_.rounds_seconds = budget();
        return {.tried = std::move(whole)};
      }
    }
    return choose_windows(wishes);
  }

 private:
  Fit choose_windows(const Wishes& wishes) {
    const std::uint64_t length = wishes.length_ns ? *wishes.length_ns : length_everywhere();
    const Sample window = try_window(length, kMiddleWindow);
    const double one = std::max(window.host_seconds, 1e-3);
    plan_.trial_seconds = one;
    double round = cells_a_round(plan_) * one;
    if (const auto elided = eliding_design(plan_); elided && !runner_.cancelled()) {
      const double other = run(kMiddleWindow, kAnyTime, *elided).sample.host_seconds;
      plan_.trial_seconds = std::max(one, other);
      round += eliding_cells_a_round(plan_) * (other - one);
    }
    const double rounds =
        plan_.budget_seconds > 0 ? budget() * runner_.workers() / std::max(round, 1e-3) : kMostWindows;
    Part part = plan_.part;
    part.windows =
        static_cast<unsigned>(std::clamp<double>(std::floor(rounds), kFewestWindows, kMostWindows));
    simulate(plan_, part);
    plan_.runs = std::min(part.windows, kFirstWindows);
    plan_.most_runs = part.windows;
    plan_.rounds_seconds = plan_.budget_seconds > 0 ? std::max(budget(), 1e-3) : 0;
    return {.fits = rounds >= kFewestWindows, .one_fits = plan_.budget_seconds <= 0 || one <= budget()};
  }

  /// Enough for the sections of each of the fewest windows, since threads may sleep in some of them.
  std::uint64_t length_everywhere() {
    std::uint64_t longest = kShortestLength;
    for (unsigned round = 0; round < kFewestWindows && !runner_.cancelled(); ++round)
      longest = std::max(longest, length_for_sections(try_window(kFirstLength, round)));
    return longest;
  }

  Sample try_window(std::uint64_t length_ns, unsigned round) {
    simulate(
        plan_,
        {.kind = Part::Kind::kWindows, .seen = seen_, .windows = kFewestWindows, .length_ns = length_ns});
    return run(round, kAnyTime).sample;
  }

  /// With the most threads.
  Result run(unsigned round, double timeout_seconds, const std::string& design = kReference) {
    const auto most = std::max_element(plan_.thread_counts.begin(), plan_.thread_counts.end(),
                                       [](auto a, auto b) { return a.value_or(0) < b.value_or(0); });
    observer_.progress({0, 1, true, std::nullopt, "a run to know how long one takes"});
    const Cell cell{*most, design, round, plan_.first_seed + round};
    Sample sample = runner_.run(cell, timeout_seconds);
    spent_ += sample.host_seconds;
    return {cell, std::move(sample)};
  }

  /// What is left of it.
  double budget() const { return plan_.budget_seconds - spent_; }

  Plan& plan_;
  const std::vector<Preview>& seen_;
  Runner& runner_;
  Observer& observer_;
  double spent_ = 0;
};

}  // namespace

double seconds_a_run(const Plan& plan, const Runner& runner) {
  return plan.budget_seconds * runner.workers() / first_cells(plan);
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

Fit fit_into_budget(Plan& plan, const std::vector<Preview>& seen, const Wishes& wishes, Runner& runner,
                    Observer& observer) {
  return Trial(plan, seen, runner, observer).fit(wishes);
}

}  // namespace elision::cli::experiment
