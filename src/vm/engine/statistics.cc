// SPDX-License-Identifier: Apache-2.0
// What a process leaves behind in the statistics directory: one JSON file, claimed at its start
// (so that the numbers are in start order) and written once at its end, whole or not at all.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "base/printable.h"
#include "vm/engine/engine.h"
#include "vm/host/failure.h"
#include "vm/host/host_limits.h"
#include "vm/report/profile_report.h"

namespace elision::vm {
namespace {

using nlohmann::ordered_json;

constexpr const char* kAbortNames[] = {
    "none",  "explicit",  "conflict", "capacity", "instruction",
    "fault", "interrupt", "spurious", "nested",   "commit-in-always-abort"};
static_assert(std::size(kAbortNames) == static_cast<unsigned>(machine::AbortCause::kCount));

std::string file_name(const std::string& directory, int number) {
  char name[32];
  std::snprintf(name, sizeof name, "/%04d.json", number);
  return directory + name;
}

ordered_json counts_of(const machine::CpuCounts& c) {
  ordered_json aborts = ordered_json::object();
  for (unsigned cause = 1; cause < std::size(kAbortNames); ++cause)
    aborts[kAbortNames[cause]] = c.aborts[cause];
  return {{"begins", c.begins},
          {"commits", c.commits},
          {"always_abort_begins", c.always_abort_begins},
          {"false_conflicts", c.false_conflicts},
          {"aborts", aborts},
          {"cache",
           {{"loads_slow", c.loads_slow},
            {"stores_slow", c.stores_slow},
            {"atomics", c.atomics},
            {"l1_misses", c.l1_misses},
            {"l2_misses", c.l2_misses},
            {"l3_misses", c.l3_misses},
            {"cache_to_cache", c.cache_to_cache},
            {"upgrades", c.upgrades},
            {"invalidations_received", c.invalidations_received},
            {"l1i_misses", c.l1i_misses},
            {"fetch_stall_cycles", c.fetch_stall_cycles},
            {"tlb_misses", c.tlb_misses},
            {"page_walks", c.page_walks},
            {"prefetches", c.prefetches},
            {"store_buffer_stall_cycles", c.store_buffer_stall_cycles},
            {"reorder_buffer_stall_cycles", c.reorder_buffer_stall_cycles}}}};
}

void add(machine::CpuCounts& sum, const machine::CpuCounts& c) {
  static_assert(sizeof(machine::CpuCounts) % sizeof(std::uint64_t) == 0);
  auto* to = reinterpret_cast<std::uint64_t*>(&sum);
  const auto* from = reinterpret_cast<const std::uint64_t*>(&c);
  for (unsigned i = 0; i < sizeof sum / sizeof *to; ++i) to[i] += from[i];
}

/// Each form with the bytes of an instruction that has it.
ordered_json forms_json(const FormsMet& forms) {
  ordered_json out = ordered_json::object();
  for (const auto& [form, bytes] : forms) {
    std::string text;
    char digits[3];
    for (const std::uint8_t byte : bytes) std::snprintf(digits, sizeof digits, "%02x", byte), text += digits;
    out[form] = text;
  }
  return out;
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written < 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

/// 0, or the error.
int write_whole(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool whole = fd >= 0 && write_all(fd, text) && rename(temporary.c_str(), path.c_str()) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (whole) return 0;
  if (fd >= 0) unlink(temporary.c_str());
  return error;
}

}  // namespace

void Engine::claim_statistics() {
  if (options_.stats_directory.empty() || statistics_number_ >= 0) return;
  const LiftedLimits lifted;
  for (int number = 0; number < 100000; ++number) {
    const int fd = open(file_name(options_.stats_directory, number).c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd >= 0) {
      close(fd);
      statistics_number_ = number;
      statistics_file_ = file_name(options_.stats_directory, number);
      failure_context.statistics_file = statistics_file_.c_str();
    }
    return;
  }
}

ordered_json Engine::thread_statistics(const EngineThread& thread) const {
  std::uint64_t busy = thread.busy_cycles;
  std::uint64_t instructions = thread.instructions;
  if (thread.core != nullptr) {
    busy += thread.core->clock().value - thread.on_core_since.value;
    instructions += thread.core->instructions() - thread.instructions_at_start;
  }
  return {{"tid", thread.thread.tid},
          {"busy_cycles", busy},
          {"instructions", instructions},
          {"started_cycles", thread.started.value},
          {"last_cpu", thread.last_cpu}};
}

std::uint64_t Engine::instructions() const {
  std::uint64_t sum = 0;
  for (const Core* core : cores_) sum += core->instructions();
  return sum;
}

/// Prints the process's profile at once, so that lines of several processes do not mix.
ordered_json Engine::report_profile() {
  profile_->close();
  const ProfileReport report = profile_report(*profile_, program_, profile_start(instructions()));
  const std::string text = profile_table(report);
  (void)!write(profile_descriptor_ >= 0 ? profile_descriptor_ : STDERR_FILENO, text.data(), text.size());
  return profile_json(report);
}

void Engine::write_statistics(int exit_status, bool deadlocked) {
  if (in_vfork()) return;
  const LiftedLimits lifted;
  ordered_json profile;
  if (profile_ != nullptr) profile = report_profile();
  if (statistics_number_ < 0) return;
  machine::CpuCounts totals{};
  std::uint64_t instructions = 0, mispredictions = 0;
  Cycles last = engine_time_;
  ordered_json cpus = ordered_json::array();
  for (const Core* core : cores_) {
    const machine::CpuCounts& counts = model_->counts(core->id);
    add(totals, counts);
    instructions += core->instructions();
    mispredictions += core->branches.mispredictions;
    last = std::max(last, core->clock());
    if (core->instructions() == 0) continue;
    ordered_json cpu = counts_of(counts);
    cpu["cpu"] = core->id.value;
    cpu["instructions"] = core->instructions();
    cpus.push_back(cpu);
  }
  ordered_json threads = ordered_json::array();
  std::uint64_t busy = 0;
  const auto list = [&](const auto& group) {
    for (const auto& thread : group) {
      threads.push_back(thread_statistics(*thread));
      busy += threads.back()["busy_cycles"].template get<std::uint64_t>();
    }
  };
  list(ended_threads_);
  list(threads_);
  ordered_json out{{"version", 1},
                   {"program", program_},
                   {"exit", exit_status},
                   {"deadlocked", deadlocked},
                   {"machine", machine_name_},
                   {"cpus", cores_.size()},
                   {"seed", options_.seed},
                   {"variation", options_.variation},
                   {"virtual_cycles", last.value},
                   {"virtual_ns", nanoseconds_of(last)},
                   {"cpu_cycles", busy},
                   {"cpu_ns", nanoseconds_of(Cycles(busy))},
                   {"instructions", instructions},
                   {"branch_mispredictions", mispredictions}};
  out.update(counts_of(totals));
  out["ordered_events"] = ordering_.events();
  out["out_of_order"] = ordering_.out_of_order();
  out["waits_for_order"] = light_context.yields;
  out["waits_for_busy_lines"] = light_context.waits;
  out["code_cache_flushes"] = cache_.flushes();
  out["unsupported"] = {{"instructions", unsupported_instructions_},
                        {"system_calls", kernel_->refused_calls()}};
  out["threads"] = threads;
  out["per_cpu"] = cpus;
  if (profile_ != nullptr) out["profile"] = profile;
  if (guest_code_.forms() != nullptr) out["instruction_forms"] = forms_json(*guest_code_.forms());
  const std::string path = file_name(options_.stats_directory, statistics_number_);
  // The process is at its end and its exit code is the guest's: an error can only be told.
  if (const int error = write_whole(path, out.dump(1) + "\n"); error != 0)
    tell("elision vm: cannot write statistics to '" + printable(path) + "': " + std::strerror(error));
  statistics_number_ = -1;
  failure_context.statistics_file = "";
}

}  // namespace elision::vm
