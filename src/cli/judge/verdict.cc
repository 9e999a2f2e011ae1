// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/experiment/execute.h"
#include "cli/experiment/part.h"
#include "cli/host/replaceable_locks.h"
#include "cli/judge/variation_verdict.h"
#include "cli/options/amounts.h"
#include "cli/options/tm_modes.h"

namespace elision::cli::experiment {
namespace {

using Rows = std::vector<const Row*>;

// The good rows of other designs than the reference for which `wanted` holds, the best first.
template <typename Wanted>
Rows others(const std::vector<Row>& rows, Wanted wanted) {
  Rows result;
  for (const Row& row : rows) {
    const bool candidate = row.state == RowState::kGood && row.speedup > 0 && &row != &rows.front();
    if (candidate && wanted(row)) result.push_back(&row);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Row* a, const Row* b) { return a->speedup > b->speedup; });
  return result;
}

std::string names(const Rows& rows) {
  std::string text = rows.front()->design;
  for (std::size_t i = 1; i < rows.size(); ++i)
    text += (i + 1 < rows.size() ? ", " : " or ") + rows[i]->design;
  return text;
}

// If less of a metric is better, people know its value and not the inverse.
bool shows_inverse(const Plan& plan) { return plan.uses_metric() && plan.lower_is_better; }

std::string smallest_percentage(const Plan& plan) {
  return fmt::format("{:.0f} %", 100 * (smallest_gain(plan) - 1));
}

// "more than 3 % faster".
std::string a_gain(const Plan& plan) {
  return fmt::format("more than {} {}", smallest_percentage(plan), plan.uses_metric() ? "better" : "faster");
}

Verdict no_reference(const Plan& plan, const Row& reference) {
  if (reference.state == RowState::kNotRun) {
    return {VerdictKind::kNoReference,
            fmt::format("Nothing to compare: no run under {} ended.", plan.reference()),
            {}};
  }
  const bool failed = reference.state == RowState::kFailed;
  const bool ends_by_itself = failed && reference.has_exit_code;
  return {VerdictKind::kNoReference,
          fmt::format("Nothing to compare: under {}, {} {}{}.", plan.reference(), plan.program(),
                      failed ? reference.end : reference.remark,
                      ends_by_itself ? "; --ignore-failure compares programs that end so" : ""),
          {}};
}

Verdict no_result(const Plan& plan, const Row& reference) {
  return {VerdictKind::kNoReference,
          fmt::format("Nothing to compare: the result under {} is {}.", plan.reference(),
                      reference.value.median < 0 ? "below zero" : "zero"),
          {}};
}

Verdict no_locks(const Plan& plan, const Block& block, bool ever_locks) {
  const std::string where = plan.thread_counts.size() > 1 && block.threads
                                ? fmt::format("With {}, ", words_of(*block.threads))
                                : "";
  if (!plan.compares_locks())
    return {
        VerdictKind::kNoLocks,
        fmt::format("{}{} ran no transaction, so the mode makes no difference to it.", where, plan.program()),
        {}};
  const std::string why = ever_locks ? "" : plan.why_no_locks;
  return {VerdictKind::kNoLocks, where + no_lock_sentence(plan.program(), "took", why) + ".", {}};
}

Verdict keep(const Plan& plan, const Row& next) {
  return {VerdictKind::kKeep,
          fmt::format("Stay with {}: the next best design, {}, {} {}.", plan.reference(), next.design,
                      plan.uses_metric() ? "has" : "is", gain(plan, next)),
          plan.reference()};
}

/// What an interval says about the smallest gain.
enum class Standing {
  kAbove,  // and the interval is narrower than the difference
  kBelow,
  kNear,  // the interval contains it, but is narrower
  kOpen,  // the interval contains it and is wide, or is not known
};

// Rounds are added and looked at again and again, and each look is a chance to see a gain that does not
// exist. Wide intervals give most of these chances, so none of them shows a gain.
Standing standing(const Plan& plan, const std::optional<Interval>& interval) {
  const double gain = smallest_gain(plan);
  if (!interval) return Standing::kOpen;
  const double width = interval->high / interval->low;
  if (interval->low > gain) return width < interval->ratio ? Standing::kAbove : Standing::kOpen;
  if (interval->high < gain) return Standing::kBelow;
  return width < gain ? Standing::kNear : Standing::kOpen;
}

// Whole runs are compared round by round, windows by the sums of their times, as with the reference.
std::optional<Interval> interval_between(const Plan& plan, const Row& better, const Row& other) {
  if (plan.samples()) return interval_of_windows(better, other);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < better.ratios.size(); ++i) {
    if (better.ratios[i] && other.ratios[i]) ratios.push_back(*better.ratios[i] / *other.ratios[i]);
  }
  return interval_of(ratios);
}

