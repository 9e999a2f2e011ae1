// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/program_runners.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>

#include "abi/lock_variables.h"
#include "abi/tm_variables.h"
#include "base/usable_cpus.h"
#include "cli/experiment/activity_sampler.h"
#include "cli/experiment/lock_counters.h"
#include "cli/experiment/lock_profile.h"
#include "cli/experiment/preview.h"
#include "cli/experiment/process_statistics.h"
#include "cli/experiment/snapshots.h"
#include "cli/host/console.h"
#include "cli/host/environment.h"
#include "cli/host/install.h"
#include "cli/host/temp_directory.h"
#include "cli/host/usage_error.h"
#include "cli/options/lock_options.h"
#include "cli/options/region_options.h"
#include "cli/options/tm_modes.h"
#include "vm/engine/run.h"

namespace elision::cli::experiment {
namespace {

constexpr std::string_view kThreads = "{threads}";

/// True without a part, too. A process that has had children says nothing if it does not reach it.
bool reached_its_part(const nlohmann::json& process) {
  const auto region = process.find("region");
  return region == process.end() || region->at("reached").get<bool>();
}

/// In nanoseconds; what ran in fast mode counts by its instructions.
double time_before_part(const nlohmann::json& process) {
  const nlohmann::json& region = process.at("region");
  return region.at("reached").get<bool>() ? region.at("begin_ns").get<double>() : 0;
}

const vm::RunRegion& window_of(const Plan& plan, const Cell& cell) {
  return plan.windows.at(cell.threads).at(cell.run);
}

/// Numbers of the cells in the order of their windows; of one cell, that one.
std::vector<std::size_t> by_beginning(const Plan& plan, const std::vector<Cell>& cells) {
  std::vector<std::size_t> order(cells.size());
  std::iota(order.begin(), order.end(), 0);
  if (cells.size() == 1) return order;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return window_of(plan, cells[a]).start.value < window_of(plan, cells[b]).start.value;
  });
  return order;
}

/// The options for the part of the run that is simulated.
std::vector<std::string> part_words(const Plan& plan, const std::vector<Cell>& cells) {
  if (cells.front().previews) {
    vm::RunRegion behind;
    behind.start = {vm::Trigger::Kind::kParallel, cells.front().look_length};
    behind.length = 1;
    behind.ends_process = true;
    return as_words(behind);
  }
  if (!plan.samples()) return plan.launch.vm_words;
  std::vector<vm::RunRegion> windows;
  for (const std::size_t i : by_beginning(plan, cells)) windows.push_back(window_of(plan, cells[i]));
  return as_words(together(windows));
}

/// The common part of the two runners: directories, counters, stopping.
class ProgramRunner : public Runner {
 public:
  ProgramRunner(const Plan& plan, const StopFlag& stop) : plan_(plan), launch_(plan.launch), stop_(stop) {}
  bool cancelled() const override { return stop_.raised(); }

  std::vector<Sample> run(const std::vector<Cell>& cells, double timeout_seconds) final {
    const Cell& cell = cells.front();
    const TempDirectory directory;
    const auto begin = std::chrono::steady_clock::now();
    ChildRequest request = prepare(cells, directory.path());
    const std::chrono::duration<double> prepared = std::chrono::steady_clock::now() - begin;
    if (!cell.design.empty()) set_variable(request.environment, counters_variable(), directory.path());
    if (cell.explains) set_variable(request.environment, abi::row_of(abi::LockVariable::kActivity).name, "1");
    request.program = plan_.program();
    request.directory = directory.path();
    request.timeout_seconds = timeout_seconds;
    std::optional<ActivitySampler> sampler;
    if (cell.explains && !plan_.model) sampler.emplace(directory.path(), cell.look_ms);
    Sample sample = run_child(request, stop_);
    if (sampler) sample.profile = sampler->finish();
    tell_of_left_process(sample.left_running);
    std::vector<Sample> samples = finish(cells, std::move(sample), directory.path());
    samples.front().wait_seconds = prepared.count();
    if (!cell.design.empty() && plan_.compares_locks())
      for (Sample& each : samples) require_counters(each, directory.path());
    return samples;
  }

