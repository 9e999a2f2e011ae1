// SPDX-License-Identifier: Apache-2.0
// `elision vm`: runs a program on the virtual machine. Without --stats this process becomes the guest. With
// --stats a supervisor stays, merges the processes' statistics when the first of them has ended, and ends
// like it. With --vary, processes of this verb run the program once for each variation of the machine
// (vm_vary.h). A guest's execve executes `elision vm-exec`.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <optional>

#include "abi/lock_variables.h"
#include "cli/experiment/metric.h"
#include "cli/experiment/process_statistics.h"
#include "cli/host/console.h"
#include "cli/host/environment.h"
#include "cli/host/install.h"
#include "cli/host/json_text.h"
#include "cli/host/lifeline.h"
#include "cli/host/output_file.h"
#include "cli/host/parse.h"
#include "cli/host/program_file.h"
#include "cli/host/replaceable_locks.h"
#include "cli/host/shell_words.h"
#include "cli/host/supervisor.h"
#include "cli/host/temp_directory.h"
#include "cli/host/usage_error.h"
#include "cli/options/arguments.h"
#include "cli/options/designs.h"
#include "cli/options/lock_options.h"
#include "cli/options/machine_choice.h"
#include "cli/options/region_options.h"
#include "cli/options/tm_modes.h"
#include "cli/show/statistics_json.h"
#include "cli/verbs.h"
#include "cli/vm_vary.h"
#include "vm/engine/engine_layout.h"
#include "vm/engine/run.h"

