// SPDX-License-Identifier: Apache-2.0
#include "cli/vm_vary.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/atomic_file.h"
#include "cli/compare/execute.h"
#include "cli/compare/progress.h"
#include "cli/supervisor.h"
#include "cli/usage_error.h"
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
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  return execution;
}

void show(const std::string& text, std::FILE* stream) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

// The guest's loader or the host was at fault, which was said in a line.
bool never_started(const compare::Sample& sample) {
  return sample.outcome == compare::Outcome::kEnded && sample.status == kUsageExitCode &&
         sample.processes.empty();
}

int wait_status_of(const compare::Sample& sample) {
  return sample.outcome == compare::Outcome::kKilled ? W_EXITCODE(0, sample.status)
                                                     : W_EXITCODE(sample.status, 0);
}

}  // namespace

void run_variations(const compare::Plan& plan, const compare::Launch& launch,
                    const std::string& statistics_file) {
  constexpr int kStoppedExitCode = 128 + SIGINT;
  const auto [results, complete] = execute_until_stopped(plan, launch);
  if (results.empty()) std::exit(kStoppedExitCode);
  const compare::Sample& first = results.front().sample;
  show(first.output, stdout);
  show(first.error_output, stderr);
  if (never_started(first)) std::exit(kUsageExitCode);
  if (!complete) fmt::print(stderr, "Stopped early. ");
  show(render_variations(plan, results), stderr);
  if (!statistics_file.empty())
    write_atomically(statistics_file, variation_statistics(plan, results).dump(2) + "\n");
  if (!complete) std::exit(kStoppedExitCode);
  end_like(wait_status_of(first));
}

}  // namespace elision::cli