// "best: htm-10, 1.05 times as fast as pthread".
std::string best_of_all(const Plan& plan, const Row& best) {
  return fmt::format("best: {}, {}", best.design, gain(plan, best));
}

// `best`: the design that comes nearest to a gain.
Verdict no_gain(const Plan& plan, const Row& best) {
  const char* much = standing(plan, best.interval) == Standing::kNear ? "clearly " : "";
  return {VerdictKind::kNoGain,
          fmt::format("Stay with {}: no design is {}{} ({}).", plan.reference(), much, a_gain(plan),
                      best_of_all(plan, best)),
          plan.reference()};
}

// `best`: of the designs that are open, which need not be the best of all.
Verdict unsettled(const Plan& plan, const Row& best) {
  if (best.interval && best.interval->low > smallest_gain(plan))
    return {VerdictKind::kUnsettled,
            fmt::format("Stay with {}: the runs differ too much to name a design ({}); more of them "
                        "({}) may show one.",
                        plan.reference(), best_of_all(plan, best), option_for_more(plan)),
            plan.reference()};
  return {VerdictKind::kUnsettled,
          fmt::format("Stay with {}: these runs do not show whether {} is {} ({}); more of them ({}) may.",
                      plan.reference(), best.design, a_gain(plan), gain(plan, best), option_for_more(plan)),
          plan.reference()};
}

Verdict one_run(const Plan& plan, const Row& best) {
  const char* advice = plan.runs == 1 ? "; --runs 3 would show how sure that is" : "";
  return {VerdictKind::kOneRun,
          fmt::format("Perhaps {}: {} in the only run{}.", best.design, gain(plan, best), advice),
          best.design};
}

// `winners`: the designs with more than the smallest gain, the best first.
Verdict use(const Plan& plan, const Rows& winners) {
  const Row& best = *winners.front();
  Rows leaders = {&best};
  std::set<Standing> leads;
  for (const Row* row : Rows(winners.begin() + 1, winners.end())) {
    const Standing lead = standing(plan, interval_between(plan, best, *row));
    if (lead == Standing::kAbove) continue;
    leaders.push_back(row);
    leads.insert(lead);
  }
  std::string relation;
  if (leads.contains(Standing::kOpen)) {
    relation = fmt::format(", not shown to be more than {} apart", smallest_percentage(plan));
  } else if (!leads.empty()) {
    relation = fmt::format(", {} {} apart", leads.contains(Standing::kNear) ? "about" : "less than",
                           smallest_percentage(plan));
  }
  return {VerdictKind::kUse, fmt::format("Use {}{}: {}.", names(leaders), relation, gain(plan, best)),
          best.design};
}

// The good rows of other designs whose gain stands so, the best first.
Rows those(const Plan& plan, const std::vector<Row>& rows, Standing wanted) {
  return others(rows, [&](const Row& row) { return standing(plan, row.interval) == wanted; });
}

// With the reference, those that are not known to the wanted precision. More windows do not make what windows
// leave out smaller, so it does not count.
std::vector<std::string> imprecise(const Plan& plan, const std::vector<Row>& rows) {
  const double most = (1 + plan.precision) * (plan.samples() ? kWindowsLeaveOut : 1);
  std::vector<std::string> designs = {plan.reference()};
  for (const Row* row : others(rows, [](const Row&) { return true; })) {
    const bool is_known = row->interval && row->interval->high <= row->interval->ratio * most &&
                          row->interval->low * most >= row->interval->ratio;
    if (!is_known) designs.push_back(row->design);
  }
  return designs.size() > 1 ? designs : std::vector<std::string>{};
}

