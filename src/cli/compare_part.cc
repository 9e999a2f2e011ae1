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

/// "--budget 5m", or "the default of --budget, 5m".
std::string name_of_budget(const CompareRequest& request) {
  return request.budget.empty()
             ? fmt::format("the default of {}, {:.0f}m", kBudget, kDefaultBudgetSeconds / 60)
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
  const std::string cause = !has_budget(request) ? fmt::format("{} auto: ", kSample)
                            : request.samples_auto
                                ? fmt::format("{}: ", name_of_budget(request))
                                : fmt::format("whole runs do not fit into {}: ", name_of_budget(request));
  tell("compare", fmt::format("{}{} windows of {} of each design{}{}", cause, plan.part.windows, length,
                              plan.runs < plan.part.windows
                                  ? fmt::format(", after {} only of those that may be best", plan.runs)
                                  : "",
                              fit.fits ? "" : ", which take longer than that"));
}

experiment::Previews look(const CompareRequest& request, experiment::Runner& runner,
                          experiment::Observer& observer) {
  const bool is_limited = has_budget(request);
  const double budget = is_limited ? request.plan.budget_seconds : experiment::kNoLimit;
  const double timeout = request.timeout_seconds > 0 ? request.timeout_seconds : experiment::kNoLimit;
  const double enough = is_limited ? seconds_of_look(request.plan, runner) : 0;
  auto looks = previews(request.plan, runner, observer, {std::min(budget, timeout), enough});
  if (looks.timed_out && budget < timeout)
    throw UsageError(fmt::format("a look at the program in fast mode takes longer than {}; give more with {}",
                                 name_of_budget(request), kBudget));
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
    simulate(plan, {Part::Kind::kWindows, looks.seen, request.windows,
                    request.window_ns.value_or(experiment::kFirstLength)});
    return {};
  }
  if (plan.uses_metric() || (!has_budget(request) && !samples)) {
    simulate(plan, {.kind = Part::Kind::kFromSecondThread, .seen = looks.seen});
    return {};
  }
  experiment::Fit fit =
      fit_into_budget(plan, looks, {samples, request.window_ns, request.timeout_seconds}, runner, observer);
  if (runner.cancelled()) return {};
  if (!fit.one_fits)
    throw UsageError(
        fmt::format("{} is too small for one run; give more with {}", name_of_budget(request), kBudget));
  tell_choice(request, fit);
  return std::move(fit.tried);
}

}  // namespace elision::cli
