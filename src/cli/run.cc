// SPDX-License-Identifier: Apache-2.0
// `elision run`: runs a program natively under one lock design. The process becomes the program by exec, so
// exit code, signals and job control are the program's.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/host/console.h"
#include "cli/host/environment.h"
#include "cli/host/install.h"
#include "cli/host/native_htm.h"
#include "cli/host/program_file.h"
#include "cli/host/replaceable_locks.h"
#include "cli/host/usage_error.h"
#include "cli/options/arguments.h"
#include "cli/options/designs.h"
#include "cli/options/lock_options.h"
#include "cli/options/tm_modes.h"
#include "cli/verbs.h"

namespace elision::cli {
namespace {

struct RunRequest {
  std::string design;
  std::string tm_mode;
  std::string tm_retry;
  LockOptions lock;
};

std::unique_ptr<CLI::App> run_options(RunRequest& request) {
  auto app =
      make_app("elision run --lock|--tm NAME [OPTION...] -- PROGRAM ARG...",
               "Runs a program natively under one lock design, or under one mode of transactional memory.");
  CLI::Option* const design = app->add_option("--lock", request.design, design_forms())->type_name("DESIGN");
  app->add_option(kTm, request.tm_mode, "run GCC's transactional memory by " + tm_mode_forms())
      ->type_name("MODE")
      ->excludes(design);
  add_tm_retry(*app, request.tm_retry);
  add_lock_options(*app, request.lock);
  return app;
}

// Reported here because the library prints nothing.
void tell_what_is_missing(const Program& program, const std::string& design, const LockOptions& lock) {
  if (const std::string why = why_no_lock_is_replaced(program.file, Place::kNative); !why.empty())
    return tell("run", no_lock_sentence(program.words.front(), "takes", why));
  for (const std::string& note : without_effect(lock, {design})) tell("run", note);
  if (const std::string reason = missing_in_glibc(design); !reason.empty())
    tell("run", fmt::format("{}; {} is pthread here", reason, design));
  if (!elides(design) && !speculates(design)) return;
  if (!native_htm_is_live()) {
    tell("run", fmt::format(
                    "this CPU has no live hardware transactions{}; {} uses its fallback lock (elision vm has "
                    "them; elision doctor says why)",
                    native_cpu().rtm_is_hidden ? " (ELISION_HIDE_RTM=1 hides them)" : "", design));
  } else if (speculates(design) && !lock.rtm_always_abort) {
    tell("run", fmt::format("{} does not speculate on a real CPU without --rtm-always-abort", design));
  }
}

void tell_without_hardware(const std::string& mode) {
  if (needs_hardware(mode) && !native_htm_is_live())
    tell("run",
         fmt::format("this CPU has no live hardware transactions{}; {} is serial here (elision vm has them; "
                     "elision doctor says why)",
                     native_cpu().rtm_is_hidden ? " (ELISION_HIDE_RTM=1 hides them)" : "", mode));
}

[[noreturn]] void become(const Program& program, const std::vector<std::string>& environment) {
  execve(program.file.c_str(), pointers_to(program.words).data(), pointers_to(environment).data());
  throw UsageError(fmt::format("cannot run '{}': {}", program.file, std::strerror(errno)));
}

[[noreturn]] void run_transactions(const RunRequest& request, const Arguments& arguments) {
  check_tm_modes({request.tm_mode}, request.lock, request.tm_retry);
  const Program program = program_of(required_program(arguments, "run --tm " + request.tm_mode));
  require_transactions(program.file, Place::kNative, kTm);
  std::vector<std::string> environment = copy_environment(environ);
  set_tm_mode(environment, program.file, request.tm_mode, request.tm_retry);
  tell_without_hardware(request.tm_mode);
  become(program, environment);
}

}  // namespace

std::unique_ptr<CLI::App> run_app() {
  static RunRequest request;
  return run_options(request);
}

int run_verb(const Words& words) {
  const Arguments arguments = split_arguments(words);
  RunRequest request;
  const auto app = run_options(request);
  if (!parse_options(*app, arguments.options)) return 0;
  if (request.design.empty() && request.tm_mode.empty())
    throw UsageError("run needs --lock DESIGN, or --tm MODE");
  if (!request.tm_mode.empty()) run_transactions(request, arguments);
  require_design(request.design);
  check_lock_options(request.lock);
  const Program program = program_of(required_program(arguments, "run --lock " + request.design));
  std::vector<std::string> environment = copy_environment(environ);
  set_lock_variables(environment, request.design, request.lock);
  preload_into(program.file, environment, preload_library());
  tell_what_is_missing(program, request.design, request.lock);
  become(program, environment);
}

}  // namespace elision::cli
