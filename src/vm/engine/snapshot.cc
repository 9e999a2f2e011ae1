// SPDX-License-Identifier: Apache-2.0
// The engine's part of a snapshot (snapshot_server.h): when its process may be copied, and how a copy goes
// on.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/design_change.h"
#include "abi/lock_variables.h"
#include "profile/names.h"
#include "vm/engine/engine.h"
#include "vm/host/failure.h"
#include "vm/host/guest_memory.h"
#include "vm/host/host_limits.h"
#include "vm/host/reserved_descriptors.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kInstructionsBetweenTries = 10'000;
constexpr unsigned kMostTries = 1000;

constexpr const char* kDesignChange = "elision_design_change";

bool is_lock_variable(const std::string& entry) {
  return std::any_of(std::begin(abi::kLockVariables), std::end(abi::kLockVariables),
                     [&](const abi::LockVariableRow& row) {
                       const std::size_t length = std::strlen(row.name);
                       return entry.starts_with(row.name) && entry.size() > length && entry[length] == '=';
                     });
}

std::string value_of(const std::vector<std::string>& environment, abi::LockVariable variable) {
  const std::string begin = std::string(abi::row_of(variable).name) + "=";
  for (const std::string& entry : environment)
    if (entry.starts_with(begin)) return entry.substr(begin.size());
  return abi::row_of(variable).default_value;
}

/// The variables of the lock library, as abi::DesignChange has them.
std::string settings_of(const std::vector<std::string>& environment) {
  std::string settings;
  for (const std::string& entry : environment)
    if (is_lock_variable(entry)) settings.append(entry).push_back('\0');
  settings.push_back('\0');
  return settings;
}

/// All others, without what shells set anew.
std::vector<std::string> other_variables(std::vector<std::string> environment) {
  std::erase_if(environment, [](const std::string& entry) {
    return is_lock_variable(entry) || entry.starts_with("_=") || entry.starts_with("SHLVL=");
  });
  std::sort(environment.begin(), environment.end());
  return environment;
}

/// glibc's locks if the library does not know the name, as there.
abi::LockDesign design_of(const std::vector<std::string>& environment) {
  abi::LockDesign design;
  (void)abi::find_lock_design(value_of(environment, abi::LockVariable::kLock).c_str(), design);
  return design;
}

/// `run` with what a copy may have for its own as in `options`.
std::string common_part(HandOver run, const Options& options) {
  run.options.seed = options.seed;
  run.options.stats_directory = options.stats_directory;
  run.options.region = options.region;
  run.options.lock_times = options.lock_times;
  run.options.crash_reports = options.crash_reports;
  run.options.command = options.command;
  run.options.serves = options.serves;
  run.program.environment = other_variables(std::move(run.program.environment));
  run.program.descriptor = -1;
  run.origin = {};
  return encode_hand_over(run);
}

/// What the program has printed so far.
void copy_output(int from, int to) {
  const int readable = open(("/proc/self/fd/" + std::to_string(from)).c_str(), O_RDONLY | O_CLOEXEC);
  char buffer[65536];
  for (ssize_t got = 0; (got = read(readable, buffer, sizeof buffer)) > 0;)
    for (ssize_t done = 0, part = 0; done < got; done += part)
      if ((part = write(to, buffer + done, static_cast<std::size_t>(got - done))) <= 0) part = got - done;
  close(readable);
}

/// Replaces standard input, output and error.
void take_over(const int (&standard)[3]) {
  copy_output(STDOUT_FILENO, standard[1]);
  copy_output(STDERR_FILENO, standard[2]);
  for (int i = 0; i < 3; ++i) {
    dup2(standard[i], i);
    close(standard[i]);
  }
}

}  // namespace

/// From now on keeps what the program prints. Its copies print it.
void Engine::keep_output() {
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
    replaced_outputs_[standard - 1] = reserve_descriptor(fcntl(standard, F_DUPFD_CLOEXEC, 0));
    const int kept = memfd_create("output", MFD_CLOEXEC);
    if (kept < 0 || dup2(kept, standard) < 0) fail_check("no memory for the output", errno);
    close(kept);
  }
  for (int i = 0; i < 3; ++i) {
    struct stat status {};
    standard_at_start_[i].is_open = fstat(i, &status) == 0;
    standard_at_start_[i].device = status.st_dev;
    standard_at_start_[i].inode = status.st_ino;
  }
}

/// The process ends and has served nobody. Now it prints what was kept.
void Engine::end_serving() {
  if (snapshot_server_ == nullptr) return;
  snapshot_server_->forget_path();
  snapshot_server_.reset();
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
    copy_output(standard, replaced_outputs_[standard - 1]);
    dup2(replaced_outputs_[standard - 1], standard);
  }
}

/// Begins to serve, or to refuse, or tries again a little later.
void Engine::offer_snapshot() {
  if (const std::string why = why_no_snapshot(); !why.empty()) refuse_snapshots(why);
  if (const std::string why = why_no_snapshot_now(); !why.empty()) {
    if (++snapshot_tries_ == kMostTries) refuse_snapshots(why);
    return region_.postpone(kInstructionsBetweenTries);
  }
  const CopyRequest request =
      snapshot_server_->serve([&](const HandOver& run) { return why_not_this_run(run); });
  snapshot_server_.reset();
  become_copy(request);
}

/// The process goes no further, since nobody needs it. `why`: in words that follow "the program".
void Engine::refuse_snapshots(const std::string& why) {
  say_at_the_end("elision vm: no snapshot: the program " + why + "\n");
  snapshot_server_->serve([&](const HandOver&) { return "the program " + why; });
  fail_check("a copy where there are none", 0);
}