namespace elision::cli {
namespace {

constexpr std::uint64_t kMostRunAheadCycles = 1'000'000'000;
constexpr std::uint64_t kLastDate = 4102444800;  // 2100-01-01

/// Seconds since 1970; nothing if `text` is not a valid --date.
std::optional<std::uint64_t> seconds_of_date(const std::string& text) {
  if (text == "now") return static_cast<std::uint64_t>(std::time(nullptr));
  const auto seconds = number_of<std::uint64_t>(text);
  return seconds && *seconds <= kLastDate ? seconds : std::nullopt;
}

std::string complain_about_date(const std::string& text) {
  if (seconds_of_date(text)) return {};
  return fmt::format("'{}' is neither 'now' nor seconds since 1970, up to {}", text, kLastDate);
}

constexpr const char* kStatisticsDirectory = "--stats-directory";
constexpr const char* kLockTimes = "--lock-times";
constexpr const char* kInstructionForms = "--instruction-forms";
constexpr const char* kFast = "--fast";
constexpr const char* kRunAhead = "--run-ahead";
constexpr const char* kDate = "--date";
constexpr const char* kServeSnapshot = "--serve-snapshot";
constexpr const char* kFromSnapshot = "--from-snapshot";

struct VmRequest {
  vm::Options options;
  std::string design;   // empty: the guest keeps its own locks
  std::string tm_mode;  // empty: the guest keeps its own libitm
  std::string tm_retry;
  LockOptions lock;
  std::string statistics_file;
  std::uint32_t variations = 0;  // 0: one run on options.variation
  std::string metric;
  std::string snapshot;  // the socket of the snapshot from which to run; empty: from the start
};

std::unique_ptr<CLI::App> vm_options(VmRequest& request) {
  auto app = make_app("elision vm [OPTION...] -- PROGRAM ARG...",
                      "Runs an unmodified x86-64 Linux program on a described multicore, in virtual time.");
  request.options.machine = kDefaultMachine;
  app->add_option("--machine", request.options.machine,
                  "a built-in name or a machine file (elision machines)")
      ->type_name("MACHINE|FILE");
  add_number(*app, "--cpus", request.options.cpus, 1, machine::kMaxCpus,
             "how many of its CPUs (default: all)");
  add_number(*app, "--seed", request.options.seed, 0, kLastSeed,
             "everything random comes from it (default: 1)");
  app->add_option_function<std::string>(
         kDate,
         [&request](const std::string& text) { request.options.date_seconds = *seconds_of_date(text); },
         "the wall clock at the start: now, or seconds since 1970 (default: 2026-01-01, so that runs repeat)")
      ->check(CLI::Validator(complain_about_date, ""))
      ->type_name("now|SECONDS");
  CLI::Option* variation =
      add_number(*app, "--variation", request.options.variation, 0, machine::kVariations - 1,
                 "which draw of the machine's uncertain values (default: 0, the best guesses)");
  CLI::Option* vary =
      add_number(*app, "--vary", request.variations, 1, machine::kVariations,
                 "run it on so many variations, with seeds from --seed on, and show medians and ranges")
          ->excludes(variation);
  app->add_option("--metric", request.metric,
                  "with --vary: regular expression whose first group is the program's own result")
      ->type_name("REGEX")
      ->needs(vary);
  app->add_option("--lock", request.design, fmt::format("replace the program's mutexes: {}", design_forms()))
      ->type_name("DESIGN");
  app->add_option(kTm, request.tm_mode, "run GCC's transactional memory by " + tm_mode_forms())
      ->type_name("MODE")
      ->excludes("--lock");
  add_tm_retry(*app, request.tm_retry);
  add_lock_options(*app, request.lock);
  CLI::Option* statistics =
      app->add_option("--stats", request.statistics_file, "write statistics to this file (JSON) at the end")
          ->type_name("FILE");
  app->add_option(kStatisticsDirectory, request.options.stats_directory,
                  "leave one statistics file a process in this directory instead")
      ->type_name("FOLDER")
      ->excludes(vary)
      ->excludes(statistics);
  app->add_flag(kLockTimes, request.options.lock_times,
                "statistics also say where threads spent their time at locks; changes no virtual time");
  app->add_flag(kInstructionForms, request.options.record_forms,
                "statistics also list the forms of instructions met, each with the bytes of one");
  app->add_flag("--profile", request.options.profile,
                "say at the end of each process, on stderr, where the host's time went")
      ->excludes(vary);
  app->add_option("--crash-reports", request.options.crash_reports,
                  "where to say how the program crashed: stderr (default), none, or a file to append to")
      ->type_name("stderr|none|FILE");
  CLI::Option* run_ahead = add_number(*app, kRunAhead, request.options.run_ahead_cycles, 1,
                                      kMostRunAheadCycles, "how far private work may run ahead (cycles)");
  CLI::Option* fast = app->add_flag(kFast, request.options.fast,
                                    "no caches and no conflicts: virtual time is a number of instructions")
                          ->excludes(run_ahead);
  add_region_options(*app, request.options.region);
  add_part_options(*app, request.options.region);
  CLI::Option* serve =
      app->add_option(kServeSnapshot, request.options.serves,
                      "run up to --start, then serve copies of the process there, at this new socket")
          ->type_name("SOCKET")
          ->excludes(fast)
          ->excludes(vary)
          ->excludes(statistics);
  app->add_option(kFromSnapshot, request.snapshot,
                  "run as a copy of the snapshot that is served at this socket, if it can")
      ->type_name("SOCKET")
      ->excludes(fast)
      ->excludes(vary)
      ->excludes(serve);
  app->add_flag_callback(
         "--no-fast-path", [&request] { request.options.fast_path = false; },
         "every access takes the slow path; changes no result")
      ->excludes(fast);
  app->add_flag_callback(
         "--no-conflict-detection", [&request] { request.options.conflict_detection = false; },
         "transactions never conflict: results are then wrong, which tests rely on")
      ->excludes(fast);
  return app;
}

bool goes_to_file(const vm::Options& options) {
  return options.crash_reports != "stderr" && options.crash_reports != "none";
}

bool has_statistics(const VmRequest& request) {
  return !request.statistics_file.empty() || !request.options.stats_directory.empty();
}

/// The part of a run is the copy's.
void check_snapshot(const VmRequest& request) {
  const vm::RunRegion& region = request.options.region;
  if (!request.snapshot.empty() && !region.is_set())
    throw UsageError(
        fmt::format("{} needs a part of the run behind the snapshot: give it {}", kFromSnapshot, kStart));
  if (!request.snapshot.empty() && (request.options.profile || request.options.record_forms))
    throw UsageError(fmt::format("{} excludes --profile and {}", kFromSnapshot, kInstructionForms));
  if (request.options.serves.empty()) return;
  vm::RunRegion start_alone;
  start_alone.start = region.start;
  if (!region.start.is_set() || as_words(region) != as_words(start_alone))
    throw UsageError(
        fmt::format("{} needs {}, and no other option for a part of the run", kServeSnapshot, kStart));
  if (!request.options.stats_directory.empty() || request.options.profile)
    throw UsageError(fmt::format("{} has no statistics: its copies do", kServeSnapshot));
}

void check(const VmRequest& request) {
  check_lock_options(request.lock);
  check_region(request.options.region);
  check_snapshot(request);
  if (request.variations != 0 && request.options.region.parts() > 1)
    throw UsageError(fmt::format("--vary {}: {} has several parts; give it one", request.variations, kStart));
  if (const auto words = as_words(request.options.region); request.options.fast && !words.empty())
    throw UsageError(fmt::format("{} has no effect with {}", words.front(), kFast));
  if (!request.tm_mode.empty()) {
    check_tm_modes({request.tm_mode}, request.lock, request.tm_retry);
  } else if (!request.design.empty()) {
    require_design(request.design);
  } else if (const auto words = as_words(request.lock); !words.empty()) {
    throw UsageError(fmt::format("{} has no effect without --lock", words.front()));
  }
  if (!has_statistics(request)) {
    if (request.options.lock_times)
      throw UsageError(fmt::format("{} has no effect without --stats", kLockTimes));
    if (request.options.record_forms)
      throw UsageError(fmt::format("{} has no effect without --stats", kInstructionForms));
  }
  const machine::Machine machine = load_machine_or_throw(request.options.machine);
  if (request.options.cpus > machine.description.topology.cpus()) {
    throw UsageError(fmt::format("--cpus {}: {} has {}", request.options.cpus, machine.description.name,
                                 machine.description.topology.cpus()));
  }
  if (!request.statistics_file.empty()) require_writable(request.statistics_file);
  if (!request.options.stats_directory.empty()) require_directory(request.options.stats_directory);
  if (goes_to_file(request.options)) require_writable(request.options.crash_reports);
  variation_or_throw(machine, request.options.variation);
}

// Makes paths absolute, since the program may change its directory.
void make_absolute(vm::Options& options) {
  if (options.crash_reports == kStandardOutput) {
    options.crash_reports = "/dev/stdout";
  } else if (goes_to_file(options)) {
    options.crash_reports = std::filesystem::absolute(options.crash_reports);
  }
  if (!options.stats_directory.empty())
    options.stats_directory = std::filesystem::absolute(options.stats_directory);
  if (!options.serves.empty()) options.serves = std::filesystem::absolute(options.serves);
}

// The guest's environment: ours and, with --lock or --tm, the library's settings.
std::vector<std::string> guest_environment(const VmRequest& request) {
  std::vector<std::string> environment = copy_environment(environ);
  if (!request.tm_mode.empty()) set_tm_variables(environment, request.tm_mode, request.tm_retry);
  if (request.design.empty()) return environment;
  set_lock_variables(environment, request.design, request.lock);
  return environment;
}

// The command that repeats the run even if defaults change.
std::string repeating_command(const Arguments& arguments, const VmRequest& request, const CLI::App& app) {
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe").string(), "vm"};
  for (std::size_t i = 0; i < arguments.options.size(); ++i) {
    // The directory may be temporary, and a repeated run should leave no files there. The date may be "now".
    const std::string& word = arguments.options[i];
    if (word == kStatisticsDirectory || word == kDate) ++i;
    const bool is_of_directory =
        word.starts_with(kStatisticsDirectory) ||
        (app.count(kStatisticsDirectory) != 0 && (word == kLockTimes || word == kInstructionForms));
    if (!is_of_directory && !word.starts_with(kDate)) words.push_back(word);
  }
  if (app.count(kDate) != 0) words.insert(words.end(), {kDate, std::to_string(request.options.date_seconds)});
  const auto add = [&](const char* option, const std::string& value) {
    if (app.count(option) == 0) words.insert(words.end(), {option, value});
  };
  add("--machine", request.options.machine);
  add("--seed", std::to_string(request.options.seed));
  add("--variation", std::to_string(request.options.variation));
  words.emplace_back("--");
  words.insert(words.end(), arguments.program.begin(), arguments.program.end());
  return quoted_for_shell(words);
}

/// `why` is empty if it is one.
void tell_that_it_is_no_copy(const std::string& why) {
  if (!why.empty()) tell("vm", fmt::format("no snapshot: {}; the run begins at the program's start", why));
}

/// A caller that collects statistics finds it there.
void note_that_it_is_no_copy(const VmRequest& request, const std::string& why) {
  if (request.options.stats_directory.empty()) return tell_that_it_is_no_copy(why);
  vm::leave_note(request.options, vm::kNoCopyFile, why);
}

int start_guest(const VmRequest& request, const Program& program) {
  const std::vector<std::string> environment = guest_environment(request);
  release_standard_descriptors();
  if (!request.snapshot.empty()) {
    std::string why;
    if (const auto status = vm::run_from_snapshot(request.snapshot, request.options, program.file,
                                                  program.words, pointers_to(environment).data(), why))
      end_like(*status);
    note_that_it_is_no_copy(request, why);
  }
  close_lifeline();
  return vm::run_virtual_machine(request.options, program.file, program.words,
                                 pointers_to(environment).data());
}

/// Of several parts, a list. Nothing: the processes have left no statistics.
std::optional<nlohmann::json> statistics_of(const vm::Options& options) {
  const machine::Machine machine = load_machine_or_throw(options.machine);
  const auto drawn = variation_or_throw(machine, options.variation).drawn;
  const std::size_t parts = options.region.parts();
  nlohmann::json all = {{"version", 1}, {"parts", nlohmann::json::array()}};
  for (std::size_t part = 0; part < parts; ++part) {
    const auto processes = experiment::read_process_statistics(
        experiment::directory_of_part(options.stats_directory, part, parts));
    if (processes.empty()) break;
    all["parts"].push_back(experiment::run_statistics(options.machine, options.variation, drawn, processes));
  }
  if (all["parts"].empty()) return std::nullopt;
  return parts == 1 ? all["parts"].front() : all;
}

int supervised(VmRequest request, const Program& program) {
  int status = 0;
  bool written = false, started = true;
  {
    const TempDirectory directory;
    request.options.stats_directory = directory.path();
    status = supervise([&] { return start_guest(request, program); },
                       [&] {
                         started = experiment::why_not_started(directory.path()).empty();
                         tell_that_it_is_no_copy(experiment::why_no_copy(directory.path()));
                         const auto statistics = statistics_of(request.options);
                         if (!statistics || !started) return;
                         written = true;
                         write_output(request.statistics_file, json_text(*statistics));
                       });
  }
  if (!written) discard_output(request.statistics_file);
  // If the guest does not start, the child has reported why.
  if (!written && started && WIFEXITED(status))
    throw UsageError(
        fmt::format("cannot write '{}': the program left no statistics", request.statistics_file));
  end_like(status);
}

// The options that are passed on to the `elision vm` of every variation.
std::vector<std::string> words_for_every_variation(const VmRequest& request, bool dated) {
  std::vector<std::string> words;
  if (!request.options.fast)
    words.insert(words.end(), {kRunAhead, std::to_string(request.options.run_ahead_cycles)});
  if (dated) words.insert(words.end(), {kDate, std::to_string(request.options.date_seconds)});
  if (request.options.cpus != 0) words.insert(words.end(), {"--cpus", std::to_string(request.options.cpus)});
  words.insert(words.end(), {"--crash-reports", request.options.crash_reports});
  if (request.options.lock_times) words.emplace_back(kLockTimes);
  if (request.options.record_forms) words.emplace_back(kInstructionForms);
  if (request.options.fast) words.emplace_back(kFast);
  for (const std::string& word : as_words(request.options.region)) words.push_back(word);
  if (!request.options.fast_path) words.emplace_back("--no-fast-path");
  if (!request.options.conflict_detection) words.emplace_back("--no-conflict-detection");
  return words;
}

[[noreturn]] void varied(const VmRequest& request, const Program& program, bool dated) {
  experiment::Plan plan;
  plan.launch = {.program = program,
                 .subject = request.tm_mode.empty() ? experiment::Subject::kLocks
                                                    : experiment::Subject::kTransactionalMemory,
                 .lock = request.lock,
                 .tm_retry = request.tm_retry,
                 .vm_words = words_for_every_variation(request, dated),
                 .keep_statistics = true};
  plan.where = request.options.machine;
  plan.model = true;
  plan.designs = {request.tm_mode.empty() ? request.design : request.tm_mode};
  plan.thread_counts = {std::nullopt};
  plan.runs = request.variations;
  plan.first_seed = request.options.seed;
  plan.metric = request.metric;
  plan.variations = drawn_values(load_machine_or_throw(request.options.machine), request.variations);
  plan.judges_designs = false;
  run_variations(plan, request.statistics_file);
}

// A caller that collects the counters, such as a comparison, sees it there.
void tell_what_has_no_effect(const Program& program, const VmRequest& request) {
  const char* const counters = abi::row_of(abi::LockVariable::kCountersDir).name;
  if (!variable(copy_environment(environ), counters).empty()) return;
  if (const std::string why = why_no_lock_is_replaced(program.file, Place::kVirtual); !why.empty())
    return tell("vm", no_lock_sentence(program.words.front(), "takes", why));
  for (const std::string& note : without_effect(request.lock, {request.design})) tell("vm", note);
}

// All checks before the guest starts.
Program prepare(VmRequest& request, const Arguments& arguments, const CLI::App& app) {
  check(request);
  if (!request.metric.empty()) experiment::Metric{request.metric};  // refuses a wrong pattern
  const Program program = program_of(required_program(arguments, "vm"));
  request.options.command = repeating_command(arguments, request, app);
  make_absolute(request.options);
  if (!request.design.empty()) {
    request.options.preload.push_back(preload_library());
    tell_what_has_no_effect(program, request);
  }
  if (!request.tm_mode.empty()) {
    require_transactions(program.file, Place::kVirtual, kTm);
    if (!is_libitm(request.tm_mode)) request.options.preload.push_back(tm_library());
  }
  return program;
}

int run_request(VmRequest& request, const Arguments& arguments, const CLI::App& app) {
  const Program program =
      or_discard(request.statistics_file, [&] { return prepare(request, arguments, app); });
  if (request.variations != 0) varied(request, program, app.count(kDate) != 0);
  if (request.statistics_file.empty()) return start_guest(request, program);
  return supervised(request, program);
}

}  // namespace

std::unique_ptr<CLI::App> vm_app() {
  static VmRequest request;
  return vm_options(request);
}

int vm_verb(const Words& words) {
  vm::leave_the_way();
  const Arguments arguments = split_arguments(words);
  VmRequest request;
  const auto app = vm_options(request);
  if (!parse_options(*app, arguments.options)) return 0;
  try {
    return run_request(request, arguments, *app);
  } catch (const UsageError& error) {
    vm::leave_note(request.options, vm::kNotStartedFile, error.what());
    throw;
  }
}

int vm_exec_verb(const Words& words) {
  vm::leave_the_way();
  const auto descriptor = number_of<int>(words.size() == 1 ? words.front() : "");
  if (descriptor.value_or(-1) < 0) throw UsageError("vm-exec is for the virtual machine's own use");
  release_standard_descriptors();
  return vm::resume_virtual_machine(*descriptor);
}

}  // namespace elision::cli
