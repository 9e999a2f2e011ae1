// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "cli/experiment/part.h"
#include "cli/host/parse.h"
#include "cli/host/usage_error.h"
#include "cli/options/designs.h"
#include "cli/options/machine_choice.h"
#include "cli/options/region_options.h"
#include "cli/options/tm_modes.h"

namespace elision::cli {
namespace {

constexpr double kLongestTimeoutSeconds = 1e6;

/// Seconds in "90s", "5m" or "1h".
double seconds_of_budget(const std::string& text) {
  constexpr double kLongest = 1e6;
  const char unit = text.empty() ? ' ' : text.back();
  const double seconds = unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0;
  const auto number = number_of<double>(text.substr(0, text.empty() ? 0 : text.size() - 1));
  if (seconds == 0 || !number || !(*number > 0) || !(*number * seconds <= kLongest))
    throw UsageError(fmt::format("{} '{}': use a time such as 90s, 5m or 1h", kBudget, text));
  return *number * seconds;
}

void add_budget(CLI::App& app, CompareRequest& request) {
  app.add_option_function<std::string>(
         kBudget,
         [&request](const std::string& text) {
           request.budget = text;
           request.plan.budget_seconds = seconds_of_budget(text);
         },
         "real time that the comparison may take (90s, 5m): on a virtual machine, windows are sampled if "
         "whole runs take longer; rounds are added while they fit (default: on a virtual machine 5m)")
      ->type_name("TIME")
      ->excludes(app.get_option(kRuns))
      ->excludes(app.get_option("--vary"));
}

void add_sampling(CLI::App& app, CompareRequest& request) {
  const auto store = [&request](const std::string& text) {
    request.samples_auto = text == "auto";
    if (!request.samples_auto)
      request.windows = static_cast<unsigned>(
          whole_number(kSample, text, experiment::kFewestWindows, experiment::kMostRuns));
  };
  CLI::Option* const sample =
      app.add_option_function<std::string>(
             kSample, store,
             "on a virtual machine, simulate so many short windows of the part with several threads, and "
             "compare the time of a section; auto: as many as are needed, at most 30")
          ->type_name("NUMBER|auto");
  for (const char* other : {"--metric", kRuns, "--vary", "--whole-run", kStart, kStop, kTm})
    sample->excludes(app.get_option(other));
  app.add_option_function<std::string>(
         kSampleLength,
         [&request](const std::string& text) {
           request.window_ns = nonzero_time_or_throw(kSampleLength, text);
         },
         "virtual time of a window (default: 1ms; if the number is chosen, 0.3ms to 20ms, for 500 sections)")
      ->type_name("TIME");
}

void add_precision(CLI::App& app, CompareRequest& request) {
  constexpr unsigned kMostPercent = 100;
  const auto store = [&request](const std::string& text) {
    request.plan.precision = static_cast<double>(whole_number(kPrecision, text, 1, kMostPercent)) / 100;
  };
  app.add_option_function<std::string>(kPrecision, store,
                                       "add rounds until the interval of each speedup is so many percent to "
                                       "either side, or narrower (default: until all designs are judged)")
      ->type_name("NUMBER")
      ->excludes(app.get_option(kRuns))
      ->excludes(app.get_option("--vary"));
}

void add_plan(CLI::App& app, CompareRequest& request) {
  CLI::Option* const plan =
      app.add_option(kPlan, request.plan_file,
                     "repeat a comparison run by run, as its JSON report or the plan in it says")
          ->type_name("FILE");
  for (CLI::Option* option : app.get_options()) {
    constexpr const char* kBeside[] = {"--help", "--format",  "--json",   "--html",
                                       "--plot", "--timeout", "--no-why", kPlan};
    const std::string name = option->get_name();
    if (std::find(std::begin(kBeside), std::end(kBeside), name) == std::end(kBeside)) plan->excludes(option);
  }
}

}  // namespace

std::unique_ptr<CLI::App> compare_options(CompareRequest& request) {
  auto app = make_app("elision compare [OPTION...] -- PROGRAM ARG...",
                      "Runs a program under each lock design and says which is best for it. {threads} in the "
                      "program's arguments stands for the number of threads.");
  app->add_option(
         "--locks", request.designs,
         fmt::format("designs, separated by commas (default: {})", fmt::join(default_designs(), ", ")))
      ->type_name("DESIGN,...");
  app->add_option(
         kTm, request.tm_modes,
         fmt::format("compare how transactions of GCC's transactional memory run instead, with GCC's own "
                     "libitm: modes, separated by commas, of {}; default: all but unsafe-lr and ale-logged",
                     tm_mode_forms()))
      ->type_name("default|MODE,...")
      ->excludes("--locks");
  add_tm_retry(*app, request.plan.launch.tm_retry);
  app->add_option("--machine", request.plan.where,
                  "a virtual machine, or 'native' (default: native if its transactions work, else " +
                      std::string(kDefaultMachine) + ")")
      ->type_name("MACHINE|FILE|native");
  app->add_option("--threads", request.threads,
                  "numbers for {threads}, separated by commas (default: every CPU)")
      ->type_name("NUMBER,...");
  CLI::Option* runs = add_number(*app, kRuns, request.runs, 1, experiment::kMostRuns,
                                 "runs of each design, each with its own seed (default: as many as are "
                                 "needed, natively 5 to 30, on a virtual machine 3 to 12)");
  add_number(*app, "--vary", request.variations, 1, machine::kVariations,
             "run each design on so many variations of the virtual machine's uncertain values instead")
      ->excludes(runs);
  add_number(*app, "--seed", request.plan.first_seed, 0, kLastSeed - experiment::kMostRuns,
             "of the first run; the others count up (default: 1)");
  CLI::Option* metric =
      app->add_option("--metric", request.plan.metric,
                      "regular expression; its first group is the result, read from what the program prints")
          ->type_name("REGEX");
  app->add_flag("--lower-is-better", request.plan.lower_is_better, "of the metric")->needs(metric);
  add_format(*app, request.format);
  app->add_option("--json", request.json_file, "write everything to this file")->type_name("FILE");
  app->add_option("--html", request.html_file, "write a page with tables and charts to this file")
      ->type_name("FILE");
  app->add_option("--plot", request.plot_file, "draw throughput over threads in this file (SVG, by gnuplot)")
      ->type_name("FILE");
  app->add_option("--timeout", request.timeout_seconds,
                  "seconds a run may take (default: 20 times the first run, at least 60)")
      ->type_name("SECONDS")
      ->check(seconds_up_to(kLongestTimeoutSeconds));
  app->add_flag("--ignore-failure", request.plan.ignore_failure,
                "compare also if the program ends with an exit code other than 0 by itself");
  app->add_flag_callback(
      "--ignore-output", [&request] { request.plan.compare_output = false; },
      "do not compare what the program prints");
  app->add_flag_callback(
      "--no-why", [&request] { request.explains = false; },
      "do not run the reference and the best designs once more to say where their time goes");
  add_region_options(*app, request.region);
  app->add_flag("--whole-run", request.whole_run,
                "on a virtual machine, time also what the program does before it starts a second thread")
      ->excludes(app->get_option(kStart))
      ->excludes(app->get_option(kStop));
  app->add_flag_callback(
      "--no-snapshot", [&request] { request.plan.shares_beginning = false; },
      "on a virtual machine, execute in every run what the program does before it starts a second thread");
  add_sampling(*app, request);
  add_budget(*app, request);
  add_precision(*app, request);
  add_lock_options(*app, request.plan.launch.lock);
  add_plan(*app, request);
  return app;
}

}  // namespace elision::cli