/// Why no copy of this process could run on by itself, in words that follow "the program". Only what no
/// system call shows: outside_effect() has refused those that reach beyond the process.
std::string Engine::why_no_snapshot() {
  if (std::string why = kernel_->why_not_copied(); !why.empty()) return why;
  for (int i = 0; i < 3; ++i) {
    struct stat now {};
    const bool is_open = fstat(i, &now) == 0;
    if (is_open != standard_at_start_[i].is_open || now.st_dev != standard_at_start_[i].device ||
        now.st_ino != standard_at_start_[i].inode)
      return "replaces its standard descriptors";
  }
  if (const abi::DesignChange* const library = design_change();
      library != nullptr && library->waited_in_glibc != 0)
    return "waits for a condition variable before it has a second thread";
  return "";
}

/// The same, for what is over a little later.
std::string Engine::why_no_snapshot_now() {
  const EngineThread& thread = *scheduler_.live().front();
  if (thread.cpu == nullptr) return "sleeps";
  if (is_lock_library(thread.cpu->state.rip)) return "is in the lock library";
  const abi::DesignChange* const library = design_change();
  if (library == nullptr) return options_.preload.empty() ? "" : "has not loaded the lock library";
  if (library->is_set_up == 0) return "has not set the lock library up";
  // glibc's locks stay what they are, even held ones.
  if (library->activity == nullptr || design_of(environment_at_start_).base == abi::LockBase::kPthread)
    return "";
  const abi::SeenActivity seen = abi::seen_activity(*library->activity);
  return seen.lock != 0 || seen.activity != abi::Activity::kIdle ? "holds or awaits a lock" : "";
}

/// Null: the program does not have the preload library, or not yet.
const abi::DesignChange* Engine::design_change() {
  if (library_of_design_ == nullptr) library_of_design_ = find_design_change();
  return library_of_design_;
}

const abi::DesignChange* Engine::find_design_change() const {
  const std::string map = kernel_->memory_map();
  const LiftedLimits lifted;
  for (const profile::Mapping& mapping : profile::mappings_of(map)) {
    if (!mapping.executable || !profile::is_lock_library(mapping)) continue;
    const auto address = profile::Names(map).address_of(mapping.begin, kDesignChange);
    if (!address) continue;
    const auto* const found = reinterpret_cast<const abi::DesignChange*>(*address);
    std::uint32_t version = 0;
    if (copy_guest_bytes(&version, &found->version, sizeof version) && version == abi::DesignChange::kVersion)
      return found;
  }
  return nullptr;
}

/// In words that follow "no snapshot: ".
std::string Engine::why_not_this_run(const HandOver& run) {
  const HandOver own{options_, {program_, kernel_->arguments(), environment_at_start_, -1}, {}};
  if (common_part(own, options_) != common_part(run, options_))
    return "its program, environment, machine or another option is not the run's";
  const RunRegion& region = run.options.region;
  if (!region.is_set()) return "the run has no part that begins behind it";
  for (const Trigger& trigger : {region.start, region.warm_from}) {
    if (trigger.kind == Trigger::Kind::kCode || trigger.kind == Trigger::Kind::kMarker)
      return "the run counts calls or markers, also those in front of it";
    const bool is_past =
        (trigger.kind == Trigger::Kind::kInstructions && trigger.value <= context_.instructions()) ||
        (trigger.kind == Trigger::Kind::kTime && trigger.value <= region_.now()) ||
        (trigger.kind == Trigger::Kind::kThread && trigger.value <= 1);
    if (is_past) return "the run's part begins before it";
  }
  if (design_change() == nullptr) return "";
  if (!abi::may_become(design_of(own.program.environment), design_of(run.program.environment)))
    return "the locks of its design are not those of the run's";
  if (settings_of(run.program.environment).size() > abi::DesignChange::kSettingsBytes)
    return "the settings of the lock library are too long";
  return "";
}

/// This process is a copy now.
void Engine::become_copy(const CopyRequest& request) {
  const Options& own = request.run.options;
  take_over(request.standard);
  options_.seed = own.seed;
  options_.stats_directory = own.stats_directory;
  options_.region = own.region;
  options_.lock_times = own.lock_times;
  options_.crash_reports = own.crash_reports;
  options_.command = own.command;
  options_.serves.clear();
  kernel_->become_copy(options_);
  random_ = Random(options_.seed);
  context_.model->seed(options_.seed);
  if (options_.lock_times) keep_account();
  context_.watches_part_markers = options_.region.uses_markers();
  code_.watch({}, 0);  // code is translated anew, for that and for the account
  for (const int replaced : replaced_outputs_) close_reserved_descriptor(replaced);
  close_reserved_descriptor(last_words_);
  last_words_ = reserve_descriptor(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  prepare_for_failure();
  statistics_.begin_anew();
  region_.begin_anew();
  change_design(request.run.program.environment);
}

/// Lets the thread call the library before it goes on with the program.
void Engine::change_design(const std::vector<std::string>& environment) {
  const abi::DesignChange* const library = design_change();
  if (library == nullptr) return;
  const std::string settings = settings_of(environment);
  Cpu& cpu = *scheduler_.live().front()->cpu;
  const auto at = reinterpret_cast<std::uint64_t>(&library->settings);
  check(copy_to_guest(at, settings.data(), settings.size()), "the lock library takes no settings");
  Scheduler::capture(cpu);
  check(kernel_->call(*cpu.thread, reinterpret_cast<std::uint64_t>(library->function)),
        "no stack for a change of the lock design");
  scheduler_.restore(cpu);
}

}  // namespace elision::vm
