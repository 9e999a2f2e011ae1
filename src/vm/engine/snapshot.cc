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

#include "abi/counters.h"
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

/// All others; without LD_PRELOAD, to which the kernel adds, and without what shells set anew.
std::vector<std::string> other_variables(std::vector<std::string> environment) {
  std::erase_if(environment, [](const std::string& entry) {
    return is_lock_variable(entry) || entry.starts_with("LD_PRELOAD=") || entry.starts_with("_=") ||
           entry.starts_with("SHLVL=");
  });
  std::sort(environment.begin(), environment.end());
  return environment;
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

bool begins_before(const Trigger& trigger, std::uint64_t instructions) {
  return trigger.kind == Trigger::Kind::kInstructions && trigger.value <= instructions;
}

/// What the program has written so far.
void copy_output(int from, int to) {
  struct stat status {};
  if (fstat(from, &status) != 0 || !S_ISREG(status.st_mode)) return;
  const int readable = open(("/proc/self/fd/" + std::to_string(from)).c_str(), O_RDONLY | O_CLOEXEC);
  char buffer[65536];
  for (ssize_t got = 0; (got = read(readable, buffer, sizeof buffer)) > 0;)
    if (write(to, buffer, static_cast<std::size_t>(got)) != got) break;
  close(readable);
}

/// Replaces standard input, output and error, where the program stands in them.
void take_over(const int (&standard)[3]) {
  if (const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR); at >= 0) lseek(standard[0], at, SEEK_SET);
  copy_output(STDOUT_FILENO, standard[1]);
  copy_output(STDERR_FILENO, standard[2]);
  for (int i = 0; i < 3; ++i) {
    dup2(standard[i], i);
    close(standard[i]);
  }
}

}  // namespace

/// What the program prints from now on is kept for the copies, which print it.
void Engine::keep_output() {
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
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

/// Begins to serve, or to refuse, or tries again a little later.
void Engine::offer_snapshot() {
  std::string why = why_no_snapshot();
  if (why.empty()) {
    why = why_no_snapshot_now();
    if (!why.empty() && ++snapshot_tries_ < kMostTries) return region_.postpone(kInstructionsBetweenTries);
  }
  const CopyRequest request = snapshot_server_->serve(
      [&](const HandOver& run) { return why.empty() ? why_not_this_run(run) : "the program " + why; });
  snapshot_server_.reset();
  become_copy(request);
}

/// As Kernel::why_not_copied().
std::string Engine::why_no_snapshot() {
  if (std::string why = kernel_->why_not_copied(); !why.empty()) return why;
  for (int i = 0; i < 3; ++i) {
    struct stat now {};
    const bool is_open = fstat(i, &now) == 0;
    if (is_open != standard_at_start_[i].is_open || now.st_dev != standard_at_start_[i].device ||
        now.st_ino != standard_at_start_[i].inode)
      return "replaces its standard descriptors";
  }
  const SharedRanges& shared = shared_memory_.ranges();
  const std::vector<profile::Mapping> mappings = profile::mappings_of(kernel_->memory_map());
  for (std::size_t i = 0; i < shared.count; ++i) {
    const profile::Mapping* const mapping = profile::mapping_at(mappings, shared.ranges[i].begin);
    if (mapping == nullptr || !mapping->name.ends_with(abi::kCountersExtension))
      return "maps memory that processes share";
  }
  if (const abi::DesignChange* const library = design_change();
      library != nullptr && library->waited_in_glibc != 0)
    return "waits for a condition variable before it has a second thread";
  return "";
}

/// The same, for what passes.
std::string Engine::why_no_snapshot_now() {
  const EngineThread& thread = *scheduler_.live().front();
  if (thread.cpu == nullptr) return "sleeps";
  if (is_lock_library(thread.cpu->state.rip)) return "is in the lock library";
  const abi::DesignChange* const library = design_change();
  if (library == nullptr) return "";
  if (!is_lock_library(reinterpret_cast<std::uint64_t>(library->function))) return "is being linked";
  if (library->set_up == abi::DesignChange::SetUp::kRunning) return "sets the lock library up";
  if (library->activity == nullptr || is_under_glibcs_locks()) return "";
  const abi::SeenActivity seen = abi::seen_activity(*library->activity);
  return seen.lock != 0 || seen.activity != abi::Activity::kIdle ? "holds or awaits a lock" : "";
}

/// Null: the program does not have the preload library.
const abi::DesignChange* Engine::design_change() {
  if (!library_of_design_) library_of_design_ = find_design_change();
  return *library_of_design_;
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

/// glibc's locks stay what they are, even held ones.
bool Engine::is_under_glibcs_locks() const {
  abi::LockDesign design;
  return abi::find_lock_design(value_of(kernel_->environment(), abi::LockVariable::kLock).c_str(), design) &&
         design.base == abi::LockBase::kPthread;
}

/// In words that follow "no snapshot: ".
std::string Engine::why_not_this_run(const HandOver& run) const {
  HandOver own{options_, {program_, kernel_->arguments(), kernel_->environment(), -1}, {}};
  if (common_part(own, options_) != common_part(run, options_)) return "it is of another program or machine";
  const RunRegion& region = run.options.region;
  const std::uint64_t here = context_.instructions();
  if (!region.is_set()) return "the run has no part that begins behind it";
  if (begins_before(region.start, here) || begins_before(region.warm_from, here))
    return "the run's part begins before it";
  abi::LockDesign from, to;
  if (!abi::find_lock_design(value_of(own.program.environment, abi::LockVariable::kLock).c_str(), from) ||
      !abi::find_lock_design(value_of(run.program.environment, abi::LockVariable::kLock).c_str(), to))
    return "";
  const bool has_library = !options_.preload.empty();
  if (has_library && !abi::may_become(from, to)) return "the locks of its design are not those of the run's";
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
  close_reserved_descriptor(last_words_);
  last_words_ = reserve_descriptor(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  prepare_for_failure();
  statistics_.begin_anew();
  region_.begin_anew();
  change_design(request.run.program.environment);
}

/// The thread first calls the library.
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
