// SPDX-License-Identifier: Apache-2.0
// The engine's messages: crashes of the guest, deadlocks, unsupported instructions, profiles. Also finds the
// guest's place for the report of an engine failure.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "profile/call_paths.h"
#include "profile/profile_json.h"
#include "vm/decode/disassembly.h"
#include "vm/engine/engine.h"
#include "vm/engine/host_faults.h"
#include "vm/host/failure.h"
#include "vm/host/host_limits.h"
#include "vm/host/host_signals.h"
#include "vm/report/crash_report.h"
#include "vm/report/profile_report.h"
#include "vm/report/symbols.h"

namespace elision::vm {
namespace {

constexpr int kDeadlockExitCode = 124;

void locate_guest(GuestPlace& place) {
  if (the_engine != nullptr) the_engine->locate(place);
}

/// A number that changes as the running CPU makes progress: its clock and its last exit.
std::uint64_t guest_progress() {
  GuestPlace place;
  locate_guest(place);
  return place.cycle ^ place.pc << 32;
}

/// Standard error at the start. The program may since have closed it and opened another file as descriptor 2.
struct stat stderr_at_start;

bool stderr_is_the_same() {
  struct stat now;
  return fstat(STDERR_FILENO, &now) == 0 && now.st_dev == stderr_at_start.st_dev &&
         now.st_ino == stderr_at_start.st_ino;
}

/// Appends with one write(), so that reports of several processes do not mix.
void write_report(const std::string& where, const std::string& text) {
  if (where == "stderr") {
    if (stderr_is_the_same()) (void)!write(STDERR_FILENO, text.data(), text.size());
    return;
  }
  const int file = open(where.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
  if (file < 0) return;
  (void)!write(file, text.data(), text.size());
  close(file);
}

}  // namespace

void Engine::prepare_for_failure() {
  failure_context.command = options_.command.c_str();
  failure_context.program = program_.c_str();
  failure_context.locate = locate_guest;
  install_terminate_handler();
  watch_progress(guest_progress);
  (void)fstat(STDERR_FILENO, &stderr_at_start);
}

void Engine::locate(GuestPlace& place) const {
  const Cpu* cpu = context_.ordering.running();
  if (cpu == nullptr || cpu->thread == nullptr) return;
  place.known = true;
  place.tid = cpu->thread->tid;
  place.pc = cpu->exit != nullptr && cpu->exit->pc != 0 ? cpu->exit->pc : cpu->state.rip;
  place.last_translated = code_.last_translated();
  place.cycle = cpu->clock().value;
  place.cpu = cpu->id.value;
}

ThreadPlace Engine::place_of(const Thread& thread) const {
  return {thread.tid, kernel_->thread_name(thread), &thread.state, kernel_->waits_for(thread)};
}

void Engine::report_crash(Thread& thread, const siginfo_t& info, const std::string& note) {
  if (options_.crash_reports == "none") return;
  const LiftedLimits lifted;
  die_if_faulting(info.si_signo);
  Symbols symbols(kernel_->memory_map());
  Crash crash;
  crash.info = info;
  crash.thread = place_of(thread);
  crash.program = program_;
  const Cpu* cpu = Scheduler::of(thread).cpu;
  crash.cycle = (cpu != nullptr ? cpu->clock() : context_.idle_time).value;
  crash.cpu = cpu_of(thread);
  crash.command = options_.command;
  crash.note = note;
  write_report(options_.crash_reports, crash_report(crash, symbols));
  die_if_faulting(0);  // a vfork child's memory is its parent's
}

void Engine::end_by_deadlock() {
  write_statistics(kDeadlockExitCode, true);
  if (options_.crash_reports != "none") {
    Symbols symbols(kernel_->memory_map());
    std::vector<ThreadPlace> places;
    for (const auto& thread : scheduler_.live()) places.push_back(place_of(thread->thread));
    write_report(options_.crash_reports, deadlock_report(places, program_, options_.command, symbols));
  }
  if (options_.crash_reports != "stderr") tell(kDeadlock);
  _exit(kDeadlockExitCode);
}

void Engine::tell(const std::string& line) { write_report("stderr", line + "\n"); }

void Engine::say_at_the_end(const std::string& text) const {
  (void)!write(last_words_ >= 0 ? last_words_ : STDERR_FILENO, text.data(), text.size());
}

/// Without its region a run has not measured what it was asked for.
int Engine::final_exit_code(int exit_code) {
  const std::string why = region_.why_incomplete();
  if (why.empty()) return exit_code;
  say_at_the_end("elision vm: " + why + "\n");
  return exit_code != 0 ? exit_code : kNotMeasuredExitCode;
}

/// `why`: what is wrong with the event that is awaited.
void Engine::refuse_region(const std::string& why) {
  const LiftedLimits lifted;
  const char* const option = region_.has_started() ? "--stop" : "--start";
  say_at_the_end("elision vm: " + std::string(option) + ": " + why + "\n");
  write_statistics(kNotMeasuredExitCode, false);
  _exit(kNotMeasuredExitCode);
}

/// The process ends as if it called _exit(0).
void Engine::end_with_region() {
  const LiftedLimits lifted;
  write_statistics(0, false);
  _exit(0);
}

/// Prints the process's profile with one write(), so that lines of several processes do not mix.
nlohmann::ordered_json Engine::report_profile() {
  profile_->close();
  const ProfileReport report = profile_report(*profile_, program_, profile_start(context_.instructions()));
  say_at_the_end(profile_table(report));
  return profile_json(report);
}

/// Tells the account the calls that led to each call site where threads waited.
void Engine::settle_callers() {
  constexpr std::size_t kInLibrary = 8, kCallers = 4;
  if (waits_begun_.empty()) return;
  Symbols symbols(kernel_->memory_map());
  for (const WaitBegun& wait : waits_begun_) {
    const std::vector<Frame> frames = symbols.backtrace(wait.stack, kInLibrary + kCallers);
    const auto site =
        std::find_if(frames.begin(), frames.end(), [&](const Frame& frame) { return frame.pc == wait.site; });
    if (site == frames.end()) continue;
    std::vector<std::uint64_t> chain;
    for (auto caller = site + 1; caller != frames.end() && chain.size() < kCallers; ++caller)
      chain.push_back(caller->pc);
    if (!chain.empty()) account_->callers(wait.lock, wait.site, chain);
  }
  waits_begun_.clear();
}

/// Adds the calls of threads at their locks.
void Engine::add_paths(profile::Profile& profile, double ns_per_cycle) const {
  constexpr std::size_t kMostCalls = 128;
  Symbols symbols(kernel_->memory_map());
  profile::CallPaths paths;
  for (const PathSample& sample : path_samples_)
    paths.add(sample.due.state, sample.due.lock, static_cast<std::uint32_t>(sample.tid),
              symbols.places_outside_library(symbols.backtrace(sample.stack, kMostCalls)),
              ns_per_cycle * static_cast<double>(sample.due.time));
  paths.add_to(profile);
  for (profile::Thread& thread : profile.threads) thread.name = thread_names_.at(static_cast<int>(thread.id));
}

/// The account of this process until now, with the memory map that names its addresses.
nlohmann::ordered_json Engine::lock_times() {
  if (account_is_open_) close_account();
  settle_callers();
  const double ns_per_cycle = static_cast<double>(context_.nanoseconds_of(Cycles(1'000'000))) / 1e6;
  profile::Profile profile = account_->profile(closed_at_.value, ns_per_cycle, cpu_count());
  add_paths(profile, ns_per_cycle);
  const machine::CpuCounts counts = statistics_.modelled();
  const auto aborts = [&counts](machine::HardwareAbort cause) {
    return static_cast<double>(counts.aborts[static_cast<unsigned>(cause)]);
  };
  profile.interrupted = aborts(machine::HardwareAbort::kInterrupt);
  profile.faulted = aborts(machine::HardwareAbort::kFault);
  nlohmann::ordered_json out = profile::profile_json(profile);
  out["process"] = kernel_->process_id();
  out["memory_map"] = kernel_->memory_map();
  return out;
}

void Engine::write_statistics(int exit_status, bool deadlocked) {
  if (scheduler_.in_vfork()) return;
  end_serving();
  const LiftedLimits lifted;
  nlohmann::ordered_json profile;
  if (profile_ != nullptr) profile = report_profile();
  write_statistics(exit_status, deadlocked, profile);
}

/// No exit status: of a part, behind which the process runs on.
void Engine::write_statistics(std::optional<int> exit_status, bool deadlocked,
                              const nlohmann::ordered_json& profile) {
  const LiftedLimits lifted;
  const std::string path = statistics_.file();
  if (path.empty()) return;
  // The exit code is the guest's, so an error only gets a message.
  if (const int error = statistics_.write(program_, exit_status, deadlocked, profile,
                                          account_ != nullptr ? lock_times() : nullptr,
                                          {region_.counted(), region_.second_thread_at()});
      error != 0)
    tell("elision vm: cannot write statistics to '" + printable(path) + "': " + std::strerror(error));
}

/// Counts every unsupported instruction, and prints a message for the first of its kind.
void Engine::tell_unsupported(std::uint64_t pc) {
  const std::string kind = instruction_kind(pc);
  if (!statistics_.count_unsupported(kind)) return;
  const Symbols symbols(kernel_->memory_map());
  tell("elision vm: instruction " + kind + " (" + instruction_bytes(pc) + ") at " +
       symbols.describe({pc, false}) + " is not supported");
}

}  // namespace elision::vm
