// SPDX-License-Identifier: Apache-2.0
// `elision compare`: one program under every lock design. This file makes the plan; compare_request has the
// options, compare_part chooses what of each run is simulated, and compare_plan repeats an earlier plan.
// experiment/, judge/ and show/ run, analyse and render it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/nearest.h"
#include "base/usable_cpus.h"
#include "cli/compare_origin.h"
#include "cli/compare_part.h"
#include "cli/compare_plan.h"
#include "cli/compare_request.h"
#include "cli/experiment/execute.h"
#include "cli/experiment/explain.h"
#include "cli/experiment/metric.h"
#include "cli/experiment/part.h"
#include "cli/experiment/preview.h"
#include "cli/experiment/program_runners.h"
#include "cli/experiment/time_limit.h"
#include "cli/host/console.h"
#include "cli/host/cpu_use.h"
#include "cli/host/environment.h"
#include "cli/host/gnuplot.h"
#include "cli/host/install.h"
#include "cli/host/json_text.h"
#include "cli/host/native_htm.h"
#include "cli/host/output_file.h"
#include "cli/host/parse.h"
#include "cli/host/program_file.h"
#include "cli/host/replaceable_locks.h"
#include "cli/host/usage_error.h"
#include "cli/judge/explanation.h"
#include "cli/judge/verdict.h"
#include "cli/options/arguments.h"
#include "cli/options/designs.h"
#include "cli/options/machine_choice.h"
#include "cli/options/output_format.h"
#include "cli/options/region_options.h"
#include "cli/options/tm_modes.h"
#include "cli/show/comparison_table.h"
#include "cli/show/format.h"
#include "cli/show/html.h"
#include "cli/show/plot.h"
#include "cli/show/progress.h"
#include "cli/show/render.h"
#include "cli/show/report_json.h"
#include "cli/verbs.h"

