// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_part.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/experiment/part.h"
#include "cli/experiment/preview.h"
#include "cli/experiment/time_limit.h"
#include "cli/host/console.h"
#include "cli/host/usage_error.h"
#include "cli/show/format.h"

namespace elision::cli {
namespace {

using experiment::Part;
using experiment::Plan;

/// "--budget 90s", or "--budget 5m (the default)".
std::string name_of_budget(const CompareRequest& request) {
  return request.budget.empty() ? fmt::format("{} {:.0f}m (the default)", kBudget, kDefaultBudgetSeconds / 60)
                                : fmt::format("{} {}", kBudget, request.budget);
}

bool has_budget(const CompareRequest& request) { return request.plan.budget_seconds > 0; }

/// Nothing to say about whole runs that the user did not limit.
void tell_choice(const CompareRequest& request, const experiment::Fit& fit) {
  const Plan& plan = request.plan;
  if (!plan.samples()) {
    if (!request.budget.empty())
      tell("compare", fmt::format("{}: whole runs fit, and rounds are added as long as they do",
                                  name_of_budget(request)));
    return;
  }
  const std::string length = experiment::format_seconds(1e-9 * static_cast<double>(plan.part.length_ns));
  std::string cause = fmt::format("{} auto", kSample);
  if (has_budget(request)) cause = name_of_budget(request);
  if (!request.samples_auto) cause = "whole runs do not fit into " + cause;
  const bool all_at_once = plan.runs == plan.part.windows;
  tell("compare",
       fmt::format(
           "{}: {}{} windows of {} of each design{}{}", cause, all_at_once ? "" : "up to ", plan.part.windows,
           length,
           all_at_once ? "" : fmt::format("; after {}, only designs that may still be best", plan.runs),
           fit.fits ? "" : "; these take longer than that"));
}

experiment::Previews look(const CompareRequest& request, experiment::Runner& runner,
                          experiment::Observer& observer) {
  const bool is_limited = has_budget(request);
  const double budget = is_limited ? request.plan.budget_seconds : experiment::kNoLimit;
  const double timeout = request.timeout_seconds > 0 ? request.timeout_seconds : experiment::kNoLimit;
  const double enough = is_limited ? seconds_of_look(request.plan, runner) : 0;
  auto looks = previews(request.plan, runner, observer, {std::min(budget, timeout), enough});
  if (looks.timed_out && budget < timeout)
    throw UsageError(fmt::format("a look at the program in fast mode takes longer than {}: give it more",
                                 name_of_budget(request)));
  return looks;
}

}  // namespace

std::vector<experiment::Result> choose_part(CompareRequest& request, experiment::Runner& runner,
                                            experiment::Observer& observer) {
  Plan& plan = request.plan;
  plan.rounds_seconds = plan.budget_seconds;
  if (!plan.model || request.region.is_set() || request.whole_run) return {};
  const bool samples = request.windows != 0 || request.samples_auto;
  const experiment::Previews looks = look(request, runner, observer);
  if (runner.cancelled()) return {};
  if (looks.seen.empty()) {
    if (samples)
      throw UsageError(fmt::format("{}: {} starts no second thread, or fails", kSample, plan.program()));
    return {};
  }
  if (request.windows != 0) {
    simulate(plan, {.kind = Part::Kind::kWindows,
                    .seen = looks.seen,
                    .windows = request.windows,
                    .places = request.windows,
                    .together = experiment::kFirstWindows,
                    .length_ns = request.window_ns.value_or(experiment::kFirstLength)});
    return {};
  }
  // Modes of transactional memory execute different numbers of instructions for the same work, and windows
  // lie by instructions.
  if (plan.uses_metric() || !plan.compares_locks() || (!has_budget(request) && !samples)) {
    simulate(plan, {.kind = Part::Kind::kFromSecondThread, .seen = looks.seen});
    return {};
  }
  experiment::Fit fit =
      fit_into_budget(plan, looks, {samples, request.window_ns, request.timeout_seconds}, runner, observer);
  if (runner.cancelled()) return {};
  if (!fit.one_fits) throw UsageError(fmt::format("{} is too small for one run", name_of_budget(request)));
  tell_choice(request, fit);
  return std::move(fit.tried);
}

}  // namespace elision::cli
