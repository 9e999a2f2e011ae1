// SPDX-License-Identifier: Apache-2.0
#include "cli/judge/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "cli/experiment/execute.h"
#include "cli/experiment/explain.h"
#include "cli/experiment/program_runners.h"
#include "cli/host/shell_words.h"
#include "cli/judge/verdict.h"
#include "cli/options/amounts.h"
#include "cli/options/designs.h"
#include "cli/options/lock_options.h"
#include "cli/options/tm_modes.h"
#include "profile/analysis.h"

namespace elision::cli::experiment {
namespace {

using profile::Profile;

constexpr const char* kAmounts[] = {kRuns, kBudget, kSample, kSampleLength, kPrecision};
constexpr std::size_t kMostLocks = 10;
constexpr double kSecondsPerNs = 1e-9;

bool is_good(const Row& row) { return row.state == RowState::kGood; }

/// The row with the highest speedup among those that `is_wanted` accepts, or null.
template <class Wanted>
const Row* fastest(const Block& block, Wanted is_wanted) {
  const Row* best = nullptr;
  for (const Row& row : block.rows)
    if (is_good(row) && is_wanted(row) && (best == nullptr || row.speedup > best->speedup)) best = &row;
  return best;
}

std::string address_text(std::uint64_t address) { return fmt::format("{:#x}", address); }

SourcePlace source_place(const profile::Place& place) {
  return {place.name.empty() ? address_text(place.address) : place.name, place.file, place.line};
}

LockConflict conflict_of(const profile::Conflict& conflict) {
  LockConflict result;
  result.address = conflict.data.address;
  result.name = conflict.data.name;
  result.sites = {source_place(conflict.victim), source_place(conflict.other)};
  result.places = conflict.places;
  result.counts = conflict.counts;
  return result;
}

LockReport lock_report(const profile::Lock& lock, bool estimated) {
  LockReport report;
  const bool has_site = lock.place.name.empty() && lock.site.address != 0;
  report.place = source_place(has_site ? lock.site : lock.place);
  if (!has_site) {  // where it is taken
    report.place.file = lock.site.file;
    report.place.line = lock.site.line;
  }
  report.address = lock.place.address;
  report.title = profile::name_of(lock);
  for (const profile::Place& site : lock.other_sites) report.other_sites.push_back(source_place(site));
  report.naming = !lock.place.name.empty() ? LockNaming::kSymbol
                  : has_site               ? LockNaming::kCalledFrom
                                           : LockNaming::kAddress;
  report.sections = lock.acquisitions;
  report.sections_estimated = estimated;
  const double sections = std::max(lock.acquisitions, 1.0);
  report.wait_seconds = kSecondsPerNs * lock.waits_ns;
  if (lock.contended > 0 || lock.waits_ns == 0)
    report.contended_share = std::min(1.0, lock.contended / sections);
  if (lock.contended > 0) report.mean_wait_seconds = report.wait_seconds / lock.contended;
  // Samples know of waits that the library had no room to count.
  if (lock.waits_ns == 0 && lock.contended == 0) report.longest_wait_seconds = 0;
  if (lock.longest_wait_ns > 0 && lock.longest_wait_ns * lock.contended >= lock.waits_ns)
    report.longest_wait_seconds = kSecondsPerNs * lock.longest_wait_ns;
  report.hold_seconds = kSecondsPerNs * lock.holds_ns;
  report.mean_hold_seconds = report.hold_seconds / sections;
  if (!estimated) report.line_wait_seconds = kSecondsPerNs * lock.line_waits_ns;
  report.attempts = lock.attempts;
  report.commits = lock.commits;
  report.fallbacks = lock.fallbacks;
  report.lost_seconds = kSecondsPerNs * lost_ns(lock);
  report.waiting_seconds = kSecondsPerNs * profile::waiting_ns(lock.times);
  report.aborted_seconds = kSecondsPerNs * time_in(lock.times, profile::State::kAborted);
  for (const auto& [cause, count] : lock.aborts) report.aborts[cause] = static_cast<std::uint64_t>(count);
  for (const profile::Conflict& conflict : lock.conflicts) report.conflicts.push_back(conflict_of(conflict));
  return report;
}

/// Those at which most time is lost, in the profile's order.
std::vector<std::size_t> locks_to_show(const std::vector<profile::Lock>& locks) {
  std::vector<std::size_t> shown(locks.size());
  std::iota(shown.begin(), shown.end(), 0);
  std::stable_sort(shown.begin(), shown.end(),
                   [&locks](std::size_t a, std::size_t b) { return lost_ns(locks[a]) > lost_ns(locks[b]); });
  shown.resize(std::min(shown.size(), kMostLocks));
  std::sort(shown.begin(), shown.end());
  return shown;
}

/// Older profiles have the time in the locks' code of all locks together only.
bool knows_overhead_by_lock(const Profile& profile) {
  const auto has_some = [](const profile::Lock& lock) {
    return time_in(lock.times, profile::State::kOverhead) > 0;
  };
  return time_in(profile.times, profile::State::kOverhead) == 0 ||
         std::any_of(profile.locks.begin(), profile.locks.end(), has_some);
}

Why why_of(const Profile& profile) {
  Why why;
  if (!profile.exact) why.samples = profile.samples;
  why.parallel_share = profile.wall_ns > 0 ? std::min(1.0, profile.parallel_ns / profile.wall_ns) : 0;
  const double all = profile.thread_ns();
  for (std::size_t i = 0; all > 0 && i < profile::kStates; ++i) why.time[i] = profile.times[i] / all;
  why.lock_count = profile.locks.size();
  const bool knows_overhead = knows_overhead_by_lock(profile);
  for (const std::size_t i : locks_to_show(profile.locks)) {
    const profile::Lock& lock = profile.locks[i];
    LockReport& report = why.locks.emplace_back(lock_report(lock, profile.acquisitions_estimated));
    if (knows_overhead)
      report.overhead_seconds = kSecondsPerNs * time_in(lock.times, profile::State::kOverhead);
  }
  return why;
}

bool has_profile(const Result& result) { return result.sample.ended() && result.sample.profile; }

const Profile* profile_of(const std::vector<Result>& results, const Block& block, const std::string& design) {
  for (const Result& result : results)
    if (result.cell.threads == block.threads && result.cell.design == design && has_profile(result))
      return &*result.sample.profile;
  return nullptr;
}

using Site = std::tuple<std::string, std::string, std::uint32_t>;

Site site_of(const profile::Place& place) { return {place.name, place.file, place.line}; }

bool is_known(const profile::Place& place) { return !place.name.empty() || !place.file.empty(); }

/// Call sites that name the locks of the reference's runs. The first name that a lock gets stays.
class LockNames {
 public:
  void add(const profile::Lock& lock, std::uint64_t seed) {
    by_address_.emplace(std::pair(seed, lock.place.address), lock.site);
    if (is_known(lock.site)) by_site_.emplace(site_of(lock.site), lock.site);
    for (const profile::Place& other : lock.other_sites)
      if (is_known(other)) by_other_site_[site_of(other)].push_back(lock.site);
  }
  /// Null: not known. By its address, which the virtual machine gives it in all runs with one seed, or by the
  /// places where it is taken. Locks that share such a place are not taken for each other.
  const profile::Place* of(const profile::Lock& lock, std::uint64_t seed) const {
    if (const auto found = by_address_.find({seed, lock.place.address}); found != by_address_.end())
      return &found->second;
    if (const auto found = by_site_.find(site_of(lock.site)); found != by_site_.end()) return &found->second;
    for (const profile::Place& other : lock.other_sites)
      if (const auto found = by_site_.find(site_of(other)); found != by_site_.end()) return &found->second;
    const auto found = by_other_site_.find(site_of(lock.site));
    return found != by_other_site_.end() && found->second.size() == 1 ? &found->second.front() : nullptr;
  }

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, profile::Place> by_address_;
  std::map<Site, profile::Place> by_site_;
  std::map<Site, std::vector<profile::Place>> by_other_site_;
};

/// A lock without a name of its own is called by its call site with most time, which may differ from run to
/// run. On a virtual machine it gets one name in all runs: that of the run under the reference with the most
/// threads. Results without such a run stay as they are.
std::vector<Result> with_one_name_for_each_lock(std::vector<Result> results) {
  std::vector<const Result*> references;
  for (const Result& result : results)
    if (result.cell.design == kPthread && has_profile(result) && result.sample.profile->exact)
      references.push_back(&result);
  std::stable_sort(references.begin(), references.end(), [](const Result* a, const Result* b) {
    return a->cell.threads.value_or(0) > b->cell.threads.value_or(0);
  });
  LockNames names;
  for (const Result* result : references)
    for (const profile::Lock& lock : result->sample.profile->locks)
      if (lock.place.name.empty() && lock.site.address != 0) names.add(lock, result->cell.seed);
  for (Result& result : results) {
    if (!has_profile(result) || !result.sample.profile->exact) continue;
    for (profile::Lock& lock : result.sample.profile->locks) {
      const profile::Place* const site = lock.place.name.empty() ? names.of(lock, result.cell.seed) : nullptr;
      if (site == nullptr || site_of(*site) == site_of(lock.site)) continue;
      std::erase_if(lock.other_sites,
                    [site](const profile::Place& other) { return site_of(other) == site_of(*site); });
      if (is_known(lock.site)) lock.other_sites.insert(lock.other_sites.begin(), lock.site);
      lock.site = *site;
    }
  }
  return results;
}

Unexplained unexplained(const Profile& profile) {
  Unexplained run{profile.samples, kSecondsPerNs * profile.wall_ns};
  const double looks = 1000 * run.seconds / look_distance_ms(run.seconds);
  const bool sees_threads = profile.exact || looks >= static_cast<double>(profile::kFewestSamples);
  run.one_thread = profile.parallel_ns == 0 && sees_threads;
  return run;
}

/// A run of an eliding design in this block.
std::optional<profile::ElidedRun> elided_run(const std::vector<Result>& results, const Block& block) {
  for (const Row& row : block.rows) {
    const Profile* const profile = elides(row.design) ? profile_of(results, block, row.design) : nullptr;
    if (profile == nullptr) continue;
    profile::ElidedRun run{*profile, row.design, tries_of(row.design), row.speedup};
    if (row.interval) run.highest_speedup = row.interval->high, run.lowest_speedup = row.interval->low;
    return run;
  }
  return std::nullopt;
}

/// The block with the most threads among those that `is_wanted` accepts; null: it accepts none.
template <class Wanted>
const Block* largest(const std::vector<Block>& blocks, Wanted is_wanted) {
  const Block* found = nullptr;
  for (const Block& block : blocks)
    if (is_wanted(block) && (found == nullptr || block.threads.value_or(0) > found->threads.value_or(0)))
      found = &block;
  return found;
}

bool has_verdict(const Block& block) { return !block.verdict.design.empty(); }

std::string run_command(const Plan& plan, const std::string& design, const Block& block) {
  std::vector<std::string> words = {plan.command, "run"};
  const auto add = [&words](const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (!plan.compares_locks()) {
    add(as_words(design, plan.launch.tm_retry));
  } else {
    LockOptions options = plan.launch.lock;
    if (speculates(design)) options.rtm_always_abort = true;  // else a real CPU runs it without speculation
    add({"--lock", design});
    add(as_words(options));
  }
  add({"--"});
  add(with_threads(plan.launch.program.words, block.threads));
  return quoted_for_shell(words);
}

bool needs_transactions(const Plan& plan, const std::string& design) {
  return plan.compares_locks() ? elides(design) || speculates(design) : needs_hardware(design);
}

const char* what_programs_have(const Plan& plan) {
  return plan.compares_locks() ? "the program's own locks" : "GCC's libitm";
}

bool sections_conflict(const Block& block) {
  using profile::Cause;
  if (!block.diagnosis) return false;
  const auto& findings = block.diagnosis->findings;
  return std::any_of(findings.begin(), findings.end(), [](const profile::Finding& finding) {
    return finding.cause == Cause::kTrueSharing || finding.cause == Cause::kFalseSharing ||
           finding.cause == Cause::kPrefetch || finding.cause == Cause::kDataAtLock ||
           finding.cause == Cause::kContendedLine;
  });
}

constexpr const char* kLeastExact = "sections conflict, and there the virtual machine is least exact";

NextStep run_with(const Plan& plan, const Block& block, const std::string& design) {
  std::string sentence = fmt::format("Run it with {}:", design);
  if (plan.model && sections_conflict(block)) {
    sentence = fmt::format("Compare with --machine native first, since {}. Then run it with {}:", kLeastExact,
                           design);
  } else if (plan.model) {
    sentence = fmt::format(
        "Unless your machine is like this one, compare with --machine native first. Then run it with {}:",
        design);
  }
  return {sentence, run_command(plan, design, block)};
}

/// The best design that needs no transactions and clearly gains; null: there is none.
const Row* best_without_transactions(const Plan& plan, const Block& block) {
  return fastest(block, [&](const Row& row) {
    return !needs_transactions(plan, row.design) && clearly_gains(plan, row);
  });
}

NextStep run_step(const Plan& plan, const Block& block, const ThisCpu& cpu) {
  const std::string& design = block.verdict.design;
  if (!needs_transactions(plan, design) || cpu.has_transactions) return run_with(plan, block, design);
  const std::string first = plan.model && sections_conflict(block)
                                ? fmt::format("; compare there first, since {}", kLeastExact)
                                : "";
  const char* const simulated = plan.model ? "the machine that was simulated, or on " : "";
  const std::string here = best_without_transactions(plan, block) == nullptr
                               ? fmt::format(" On this CPU, keep {}.", what_programs_have(plan))
                               : "";
  return {fmt::format("{}, and {} needs transactions: it may help on {}a Xeon from Ice Lake on{}.{} On a CPU "
                      "with transactions:",
                      cpu.why_none, design, simulated, first, here),
          run_command(plan, design, block)};
}

/// For a CPU without transactions, beside the design that needs them: one that needs none and clearly gains.
std::optional<NextStep> run_here_step(const Plan& plan, const Block& block, const ThisCpu& cpu) {
  if (cpu.has_transactions || !needs_transactions(plan, block.verdict.design)) return std::nullopt;
  const Row* const best = best_without_transactions(plan, block);
  if (best == nullptr) return std::nullopt;
  NextStep step = run_with(plan, block, best->design);
  step.sentence =
      fmt::format("Without transactions, {} is best: {}. {}", best->design, gain(plan, *best), step.sentence);
  return step;
}

// Longer runs are looked at less often.
std::string longer(const Unexplained& run) {
  constexpr unsigned kMostTimes = 10000;
  const auto samples = [&](unsigned times) {
    const double looks = times * look_distance_ms(run.seconds) / look_distance_ms(times * run.seconds);
    return looks * static_cast<double>(run.samples);
  };
  unsigned times = 2;
  while (times < kMostTimes && samples(times) < static_cast<double>(profile::kFewestSamples)) ++times;
  if (times == kMostTimes) return "Let the program work longer, so that this comparison can say why.";
  return fmt::format("Let the program work {} times as long, so that this comparison can say why.", times);
}

NextStep step_to_explain(const Unexplained& run) {
  if (!run.one_thread) return {longer(run), ""};
  return {
      "Compare it with as many threads as in production: one thread shows what a lock costs, not how long "
      "others wait for it.",
      ""};
}

/// The words of this comparison with `more` in front. `own_runs`: with its own number of runs or windows and
/// its own budget, if it has any.
std::string compare_command(const Plan& plan, const std::vector<std::string>& more, bool own_runs) {
  std::vector<std::string> words = {plan.command, "compare"};
  words.insert(words.end(), more.begin(), more.end());
  for (std::size_t i = 0; i < plan.options.size(); ++i) {
    const std::string& word = plan.options[i];
    const auto is_one = [&word](const char* name) { return word == name; };
    const auto begins = [&word](const char* name) { return word.starts_with(fmt::format("{}=", name)); };
    const bool is_alone = std::any_of(std::begin(kAmounts), std::end(kAmounts), is_one);
    const bool has_value = std::any_of(std::begin(kAmounts), std::end(kAmounts), begins);
    if (own_runs || (!is_alone && !has_value)) {
      words.push_back(word);
    } else if (is_alone) {
      ++i;
    }
  }
  words.emplace_back("--");
  words.insert(words.end(), plan.launch.program.words.begin(), plan.launch.program.words.end());
  return quoted_for_shell(words);
}

NextStep more_runs(const Plan& plan) {
  const std::string option = option_for_more(plan);
  if (option == kBudget)
    return {
        "Compare again with a larger budget (intervals shrink with the root of the time):",
        compare_command(plan, {kBudget, fmt::format("{:.0f}s", std::ceil(2 * plan.budget_seconds))}, false)};
  const unsigned runs = plan.samples() ? plan.part.windows : std::max(plan.runs, plan.most_runs);
  if (runs >= kMostRuns) return {"Let the program work longer: more runs than these cannot be compared.", ""};
  std::vector<std::string> amount;
  if (runs >= plan.default_rounds().first) amount = {option, std::to_string(std::min(2 * runs, kMostRuns))};
  if (plan.samples()) amount.insert(amount.end(), {kSampleLength, fmt::format("{}ns", plan.part.length_ns)});
  return {fmt::format("Compare again with more {}{}:", plan.samples() ? "windows" : "runs",
                      plan.model ? "" : ", while the computer does nothing else"),
          compare_command(plan, amount, false)};
}

// Several locks may have one cause, and a cause may have no remedy.
void add_once(const std::string& change, std::vector<NextStep>& steps) {
  const bool known =
      std::any_of(steps.begin(), steps.end(), [&](const NextStep& step) { return step.sentence == change; });
  if (!change.empty() && !known) steps.push_back({change, ""});
}

/// The round of the design's median, whose counts the table shows: rounds may differ in kind.
unsigned median_round(const Row& row) {
  const auto median = std::find(row.values.begin(), row.values.end(), row.value.median);
  return median != row.values.end() ? static_cast<unsigned>(median - row.values.begin()) : 0;
}

}  // namespace

std::vector<Cell> cells_to_explain(const Plan& plan, const std::vector<Block>& blocks) {
  std::vector<Cell> cells;
  for (const Block& block : blocks) {
    const VerdictKind kind = block.verdict.kind;
    if (block.rows.empty() || !is_good(block.rows.front()) || kind == VerdictKind::kNoLocks ||
        kind == VerdictKind::kNoReference)
      continue;
    std::vector<const Row*> rows = {&block.rows.front()};
    const Row* const best = fastest(block, [](const Row&) { return true; });
    const Row* const eliding = fastest(block, [](const Row& row) { return elides(row.design); });
    for (const Row* row : {best, eliding})
      if (row != nullptr && std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
    for (const Row* row : rows) {
      const unsigned round = plan.varies() ? 0 : median_round(*row);
      Cell cell = plan.cell_of(block.threads, row->design, round, round);
      cell.explains = true;
      cells.push_back(cell);
    }
  }
  return cells;
}

void explain(std::vector<Block>& blocks, const std::vector<Result>& explaining) {
  const std::vector<Result> results = with_one_name_for_each_lock(explaining);
  for (Block& block : blocks) {
    for (Row& row : block.rows) {
      const Profile* const profile = profile_of(results, block, row.design);
      if (profile != nullptr && profile::is_sufficient(*profile)) row.why = why_of(*profile);
    }
    const Profile* const plain =
        block.rows.empty() ? nullptr : profile_of(results, block, block.rows.front().design);
    if (plain == nullptr) continue;
    if (profile::is_sufficient(*plain)) {
      const std::optional<profile::ElidedRun> elided = elided_run(results, block);
      block.diagnosis = profile::diagnose(*plain, elided ? &*elided : nullptr);
    } else {
      block.unexplained = unexplained(*plain);
    }
  }
}

Block block_of_run(const Profile& profile, const std::string& design) {
  Block block;
  Row& row = block.rows.emplace_back();
  row.design = design;
  row.state = RowState::kGood;
  if (profile::is_sufficient(profile)) {
    row.why = why_of(profile);
    block.diagnosis = profile::diagnose(profile, nullptr);
  } else {
    block.unexplained = unexplained(profile);
  }
  return block;
}

std::vector<std::string> failed_runs(const std::vector<Result>& results) {
  std::vector<std::string> lines;
  for (const Result& result : results) {
    if (has_profile(result)) continue;
    lines.push_back(fmt::format("no reasons for {}: the run for them {}", words_of(result.cell),
                                describe_end(result.sample)));
  }
  return lines;
}

std::string why_none(const Unexplained& run) {
  if (run.one_thread) return "No two threads of the program were alive at once, so none waited for another.";
  return fmt::format("The run was too short to say why: {} of the {} samples that it takes.", run.samples,
                     profile::kFewestSamples);
}

std::vector<NextStep> next_steps(const Plan& plan, const std::vector<Block>& blocks, const ThisCpu& cpu) {
  const Block* block = largest(blocks, [](const Block& each) { return each.diagnosis.has_value(); });
  if (block == nullptr) block = largest(blocks, has_verdict);
  if (block == nullptr) return {};
  const bool names_design = names_other_design(*block);
  std::vector<NextStep> steps;
  if (block->diagnosis) {
    for (const profile::Finding& finding : block->diagnosis->findings) add_once(finding.change, steps);
    const bool blames_lock = std::any_of(block->diagnosis->findings.begin(), block->diagnosis->findings.end(),
                                         [](const profile::Finding& finding) {
                                           return !finding.lock.empty() ||
                                                  finding.cause == profile::Cause::kOneThread ||
                                                  finding.cause == profile::Cause::kLocksShareLine;
                                         });
    if (!block->diagnosis->locks_matter && !names_design && !blames_lock) {
      steps.push_back(
          {"Look for the time elsewhere: the locks of pthreads, C11 and OpenMP, which alone are seen, "
           "are not what the program waits for.",
           ""});
      return steps;
    }
  }
  if (names_design) {
    steps.push_back(run_step(plan, *block, cpu));
    if (const auto here = run_here_step(plan, *block, cpu)) steps.push_back(*here);
  }
  if (block->unexplained) steps.push_back(step_to_explain(*block->unexplained));
  if (block->verdict.kind == VerdictKind::kUnsettled) steps.push_back(more_runs(plan));
  const bool other_output = std::any_of(block->rows.begin(), block->rows.end(), [](const Row& row) {
    return row.state == RowState::kDifferentOutput;
  });
  if (other_output) {
    steps.push_back(
        {"If what the program prints may depend on the order of its threads, compare again with "
         "--ignore-output:",
         compare_command(plan, {"--ignore-output"}, true)});
  } else if (block->verdict.kind == VerdictKind::kNoOther) {
    steps.push_back(
        {fmt::format(
             "Compare other designs ({}): those of this comparison have no result, and their rows say why.",
             plan.compares_locks() ? "--locks" : kTm),
         ""});
  }
  if (steps.empty() && block->diagnosis && block->diagnosis->locks_matter)
    steps.push_back(
        {"Take work out of the sections, or split the lock: no design of this comparison is clearly better.",
         ""});
  if (steps.empty())
    steps.push_back({fmt::format("Change nothing: {} {} as well as any.", what_programs_have(plan),
                                 plan.compares_locks() ? "do" : "does"),
                     ""});
  return steps;
}

}  // namespace elision::cli::experiment
