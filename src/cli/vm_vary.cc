// SPDX-License-Identifier: Apache-2.0
#include "cli/vm_vary.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "cli/compare/execute.h"
#include "cli/compare/progress.h"
#include "cli/console.h"
#include "cli/json_text.h"
#include "cli/output_file.h"
#include "cli/supervisor.h"
#include "cli/variation_summary.h"

namespace elision::cli {
namespace {

constexpr double kNoTimeoutSeconds = 1e9;  // a program may run as long as it likes, as by itself

compare::Execution execute_until_stopped(const compare::Plan& plan, const compare::Launch& launch) {
  const compare::StopFlag stop;
  compare::stop_on_signals(stop);
  const auto runner = virtual_runner(launch, stop);
  compare::Progress progress("vm", isatty(STDERR_FILENO) == 1);
  auto execution = execute(plan, *runner, progress, kNoTimeoutSeconds);
  for (const int signal : compare::kStopSignals) std::signal(signal, SIG_DFL);
  return execution;
}

std::string table(const compare::Plan& plan, const compare::Execution& execution) {
  return (execution.complete ? "" : "Stopped early. ") + render_variations(plan, execution.results);
}

void write_statistics(const std::string& file, const compare::Plan& plan,
                      const std::vector<compare::Result>& results) {
  if (!file.empty()) write_output(file, json_text(variation_statistics(plan, results)));
}

int wait_status_of(const compare::Sample& sample) {
  return sample.outcome == compare::Outcome::kKilled ? W_EXITCODE(0, sample.status)
                                                     : W_EXITCODE(sample.status, 0);
}

}  // namespace

void run_variations(const compare::Plan& plan, const compare::Launch& launch,
                    const std::string& statistics_file) {
  constexpr int kStoppedExitCode = 128 + SIGINT;
  const compare::Execution execution = execute_until_stopped(plan, launch);
  if (execution.results.empty()) std::exit(kStoppedExitCode);
  const compare::Sample& first = execution.results.front().sample;
  do_all({[&] { write_statistics(statistics_file, plan, execution.results); }, [&] { print(first.output); },
          [&] { print_error(first.error_output + table(plan, execution)); }});
  if (!execution.complete) std::exit(kStoppedExitCode);
  end_like(wait_status_of(first));
}

}  // namespace elision::cli