namespace elision::cli {
namespace {

std::vector<std::optional<unsigned>> parse_threads(std::string_view list) {
  std::vector<std::optional<unsigned>> counts;
  for (const std::string& word : split_list(list, ',')) {
    const auto count =
        static_cast<unsigned>(whole_number("--threads", without_blanks(word), 1, kMostThreads));
    if (std::find(counts.begin(), counts.end(), count) != counts.end())
      throw UsageError(fmt::format("--threads: {} is named twice", count));
    counts.emplace_back(count);
  }
  return counts;
}

bool takes_threads(const std::vector<std::string>& words) {
  return experiment::with_threads(words, 1) != words;
}

// The first word in braces that may be a typing error for {threads}; empty: none.
std::string misspelt_threads(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::size_t open = word.find('{'), close = word.find('}', open);
    if (close == std::string::npos) continue;
    const std::string name = word.substr(open, close - open + 1);
    if (edit_distance(name, "{threads}") <= 2) return name;
  }
  return {};
}

void choose_threads(CompareRequest& request, const std::vector<std::string>& words, unsigned cpus) {
  experiment::Plan& plan = request.plan;
  if (!takes_threads(words)) {
    if (!request.threads.empty()) {
      const std::string misspelt = misspelt_threads(words);
      throw UsageError(fmt::format("--threads without {{threads}} in the program's arguments{}",
                                   misspelt.empty() ? "" : fmt::format(", which have '{}'", misspelt)));
    }
    plan.thread_counts = {std::nullopt};
  } else {
    plan.thread_counts =
        request.threads.empty() ? std::vector<std::optional<unsigned>>{cpus} : parse_threads(request.threads);
  }
}

// A program may have such a word of its own, so without --threads it gets it.
void note_misspelt_threads(const std::vector<std::string>& words) {
  if (takes_threads(words)) return;
  if (const std::string name = misspelt_threads(words); !name.empty())
    tell("compare",
         fmt::format("'{}' is passed on as it is; write {{threads}} for the number of threads", name));
}

void choose_runs(CompareRequest& request) {
  experiment::Plan& plan = request.plan;
  const bool samples = request.windows != 0 || request.samples_auto;
  if (request.windows != 0 && !request.budget.empty())
    throw UsageError(fmt::format("{} {} excludes {}", kSample, request.windows, kBudget));
  if (request.windows != 0 && plan.precision > 0)
    throw UsageError(fmt::format("{} {} excludes {}", kSample, request.windows, kPrecision));
  plan.runs = request.windows != 0 ? request.windows : request.runs;
  if (request.variations != 0) plan.runs = request.variations;
  const bool chooses_part = plan.model && plan.runs == 0 && !plan.uses_metric() && request.tm_modes.empty() &&
                            !request.whole_run && !request.region.is_set();
  if (request.window_ns && request.windows == 0 && !chooses_part)
    throw UsageError(
        fmt::format("{} is for virtual machines, and for {} or a budget", kSampleLength, kSample));
  if (plan.runs != 0) return;
  const experiment::Rounds rounds = plan.default_rounds();
  plan.runs = rounds.first;
  plan.most_runs = plan.budget_seconds > 0 ? experiment::kMostRuns : rounds.most;
  if (chooses_part && !samples && request.budget.empty()) plan.budget_seconds = kDefaultBudgetSeconds;
}

// Every design gets the same variations, so that all are compared on the same machines.
void choose_variations(CompareRequest& request, const machine::Machine& machine) {
  if (request.variations == 0) return;
  request.plan.variations = drawn_values(machine, request.variations);
}

// Designs are compared by the time for the same work. A metric is of the whole run, so it is no way out.
void check_region_to_compare(const vm::RunRegion& region) {
  if (region.warm_up != 0 || region.length != 0 || is_cut(region.start) || is_cut(region.stop))
    throw UsageError(
        "--warmup TIME, --length, time:, instructions: and parallel: leave designs different amounts of "
        "work: use thread:, function:, address: or marker");
}

// Returns the number of CPUs of the place chosen.
unsigned choose_place(CompareRequest& request) {
  experiment::Plan& plan = request.plan;
  if (plan.where.empty()) plan.where = native_htm_is_live() ? kNative : kDefaultMachine;
  if (plan.where.starts_with(std::string(kNative) + ","))
    throw UsageError(
        fmt::format("--machine {}: '{}' is this CPU, of which no value can be changed", plan.where, kNative));
  plan.model = plan.where != kNative;
  if (!plan.model && request.variations != 0)
    throw UsageError("--vary is about a virtual machine's uncertain values; on 'native' there are none");
  plan.launch.vm_words = as_words(request.region);
  check_region_to_compare(request.region);
  if (!plan.model && (request.windows != 0 || request.samples_auto))
    throw UsageError(fmt::format("{} is for virtual machines; this CPU runs the whole program", kSample));
  if (!plan.model && request.region.is_set())
    throw UsageError(fmt::format("{} is for virtual machines; this CPU runs the whole program",
                                 plan.launch.vm_words.front()));
  if (!plan.model) return usable_cpus();
  const machine::Machine machine = load_machine_or_throw(plan.where);
  choose_variations(request, machine);
  return machine.description.topology.cpus();
}

/// `reference` first, which the others are compared with.
void put_first(std::vector<std::string>& designs, const char* option, const char* reference) {
  designs.erase(std::remove(designs.begin(), designs.end(), reference), designs.end());
  if (designs.empty())
    throw UsageError(
        fmt::format("{}: '{}' is what the others are compared with; name another one", option, reference));
  designs.insert(designs.begin(), reference);
}

std::string why_not_without_hardware() {
  return native_cpu().rtm_is_hidden ? "needs hardware transactions, which ELISION_HIDE_RTM=1 hides"
                                    : "needs hardware transactions, which this CPU does not have";
}

void choose_tm_modes(CompareRequest& request) {
  experiment::Plan& plan = request.plan;
  plan.launch.subject = experiment::Subject::kTransactionalMemory;
  plan.shares_beginning = false;  // a copy of a process cannot change its libitm
  request.explains = false;       // its looks are at locks
  plan.designs = request.tm_modes == "default" ? default_tm_modes() : parse_tm_modes(request.tm_modes);
  check_tm_modes(plan.designs, plan.launch.lock, plan.launch.tm_retry);
  put_first(plan.designs, kTm, kLibitm);
  if (plan.model || native_htm_is_live()) return;
  for (const std::string& mode : plan.designs)
    if (needs_hardware(mode)) plan.not_run[mode] = why_not_without_hardware();
}

void choose_designs(CompareRequest& request) {
  experiment::Plan& plan = request.plan;
  if (!request.tm_modes.empty()) return choose_tm_modes(request);
  plan.designs = request.designs.empty() ? default_designs() : parse_designs(request.designs);
  put_first(plan.designs, "--locks", experiment::kPthread);
  for (const std::string& design : plan.designs) {
    if (const std::string reason = missing_in_glibc(design); !reason.empty()) plan.not_run[design] = reason;
  }
  if (plan.model) return;
  for (const std::string& design : plan.designs) {
    if (!native_htm_is_live() && (elides(design) || speculates(design))) {
      plan.not_run[design] = why_not_without_hardware();
    } else if (speculates(design) && !plan.launch.lock.rtm_always_abort) {
      plan.not_run[design] = "not run on a real CPU without --rtm-always-abort";
    }
  }
}

bool is_given_standard_output(const std::string& file) { return !file.empty() && is_standard_output(file); }

// Two outputs in one file would overwrite each other.
void check_distinct(const char* option, const std::string& file, const char* other,
                    const std::string& its_file) {
  if (is_given_standard_output(file) && is_given_standard_output(its_file))
    throw UsageError(fmt::format("{} and {} cannot both be standard output", option, other));
  if (!file.empty() && file == its_file)
    throw UsageError(fmt::format("{} and {} name the same file, '{}'", option, other, file));
}

// A file named *.png would hold something else.
void check_is_for_svg(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  for (const char* other : {".png", ".pdf", ".jpg", ".jpeg", ".gif", ".eps", ".ps", ".webp"})
    if (strcasecmp(ending.c_str(), other) == 0)
      throw UsageError(fmt::format("--plot draws SVG and no {}: '{}'", other + 1, file));
}

// Before anything is run.
void check_files(const CompareRequest& request) {
  if (!request.json_file.empty()) require_writable(request.json_file);
  if (!request.html_file.empty()) require_regular(request.html_file);
  if (!request.plot_file.empty()) require_regular(request.plot_file);
  check_distinct("--json", request.json_file, "--html", request.html_file);
  check_distinct("--json", request.json_file, "--plot", request.plot_file);
  check_distinct("--html", request.html_file, "--plot", request.plot_file);
  if (request.plot_file.empty()) return;
  check_is_for_svg(request.plot_file);
  require_gnuplot();
}

// Without a result there is no picture, and an old one must not be taken for it.
void draw(const CompareRequest& request, const std::vector<experiment::Block>& blocks) {
  if (request.plot_file.empty()) return;
  const std::string script = plot_script(request.plan, blocks);
  if (!script.empty()) return write_output(request.plot_file, drawn_by_gnuplot(script));
  discard_output(request.plot_file);
  tell("compare", "no result to draw for --plot");
}

nlohmann::json whole_report(const CompareRequest& request, const std::vector<experiment::Result>& results,
                            const std::vector<experiment::Block>& blocks,
                            const std::vector<experiment::NextStep>& steps) {
  nlohmann::json report = report_json(request.plan, results, blocks, steps);
  report.update(request.origin);
  report["plan"] = plan_json(request.plan, request.words, results);
  return report;
}

std::string result_text(const CompareRequest& request, const std::vector<experiment::Result>& results,
                        const std::vector<experiment::Block>& blocks,
                        const std::vector<experiment::NextStep>& steps, const Appearance& appearance) {
  switch (request.format) {
    case OutputFormat::kJson:
      return json_text(whole_report(request, results, blocks, steps));
    case OutputFormat::kCsv:
      return table_csv(experiment::comparison_values(request.plan, blocks));
    case OutputFormat::kMarkdown:
      return render_markdown(request.plan, blocks, steps);
    case OutputFormat::kTable:
      break;
  }
  return render(request.plan, blocks, appearance, steps);
}

std::string why_no_transactions() {
  return native_cpu().rtm_is_hidden ? "ELISION_HIDE_RTM=1 hides this CPU's transactions"
                                    : "This CPU has no transactions";
}

// If a report goes to standard output, the result goes to standard error.
void publish(const CompareRequest& request, const std::vector<experiment::Result>& results,
             const std::vector<experiment::Block>& blocks, const std::vector<experiment::NextStep>& steps) {
  const bool taken = is_given_standard_output(request.json_file) ||
                     is_given_standard_output(request.html_file) ||
                     is_given_standard_output(request.plot_file);
  const auto report = [&] { return whole_report(request, results, blocks, steps); };
  const auto json = [&] {
    if (!request.json_file.empty()) write_output(request.json_file, json_text(report()));
  };
  const auto html = [&] {
    if (!request.html_file.empty()) write_output(request.html_file, html_page(viewer_page(), report()));
  };
  const auto result = [&] {
    const int descriptor = taken ? STDERR_FILENO : STDOUT_FILENO;
    const std::string text = result_text(request, results, blocks, steps, appearance_of(descriptor));
    taken ? print_error(text) : print(text);
  };
  do_all({json, html, result, [&] { draw(request, blocks); }});
}

// Runs the reference and the best designs once more, with a profile of their locks. Returns notes of
// failures.
std::vector<std::string> explain_blocks(const CompareRequest& request, experiment::Runner& runner,
                                        experiment::Observer& observer,
                                        const experiment::Execution& execution,
                                        std::vector<experiment::Block>& blocks) {
  double longest = 0;
  for (const experiment::Result& result : execution.results)
    longest = std::max(longest, result.sample.host_seconds);
  const double limit =
      request.timeout_seconds > 0 ? request.timeout_seconds : experiment::time_limit(longest);
  const auto results =
      run_to_explain(cells_to_explain(request.plan, blocks), runner, observer, execution.timing, limit);
  explain(blocks, results);
  return failed_runs(results);
}

/// For native runs. A diagnosis says it in every report; without one, standard error has to do.
void note_load(const OtherWork& others, std::vector<experiment::Block>& blocks) {
  if (!others.disturbs()) return;
  std::string note = fmt::format(
      "Other work took {:.0f} % of the CPU time meanwhile; the program's threads may not always have run at "
      "the same time, and locks may seem to matter less",
      100 * others.share);
  bool is_noted = false;
  for (experiment::Block& block : blocks) {
    if (!block.diagnosis) continue;
    block.diagnosis->findings.push_back({profile::Cause::kOtherWork, "", note + ".", ""});
    is_noted = true;
  }
  note.front() = 'o';
  if (!is_noted) tell("compare", note);
}

// A table of values has no verdicts. Where it has no results either, standard error says why.
void tell_what_csv_lacks(const CompareRequest& request, const std::vector<experiment::Block>& blocks) {
  if (request.format != OutputFormat::kCsv) return;
  for (const experiment::Block& block : blocks)
    if (block.verdict.kind == experiment::VerdictKind::kNoLocks ||
        block.verdict.kind == experiment::VerdictKind::kNoReference)
      tell("compare", block.verdict.sentence);
}

int compare_and_report(CompareRequest& request) {
  const experiment::Plan& plan = request.plan;
  const experiment::StopFlag stop;
  experiment::stop_on_signals(stop);
  const auto runner = plan.model ? virtual_runner(plan, stop) : native_runner(plan, stop);
  const OtherPrograms others;
  experiment::Progress progress("compare", isatty(STDERR_FILENO) == 1);
  std::vector<experiment::Result> tried;
  if (plan.cells.empty()) tried = choose_part(request, *runner, progress);
  const auto undecided = [&plan](const auto& results, std::optional<unsigned> threads) {
    return experiment::undecided(plan, block_of(plan, results, threads).rows);
  };
  const experiment::Execution execution =
      execute(plan, *runner, progress, request.timeout_seconds, undecided, std::move(tried));
  auto blocks = analyse(plan, execution.results, execution.complete);
  std::vector<experiment::NextStep> steps;
  std::vector<std::string> notes;
  if (execution.complete) {
    if (request.explains) notes = explain_blocks(request, *runner, progress, execution, blocks);
    steps = next_steps(plan, blocks, {native_htm_is_live(), why_no_transactions()});
  }
  progress.clear();
  for (const std::string& note : notes) tell("compare", note);
  if (!plan.model) note_load(others.until_now(), blocks);  // virtual time does not depend on the load
  publish(request, execution.results, blocks, steps);
  tell_what_csv_lacks(request, blocks);
  if (!execution.complete) return experiment::kStoppedExitCode;
  const bool compared = std::any_of(blocks.begin(), blocks.end(), [](const experiment::Block& block) {
    return block.verdict.kind != experiment::VerdictKind::kNoReference &&
           block.verdict.kind != experiment::VerdictKind::kNoOther;
  });
  return compared ? 0 : 1;
}

/// `words`: those of the command line, which the request has. `old`: what to repeat, if they come from a
/// plan.
int compare(CompareRequest& request, const Words& words, const OldPlan* old) {
  experiment::Plan& plan = request.plan;
  const Arguments arguments = split_arguments(words);
  if (old != nullptr) {
    plan.where = old->where;
    std::string& compared = request.tm_modes.empty() ? request.designs : request.tm_modes;
    compared = fmt::format("{}", fmt::join(old->designs, ","));
  }
  check_lock_options(plan.launch.lock);
  check_region(request.region);
  const unsigned cpus = choose_place(request);
  choose_runs(request);
  choose_designs(request);
  if (plan.uses_metric()) experiment::Metric{plan.metric};
  const std::vector<std::string>& program = required_program(arguments, "compare");
  choose_threads(request, program, cpus);
  if (old != nullptr) repeat(*old, request.plan_file, plan);
  check_files(request);
  plan.command = program_invocation_name;
  plan.options = arguments.options;
  request.words = words;
  request.origin = origin_json(plan, words);
  plan.launch.program = program_of(program);
  const Place place = plan.model ? Place::kVirtual : Place::kNative;
  if (plan.compares_locks()) {
    preload_library();  // say now if it is missing
    plan.why_no_locks = why_no_lock_was_taken(plan.launch.program.file, place);
  } else {
    tm_library();
    require_transactions(plan.launch.program.file, place, kTm);
  }
  // After all checks, since a refusal must be the only line.
  note_misspelt_threads(program);
  for (const std::string& note : without_effect(plan.launch.lock, plan.designs)) tell("compare", note);
  return compare_and_report(request);
}

}  // namespace

