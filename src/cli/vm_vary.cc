// SPDX-License-Identifier: Apache-2.0
#include "cli/vm_vary.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "cli/experiment/execute.h"
#include "cli/experiment/program_runners.h"
#include "cli/host/console.h"
#include "cli/host/json_text.h"
#include "cli/host/output_file.h"
#include "cli/host/supervisor.h"
#include "cli/show/progress.h"
#include "cli/show/statistics_json.h"
#include "cli/show/variation_table.h"

namespace elision::cli {
namespace {

constexpr double kNoTimeoutSeconds = 1e9;  // as without --vary

experiment::Execution execute_until_stopped(const experiment::Plan& plan) {
  const experiment::StopFlag stop;
  experiment::stop_on_signals(stop);
  const auto runner = virtual_runner(plan, stop);
  experiment::Progress progress("vm", isatty(STDERR_FILENO) == 1);
  auto execution = execute(plan, *runner, progress, kNoTimeoutSeconds);
  for (const int signal : experiment::kStopSignals) std::signal(signal, SIG_DFL);
  return execution;
}

std::string table(const experiment::Plan& plan, const experiment::Execution& execution) {
  return (execution.complete ? "" : "Stopped early. ") + render_variations(plan, execution.results);
}

void write_statistics(const std::string& file, const experiment::Plan& plan,
                      const std::vector<experiment::Result>& results) {
  if (!file.empty()) write_output(file, json_text(variation_statistics(plan, results)));
}

int wait_status_of(const experiment::Sample& sample) {
  return sample.outcome == experiment::Outcome::kKilled ? W_EXITCODE(0, sample.status)
                                                        : W_EXITCODE(sample.status, 0);
}

}  // namespace

void run_variations(const experiment::Plan& plan, const std::string& statistics_file) {
  const experiment::Execution execution =
      or_discard(statistics_file, [&] { return execute_until_stopped(plan); });
  if (execution.results.empty()) {
    discard_output(statistics_file);
    std::exit(experiment::kStoppedExitCode);
  }
  const experiment::Sample& first = execution.results.front().sample;
  do_all({[&] { write_statistics(statistics_file, plan, execution.results); }, [&] { print(first.output); },
          [&] { print_error(first.error_output + table(plan, execution)); }});
  if (!execution.complete) std::exit(experiment::kStoppedExitCode);
  end_like(wait_status_of(first));
}

}  // namespace elision::cli