Verdict judge_runs(const Plan& plan, const std::vector<Row>& rows) {
  if (const Rows winners = those(plan, rows, Standing::kAbove); !winners.empty()) return use(plan, winners);
  const Row& best = *others(rows, [](const Row&) { return true; }).front();
  const double high = best.interval ? best.interval->high : best.speedup;
  if (high * smallest_gain(plan) < 1) return keep(plan, best);
  if (!best.interval) {
    return best.speedup > smallest_gain(plan) ? one_run(plan, best) : no_gain(plan, best);
  }
  if (const Rows open = those(plan, rows, Standing::kOpen); !open.empty())
    return unsettled(plan, *open.front());
  return no_gain(plan, best);
}

}  // namespace

bool names_other_design(const Block& block) {
  return !block.verdict.design.empty() && block.verdict.design != block.rows.front().design;
}

bool any_lock_seen(const Plan& plan, const Block& block) {
  const auto counts = [&](const Row& row) {
    return plan.compares_locks() || (row.state == RowState::kGood && !is_libitm(row.design));
  };
  if (std::none_of(block.rows.begin(), block.rows.end(), counts)) return true;  // it is not known
  return std::any_of(block.rows.begin(), block.rows.end(),
                     [&](const Row& row) { return counts(row) && row.locks.locks_seen; });
}

const char* option_for_more(const Plan& plan) {
  if (plan.budget_seconds > 0 && plan.part.windows < kMostWindows) return kBudget;
  return plan.samples() ? kSample : kRuns;
}

std::string gain(const Plan& plan, const Row& row) {
  const auto value = [&](double speedup) { return shows_inverse(plan) ? 1 / speedup : speedup; };
  std::string text = fmt::format("{} times {} {}", ratio_text(value(row.speedup)),
                                 plan.uses_metric() ? "the result of" : "as fast as", plan.reference());
  if (row.interval) {
    const double end = value(row.interval->low), other_end = value(row.interval->high);
    text +=
        fmt::format(" [{} - {}]", ratio_text(std::min(end, other_end)), ratio_text(std::max(end, other_end)));
  }
  return shows_inverse(plan) ? text + " (less is better)" : text;
}

bool clearly_gains(const Plan& plan, const Row& row) {
  if (!plan.varies()) return standing(plan, row.interval) == Standing::kAbove;
  return row.runs > 1 && row.ratio.low > 1 && row.speedup > smallest_gain(plan);
}

bool clearly_loses(const Plan& plan, const Row& row) {
  if (!plan.varies()) return row.interval && row.interval->high * smallest_gain(plan) < 1;
  return row.runs > 1 && row.ratio.high < 1 && row.speedup * smallest_gain(plan) < 1;
}

Verdict judge(const Plan& plan, const Block& block, bool ever_locks) {
  const std::vector<Row>& rows = block.rows;
  const Row& reference = rows.front();
  if (reference.state != RowState::kGood) return no_reference(plan, reference);
  if (reference.speedup <= 0) return no_result(plan, reference);
  if (!any_lock_seen(plan, block)) return no_locks(plan, block, ever_locks);
  if (others(rows, [](const Row&) { return true; }).empty()) {
    return {VerdictKind::kNoOther,
            fmt::format("Stay with {}: no other design ran to the same end.", plan.reference()),
            plan.reference()};
  }
  return plan.varies() ? judge_variations(plan, rows) : judge_runs(plan, rows);
}

std::vector<std::string> undecided(const Plan& plan, const std::vector<Row>& rows) {
  if (plan.varies() || rows.front().state != RowState::kGood || rows.front().speedup <= 0) return {};
  if (plan.precision > 0) return imprecise(plan, rows);
  const Rows winners = those(plan, rows, Standing::kAbove);
  const Rows open = winners.empty() ? those(plan, rows, Standing::kOpen) : others(rows, [&](const Row& row) {
    return &row != winners.front() &&
           standing(plan, interval_between(plan, *winners.front(), row)) == Standing::kOpen;
  });
  if (open.empty()) return {};
  std::vector<std::string> designs = {plan.reference()};
  if (!winners.empty()) designs.push_back(winners.front()->design);
  for (const Row* row : open) designs.push_back(row->design);
  return designs;
}

}  // namespace elision::cli::experiment