 protected:
  virtual ChildRequest prepare(const std::vector<Cell>& cells, const std::filesystem::path& directory) = 0;
  /// The sample of each cell. `sample`: of the process.
  virtual std::vector<Sample> finish(const std::vector<Cell>& cells, Sample sample,
                                     const std::filesystem::path& directory) = 0;

  /// The counts of a run, or of its part that was counted.
  LockCounts counts_in(const Cell& cell, const std::filesystem::path& directory,
                       double ticks_per_second) const {
    if (plan_.compares_locks()) return lock_counts(read_counters(directory), ticks_per_second);
    LockCounts counts = tm_counts(directory);
    counts.locks_seen |= is_libitm(cell.design);  // which does not say whether it ran a transaction
    return counts;
  }

  const Plan& plan_;
  const Launch& launch_;

 private:
  const char* counters_variable() const {
    return plan_.compares_locks() ? abi::row_of(abi::LockVariable::kCountersDir).name
                                  : abi::row_of(abi::TmVariable::kCountersDir).name;
  }

  // It belongs to another user: the program started it with sudo or the like.
  void tell_of_left_process(pid_t process) const {
    if (process == 0) return;
    tell("",
         fmt::format("process {}, which {} started, cannot be ended and runs on: it belongs to another user",
                     process, plan_.program()));
  }

  // Without counters it is not known whether a program takes locks.
  void require_counters(Sample& sample, const std::filesystem::path& directory) {
    const std::string reason = why_not_counted(directory);
    if (reason.empty()) return;
    sample.locks.locks_seen = true;
    std::call_once(told_, [&] {
      tell("", fmt::format("the locks of {} are not counted, in {}: {}", launch_.program.file,
                           directory.parent_path().string(), reason));
    });
  }

  const StopFlag& stop_;
  std::once_flag told_;
};

class NativeRunner final : public ProgramRunner {
 public:
  using ProgramRunner::ProgramRunner;
  unsigned workers() const override { return 1; }

 private:
  ChildRequest prepare(const std::vector<Cell>& cells, const std::filesystem::path&) override {
    const Cell& cell = cells.front();
    ChildRequest request;
    request.file = launch_.program.file;
    request.words = with_threads(launch_.program.words, cell.threads);
    request.environment = copy_environment(environ);
    if (plan_.compares_locks()) {
      set_lock_variables(request.environment, cell.design, launch_.lock);
      preload_into(request.file, request.environment, preload_library());
    } else {
      set_tm_mode(request.environment, request.file, cell.design, launch_.tm_retry);
    }
    return request;
  }

  std::vector<Sample> finish(const std::vector<Cell>& cells, Sample sample,
                             const std::filesystem::path& directory) override {
    sample.locks = counts_in(cells.front(), directory, native_ticks_per_second(read_counters(directory)));
    return {std::move(sample)};
  }
};

class VirtualRunner final : public ProgramRunner {
 public:
  VirtualRunner(const Plan& plan, const StopFlag& stop) : ProgramRunner(plan, stop), snapshots_(plan, stop) {}
  unsigned workers() const override { return usable_cpus(); }

 private:
  ChildRequest prepare(const std::vector<Cell>& cells, const std::filesystem::path& directory) override {
    ChildRequest request;
    request.file = own_binary();
    request.environment = copy_environment(environ);
    request.words = command_of(plan_, cells);
    const auto after_verb = request.words.begin() + 2;
    request.words.insert(after_verb, {"--stats-directory", directory.string()});
    if (cells.front().explains) request.words.insert(request.words.begin() + 2, "--lock-times");
    if (auto snapshot = snapshots_.of(cells.front())) {
      request.words.insert(request.words.begin() + 2, {"--from-snapshot", snapshot->socket.string()});
      request.needs = std::move(snapshot->process);
    }
    return request;
  }