std::unique_ptr<CLI::App> compare_app() {
  static CompareRequest request;
  return compare_options(request);
}

int compare_verb(const Words& line) {
  CompareRequest request;
  const Arguments arguments = split_arguments(line);
  const auto app = compare_options(request);
  if (!parse_options(*app, arguments.options)) return 0;
  if (request.plan_file.empty()) return compare(request, line, nullptr);
  if (!arguments.program.empty())
    throw UsageError(fmt::format("{} has a program of its own: leave out '{}' and what follows", kPlan,
                                 arguments.program.front()));
  const OldPlan old = read_plan(request.plan_file);
  CompareRequest again;
  if (!parse_options(*compare_options(again), split_arguments(old.words).options) || !again.plan_file.empty())
    throw UsageError(fmt::format("{} '{}': its words are not a command line of elision compare", kPlan,
                                 request.plan_file));
  again.plan_file = request.plan_file;
  again.json_file = request.json_file;
  again.html_file = request.html_file;
  again.plot_file = request.plot_file;
  if (app->get_option("--format")->count() > 0) again.format = request.format;
  if (request.timeout_seconds > 0) again.timeout_seconds = request.timeout_seconds;
  again.explains &= request.explains;
  return compare(again, old.words, &old);
}

}  // namespace elision::cli
