// SPDX-License-Identifier: Apache-2.0
// `elision record`: runs a program once, with its own input and output, and writes a profile of its locks. On
// this CPU a thread of this process looks at the activity of the program's threads (ActivityLooks): the
// program is not interrupted, and if it is killed, the profile is written all the same. The virtual machine
// counts everything. A process that runs already is looked at in the same way, by its memory. Where the CPU
// and the kernel offer events of transactions, aborts are sampled by these, too (AbortSampler).
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "abi/lock_variables.h"
#include "cli/compare_request.h"
#include "cli/doctor/transaction_events.h"
#include "cli/experiment/abort_sampler.h"
#include "cli/experiment/activity_sampler.h"
#include "cli/experiment/attached_process.h"
#include "cli/experiment/lock_profile.h"
#include "cli/experiment/process_statistics.h"
#include "cli/host/console.h"
#include "cli/host/descriptors.h"
#include "cli/host/environment.h"
#include "cli/host/held_process.h"
#include "cli/host/install.h"
#include "cli/host/output_file.h"
#include "cli/host/program_file.h"
#include "cli/host/replaceable_locks.h"
#include "cli/host/shell_words.h"
#include "cli/host/temp_directory.h"
#include "cli/host/usage_error.h"
#include "cli/options/arguments.h"
#include "cli/options/designs.h"
#include "cli/options/lock_options.h"
#include "cli/options/machine_choice.h"
#include "cli/profile_file.h"
#include "cli/verbs.h"
#include "htm/backend.h"
#include "htm/cpu.h"
#include "profile/abort_account.h"