  /// Says, once, that the run executed the program's beginning itself.
  void look_for_snapshot(const std::filesystem::path& directory) {
    const std::string why = why_no_copy(directory);
    if (!why.empty() && snapshots_.give_up())
      tell("compare", fmt::format("every run executes the beginning of {}, since it cannot be shared: {}",
                                  plan_.program(), why));
  }

  std::vector<Sample> finish(const std::vector<Cell>& cells, Sample sample,
                             const std::filesystem::path& directory) override {
    look_for_snapshot(directory);
    const std::vector<Processes> parts = read_parts(directory, cells.size());
    sample.start_error = why_not_started(directory);
    if (is_incomplete(parts) && sample.outcome == Outcome::kEnded && sample.start_error.empty())
      throw UsageError(fmt::format("a run of '{}' ended without statistics; is there space in '{}'?",
                                   plan_.program(), directory.parent_path().string()));
    // Whatever window a process was in, it deadlocked, and took locks.
    for (const Processes& processes : parts)
      for (const nlohmann::json& process : processes) sample.deadlocked |= process.value("deadlocked", false);
    sample.locks = counts_in(cells.front(), directory, 0);
    sample.host_seconds /= static_cast<double>(cells.size());
    std::vector<Sample> samples(cells.size(), sample);
    const std::vector<std::size_t> order = by_beginning(plan_, cells);
    for (std::size_t part = 0; part < cells.size(); ++part)
      take_part(cells[order[part]], samples[order[part]], parts[part],
                directory_of_part(directory, part, cells.size()));
    return samples;
  }

  using Processes = std::vector<nlohmann::json>;

  static std::vector<Processes> read_parts(const std::filesystem::path& directory, std::size_t count) {
    std::vector<Processes> parts;
    for (std::size_t part = 0; part < count; ++part)
      parts.push_back(read_process_statistics(directory_of_part(directory, part, count)));
    return parts;
  }

  /// Behind a part that has ended, a process begins the next one, and leaves statistics of it.
  static bool is_incomplete(const std::vector<Processes>& parts) {
    for (const Processes& processes : parts) {
      if (processes.empty()) return true;
      if (parts.size() > 1 && std::none_of(processes.begin(), processes.end(), has_ended)) break;
    }
    return false;
  }

  static bool has_ended(const nlohmann::json& process) {
    return process.at("region").at("ended").get<bool>();
  }

  // A program with several processes has several clocks. Takes that of the process that worked most. The
  // others (a shell around it) mostly wait, and their waits are in host time.
  void take_part(const Cell& cell, Sample& sample, Processes processes,
                 const std::filesystem::path& directory) const {
    double ticks_per_second = 0, busiest_ns = -1;
    sample.seconds = sample.cpu_seconds = 0;
    for (const nlohmann::json& process : processes) {
      const double virtual_ns = process.value("virtual_ns", 0.0);
      const double cpu_ns = process.value("cpu_ns", 0.0);
      sample.cpu_seconds += 1e-9 * cpu_ns;
      sample.is_copy |= process.value("from_snapshot", false);
      if (cpu_ns <= busiest_ns) continue;
      busiest_ns = cpu_ns;
      sample.seconds = 1e-9 * virtual_ns;
      if (virtual_ns > 0) ticks_per_second = 1e9 * process.value("virtual_cycles", 0.0) / virtual_ns;
    }
    if (const nlohmann::json* const busiest = busiest_process(processes, "lock_times")) {
      sample.profile = profile_of_process(busiest->at("lock_times"), directory);
      if (plan_.starts_at_second_thread()) sample.profile->wall_ns += time_before_part(*busiest);
    }
    const bool locks_seen = sample.locks.locks_seen;
    sample.locks = counts_in(cell, directory, ticks_per_second);
    sample.locks.locks_seen = locks_seen;
    if (plan_.samples()) take_time_of_a_section(sample, processes);
    const bool as_intended = sample.outcome == Outcome::kEnded &&
                             (sample.status == 0 || sample.status == vm::kNotMeasuredExitCode);
    if (cell.previews && sample.status == vm::kNotMeasuredExitCode) sample.status = 0;
    if (as_intended && !plan_.samples() && !processes.empty() && !cell.previews &&
        std::none_of(processes.begin(), processes.end(), reached_its_part))
      sample.missed_part = why_part_was_missed(sample);
    if (launch_.keep_statistics || cell.previews) sample.processes = std::move(processes);
  }