namespace elision::cli {
namespace {

constexpr std::uint64_t kDefaultFrequency = 500, kMostFrequency = 10'000;  // looks a second
constexpr double kMostSeconds = 86'400;
constexpr std::uint64_t kDefaultCallPaths = 100;  // samples a second of a thread's CPU time
/// Aborts of a thread in one sample. A prime, so that no period of the program hides from it.
constexpr std::uint64_t kDefaultAbortPeriod = 2003;

static_assert(profile::kLockBusyCodes[0] == htm::kCodeLockBusy &&
              profile::kLockBusyCodes[1] == htm::kCodeNestedBusy);

struct RecordRequest {
  std::string output = kDefaultProfile;
  std::string machine;  // empty: this CPU
  std::string design = experiment::kPthread;
  std::uint64_t frequency = kDefaultFrequency;
  std::uint64_t call_paths = kDefaultCallPaths;
  std::optional<std::uint64_t> abort_period;  // nothing: kDefaultAbortPeriod, if the CPU counts aborts
  std::uint64_t access_period = 0;            // 0: loads and stores are not sampled
  std::uint64_t process = 0;                  // 0: the program is started
  double seconds = 0;                         // of a process that runs already; 0: until it ends
  LockOptions lock;
};

std::unique_ptr<CLI::App> record_options(RecordRequest& request) {
  auto app = make_app("elision record [OPTION...] -- PROGRAM ARG...\n  elision record [OPTION...] -p PID",
                      "Runs a program once and writes where its threads spend their time at locks.");
  app->add_option(
         "-o,--output", request.output,
         fmt::format("write the profile there, with this process's id for %p (default: {})", kDefaultProfile))
      ->type_name("FILE");
  app->add_option("--vm", request.machine,
                  "run on this virtual machine, which counts everything (default: on this CPU)")
      ->type_name("MACHINE");
  app->add_option("--lock", request.design, "the lock design (default: pthread, the program's own locks)")
      ->type_name("DESIGN");
  add_number(*app, "-F,--frequency", request.frequency, 1, kMostFrequency,
             fmt::format("looks at the threads a second, on this CPU (default: {})", kDefaultFrequency));
  add_number(*app, "--call-paths", request.call_paths, 0, kMostFrequency,
             fmt::format("samples of call paths in a second of a thread's CPU time, on this CPU; 0: none "
                         "(default: {})",
                         kDefaultCallPaths));
  const auto store_period = [&request](const std::string& text) {
    request.abort_period = whole_number("--aborts", text, 0, experiment::AbortSampler::kMostPeriod);
  };
  app->add_option_function<std::string>(
         "--aborts", store_period,
         fmt::format("sample one in so many aborts of a thread by the CPU's performance events, on this CPU; "
                     "0: none (default: {}, if there are such events)",
                     kDefaultAbortPeriod))
      ->type_name("NUMBER");
  add_number(*app, "--accesses", request.access_period, 0, experiment::AbortSampler::kMostPeriod,
             "sample one in so many loads and stores of a thread, too: data that threads share; aborts the "
             "transactions that it finds (default: 0, none)");
  add_number(*app, "-p,--process", request.process, 1, std::numeric_limits<pid_t>::max(),
             "look at a process that runs already with the lock library, until it ends or an interrupt")
      ->type_name("PID");
  app->add_option("--seconds", request.seconds, "with --process: no longer than that")
      ->type_name("S")
      ->check(seconds_up_to(kMostSeconds));
  add_lock_options(*app, request.lock);
  app->footer("Exit code: the program's, or 128 and the number of the signal that ended it.");
  return app;
}

/// The program that runs now, and a signal for it that came before it ran; 0: none.
std::atomic<int> running = 0, early_signal = 0;

/// Signals from a terminal go to the program, too. Others are passed on.
void pass_on(int signal) {
  early_signal = signal;
  if (const pid_t process = running) kill(process, signal);
}

/// From its construction on, signals end the program instead of this process; also when the program has
/// ended, so that the profile is named and written.
class SignalsForProgram {
 public:
  SignalsForProgram() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction action {};
      action.sa_handler = kSignals[i] == SIGINT || kSignals[i] == SIGQUIT ? SIG_IGN : pass_on;
      sigaction(kSignals[i], &action, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
  SignalsForProgram(const SignalsForProgram&) = delete;
  SignalsForProgram& operator=(const SignalsForProgram&) = delete;

  /// Those that this process did not ignore.
  sigset_t caught() const {
    sigset_t set;
    sigemptyset(&set);
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      if (before_[i].sa_handler != SIG_IGN) sigaddset(&set, kSignals[i]);
    return set;
  }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

/// Runs the program to its end, with this process's input and output. `prepare` is called with its process
/// before that executes it. Returns an exit code.
int run_to_end(const std::string& file, const std::vector<std::string>& words,
               const std::vector<std::string>& environment, const std::function<void(pid_t)>& prepare = {}) {
  const SignalsForProgram signals;
  HeldProcess process(file, words, environment, signals.caught());
  if (prepare) prepare(process.id());
  if (const int error = process.release(); error != 0)
    throw UsageError(fmt::format("cannot run '{}': {}", file, std::strerror(error)));
  running = process.id();
  if (const int signal = early_signal) kill(process.id(), signal);
  int status = 0;
  while (waitpid(process.id(), &status, 0) < 0 && errno == EINTR) {
  }
  running = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Makes the lock library note what threads do, in files in `directory`.
void note_activity(std::vector<std::string>& environment, const std::string& directory) {
  set_variable(environment, abi::row_of(abi::LockVariable::kCountersDir).name, directory);
  set_variable(environment, abi::row_of(abi::LockVariable::kActivity).name, "1");
}

/// Between two looks.
double distance_ms(const RecordRequest& request) { return 1000.0 / static_cast<double>(request.frequency); }

bool goes_with_process(const std::string& option) {
  return option == "--process" || option == "--seconds" || option == "--output" || option == "--frequency" ||
         option == "--aborts" || option == "--accesses";
}

constexpr const char* kNoneWanted = "record was told to sample none";
constexpr const char* kRanAlready = "it is of a process that ran already";

/// Samples the aborts of a program or process, as far as asked and possible.
class Aborts {
 public:
  explicit Aborts(const RecordRequest& request)
      : asked_(request.access_period != 0              ? "--accesses: loads and stores"
               : request.abort_period.value_or(0) != 0 ? "--aborts: aborts"
                                                       : "") {
    const std::uint64_t period = request.abort_period.value_or(kDefaultAbortPeriod);
    if (period == 0) {
      missing_ = kNoneWanted;
      return;
    }
    const auto events = doctor::transaction_events(htm::detect_cpu().has_rtm);
    if (!events) {
      is_missing("neither this CPU nor the kernel has an event of aborts");
      return;
    }
    sampler_ = std::make_unique<experiment::AbortSampler>(*events, period, request.access_period);
  }

  /// Before the process executes the program.
  void begin(pid_t process) {
    if (sampler_ != nullptr) give_up_if(sampler_->open(process));
  }
  /// Of a process that runs already.
  void attach(pid_t process) {
    if (sampler_ != nullptr) give_up_if(sampler_->attach(process));
  }

  /// Why a profile from before finish() has none: a clause.
  std::string missing_so_far() const {
    return sampler_ == nullptr ? missing_ : "record was killed before it took them in";
  }
  /// Stops counting.
  void stop() {
    if (sampler_ != nullptr) sampler_->stop();
  }

  void finish(profile::Profile& profile) {
    if (sampler_ != nullptr)
      sampler_->finish(profile);
    else
      profile.abort_events.emplace().missing = missing_;
  }

 private:
  void give_up_if(const std::string& why) {
    if (why.empty()) return;
    sampler_.reset();
    is_missing(why);
  }
  void is_missing(const std::string& why) {
    if (!asked_.empty()) throw UsageError(fmt::format("{} cannot be sampled: {}", asked_, why));
    missing_ = why;
  }

  const std::string asked_;
  std::string missing_;
  std::unique_ptr<experiment::AbortSampler> sampler_;
};

struct Recorded {
  profile::Profile profile;
  int exit_code = 0;
};

/// Returns what writes the profile while the program runs, so that there is one even if this process is
/// killed. Empty if the output cannot be replaced as a whole.
/// `paths_missing` and `aborts_missing`: why the profile has none.
experiment::ActivitySampler::Save saver(const RecordRequest& request, ProfileFile file,
                                        const std::string& paths_missing, const std::string& aborts_missing) {
  if (!is_replaced_whole(request.output)) return {};
  return [output = request.output, file = std::move(file), paths_missing,
          aborts_missing](profile::Profile profile) mutable {
    file.profile = std::move(profile);
    if (!paths_missing.empty()) file.profile.paths_missing = paths_missing;
    file.profile.abort_events.emplace().missing = aborts_missing;
    write_output(output, profile_text(file));
  };
}

Recorded record_natively(const RecordRequest& request, const Program& program) {
  Aborts aborts(request);
  const TempDirectory directory;
  std::vector<std::string> environment = copy_environment(environ);
  set_lock_variables(environment, request.design, request.lock);
  preload_into(program.file, environment, preload_library());
  note_activity(environment, directory.path());
  set_variable(environment, abi::row_of(abi::LockVariable::kCallPaths).name,
               std::to_string(request.call_paths));
  if (const std::string why = why_no_lock_is_replaced(program.file, Place::kNative); !why.empty())
    tell("record", no_lock_sentence(program.words.front(), "takes", why));
  const char* const missing = request.call_paths == 0 ? kNoneWanted : "";
  experiment::ActivitySampler sampler(
      directory.path(), distance_ms(request),
      saver(request, {program.words, kNative, request.design, {}}, missing, aborts.missing_so_far()));
  const int exit_code = run_to_end(program.file, program.words, environment,
                                   [&aborts](pid_t process) { aborts.begin(process); });
  Recorded recorded{sampler.finish(), exit_code};
  aborts.finish(recorded.profile);
  if (request.call_paths == 0) recorded.profile.paths_missing = missing;
  return recorded;
}

Recorded record_virtually(const RecordRequest& request, const Program& program) {
  (void)load_machine_or_throw(request.machine);
  const TempDirectory directory;
  std::vector<std::string> words = {"elision", "vm", "--machine", request.machine, "--lock", request.design};
  const auto add = [&words](const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  add(as_words(request.lock));
  add({"--lock-times", "--stats-directory", directory.path(), "--"});
  add(program.words);
  std::vector<std::string> environment = copy_environment(environ);
  note_activity(environment, directory.path());
  const int exit_code = run_to_end(own_binary(), words, environment);
  if (const std::string why = experiment::why_not_started(directory.path()); !why.empty())
    throw UsageError(why);
  const std::vector<nlohmann::json> processes = experiment::read_process_statistics(directory.path());
  const nlohmann::json* const busiest = experiment::busiest_process(processes, "lock_times");
  if (busiest == nullptr)
    throw UsageError(
        fmt::format("'{}' ended without a profile (exit code {})", program.words.front(), exit_code));
  return {experiment::profile_of_process(busiest->at("lock_times"), directory.path()), exit_code};
}

/// While it lives, signals that ask to stop are kept for await_end(). Further ones do nothing.
class StopsKept {
 public:
  StopsKept() {
    sigemptyset(&stops_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&stops_, signal);
    pthread_sigmask(SIG_BLOCK, &stops_, &before_);
  }
  ~StopsKept() {
    constexpr timespec kNow{0, 0};
    while (sigtimedwait(&stops_, nullptr, &kNow) > 0) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopsKept(const StopsKept&) = delete;
  StopsKept& operator=(const StopsKept&) = delete;

  /// Waits until the process ends, the time is over (0: never), or a signal asks to stop.
  void await_end(const experiment::AttachedProcess& process, double seconds) const {
    using Clock = std::chrono::steady_clock;
    constexpr timespec kBetweenLooks{0, 20'000'000};
    const Clock::time_point begin = Clock::now();
    const auto is_over = [&] {
      return seconds != 0 && Clock::now() - begin >= std::chrono::duration<double>(seconds);
    };
    while (!process.has_ended() && !is_over())
      if (sigtimedwait(&stops_, nullptr, &kBetweenLooks) > 0) break;
  }

 private:
  sigset_t stops_, before_;
};

/// Profiles a process that runs already.
ProfileFile record_process(const RecordRequest& request, const StopsKept& stops) {
  const experiment::AttachedProcess process(static_cast<std::uint32_t>(request.process));
  Aborts aborts(request);
  aborts.attach(static_cast<pid_t>(process.id()));
  const TempDirectory directory;
  ProfileFile file{process.command(), kNative, process.design(), {}};
  experiment::ActivitySampler sampler(directory.path(), process, distance_ms(request),
                                      saver(request, file, kRanAlready, aborts.missing_so_far()));
  stops.await_end(process, request.seconds);
  aborts.stop();
  file.profile = sampler.finish();
  file.profile.paths_missing = kRanAlready;
  aborts.finish(file.profile);
  return file;
}

ProfileFile record_program(const RecordRequest& request, const Program& program, int& exit_code) {
  Recorded recorded =
      request.machine.empty() ? record_natively(request, program) : record_virtually(request, program);
  exit_code = recorded.exit_code;
  return {program.words, request.machine.empty() ? kNative : request.machine, request.design,
          std::move(recorded.profile)};
}

/// %p stands for the id of this process, so that the ranks of a parallel program do not share a file.
std::string with_process_id(std::string name) {
  constexpr std::string_view kMark = "%p";
  for (std::size_t at = name.find(kMark); at != std::string::npos; at = name.find(kMark, at))
    name.replace(at, kMark.size(), std::to_string(getpid()));
  return name;
}

/// A process that runs already has its program, its place and its locks.
void check_request(const CLI::App& app, const RecordRequest& request, const Arguments& arguments) {
  if (request.access_period != 0 && request.abort_period == 0)
    throw UsageError("--accesses goes with samples of aborts, so not with --aborts 0");
  if (request.process == 0) {
    if (request.seconds != 0) throw UsageError("--seconds goes with --process");
    for (const char* const option : {"--frequency", "--call-paths", "--aborts", "--accesses"})
      if (!request.machine.empty() && app.count(option) != 0)
        throw UsageError(fmt::format("{} is for this CPU: a virtual machine counts everything", option));
    return;
  }
  if (!arguments.program.empty())
    throw UsageError("--process and a program exclude each other: name what to profile once");
  for (const CLI::Option* const option : app.get_options())
    if (option->count() != 0 && !goes_with_process(option->get_name()))
      throw UsageError(
          fmt::format("{} is for programs that record starts, not for --process", option->get_name()));
}

/// With fewer descriptors threads and files would be left out without a word.
void require_descriptors() {
  constexpr std::size_t kLeast = 64;
  if (!KeptDescriptors(kLeast).are_there())
    throw UsageError(
        fmt::format("record needs {} file descriptors beside those that are open, and the limit is {}",
                    kLeast, descriptor_limit()));
}

}  // namespace

std::unique_ptr<CLI::App> record_app() {
  static RecordRequest request;
  return record_options(request);
}

int record_verb(const Words& words) {
  const Arguments arguments = split_arguments(words);
  RecordRequest request;
  const auto app = record_options(request);
  if (!parse_options(*app, arguments.options)) return 0;
  check_request(*app, request, arguments);
  const RaisedDescriptorLimit limit;
  require_descriptors();
  request.output = with_process_id(request.output);
  require_design(request.design);
  check_lock_options(request.lock);
  require_writable(request.output);
  std::optional<Program> program;
  if (request.process == 0) program = program_of(required_program(arguments, "record"));
  int exit_code = 0;
  std::optional<StopsKept> stops;  // until the profile is written
  if (!program) stops.emplace();
  or_discard(request.output, [&] {
    const ProfileFile file =
        program ? record_program(request, *program, exit_code) : record_process(request, *stops);
    write_output(request.output, profile_text(file));
    return 0;
  });
  tell("record",
       fmt::format("wrote {}; 'elision report{}' shows it", request.output,
                   request.output == kDefaultProfile ? "" : " " + quoted_for_shell({request.output})));
  return exit_code;
}

}  // namespace elision::cli