  /// Sections end by a call that releases a lock. Under some designs the program executes fewer instructions
  /// than it did in the preview, and may end before its last window.
  static void take_time_of_a_section(Sample& sample, const std::vector<nlohmann::json>& processes) {
    std::uint64_t sections = 0, instructions = 0;
    for (const nlohmann::json& process : processes) {
      sections += process.at("region").at("calls").get<std::uint64_t>();
      instructions += process.at("instructions").get<std::uint64_t>();
    }
    const bool ended = std::any_of(processes.begin(), processes.end(), has_ended);
    if (sample.status == vm::kNotMeasuredExitCode) sample.status = 0;  // of this window or a later one
    sample.ends_in_window = !ended;
    sample.has_no_section = !ended || sections == 0;
    if (sample.has_no_section) return;
    sample.seconds /= static_cast<double>(sections);
    sample.sections_an_instruction = static_cast<double>(sections) / static_cast<double>(instructions);
  }

  /// The virtual machine's own words, if the process that started it did not run through its part.
  std::string why_part_was_missed(const Sample& sample) const {
    constexpr std::string_view kWords = "elision vm: ";
    const std::size_t at = sample.error_output.rfind(kWords);
    const bool begins_a_line = at != std::string::npos && (at == 0 || sample.error_output[at - 1] == '\n');
    if (sample.status == vm::kNotMeasuredExitCode && begins_a_line) {
      const std::size_t begin = at + kWords.size();
      return sample.error_output.substr(begin, sample.error_output.find('\n', begin) - begin);
    }
    return fmt::format("no process of '{}' reached the part to simulate ({})", plan_.program(),
                       fmt::join(launch_.vm_words, " "));
  }

  Snapshots snapshots_;
};

}  // namespace

std::vector<std::string> with_threads(const std::vector<std::string>& words,
                                      const std::optional<unsigned>& threads) {
  std::vector<std::string> replaced = words;
  if (!threads) return replaced;
  for (std::string& word : replaced) {
    for (std::size_t at = word.find(kThreads); at != std::string::npos; at = word.find(kThreads, at)) {
      word.replace(at, kThreads.size(), std::to_string(*threads));
    }
  }
  return replaced;
}

std::vector<std::string> command_of(const Plan& plan, const std::vector<Cell>& cells) {
  return command_with(plan, cells.front(), plan.model ? part_words(plan, cells) : std::vector<std::string>());
}

std::vector<std::string> command_with(const Plan& plan, const Cell& cell,
                                      const std::vector<std::string>& part) {
  std::vector<std::string> words = {plan.command, plan.model ? "vm" : "run"};
  const auto add = [&words](const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (plan.model)
    add({"--machine", plan.where, "--seed", std::to_string(cell.seed), "--variation",
         std::to_string(cell.variation)});
  add(part);
  if (!plan.compares_locks()) {
    add(as_words(cell.design, plan.launch.tm_retry));
  } else {
    if (!cell.design.empty()) add({"--lock", cell.design});
    add(as_words(plan.launch.lock));
  }
  add({"--"});
  add(with_threads(plan.launch.program.words, cell.threads));
  return words;
}

std::unique_ptr<Runner> native_runner(const Plan& plan, const StopFlag& stop) {
  return std::make_unique<NativeRunner>(plan, stop);
}

std::unique_ptr<Runner> virtual_runner(const Plan& plan, const StopFlag& stop) {
  return std::make_unique<VirtualRunner>(plan, stop);
}

}  // namespace elision::cli::experiment
