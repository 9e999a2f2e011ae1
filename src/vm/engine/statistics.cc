// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/statistics.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "abi/counters.h"
#include "vm/cpu/helpers.h"
#include "vm/engine/counter_copies.h"
#include "vm/engine/whole_file_writer.h"
#include "vm/host/failure.h"
#include "vm/host/host_limits.h"
#include "vm/linux/kernel.h"

namespace elision::vm {
namespace {

using nlohmann::ordered_json;

constexpr const char* kAbortNames[] = {
    "none",  "explicit",  "conflict", "capacity", "instruction",
    "fault", "interrupt", "spurious", "nested",   "commit-in-always-abort"};
static_assert(std::size(kAbortNames) == static_cast<unsigned>(machine::HardwareAbort::kCount));

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
            {"page_faults", c.page_faults},
            {"prefetches", c.prefetches},
            {"store_buffer_stall_cycles", c.store_buffer_stall_cycles},
            {"reorder_buffer_stall_cycles", c.reorder_buffer_stall_cycles}}}};
}

/// Changes each count of `sum` by that of `c`.
template <class Change>
void change_each(machine::CpuCounts& sum, const machine::CpuCounts& c, Change change) {
  static_assert(sizeof(machine::CpuCounts) % sizeof(std::uint64_t) == 0);
  auto* to = reinterpret_cast<std::uint64_t*>(&sum);
  const auto* from = reinterpret_cast<const std::uint64_t*>(&c);
  for (unsigned i = 0; i < sizeof sum / sizeof *to; ++i) to[i] = change(to[i], from[i]);
}
void add(machine::CpuCounts& sum, const machine::CpuCounts& c) { change_each(sum, c, std::plus<>()); }
machine::CpuCounts operator-(machine::CpuCounts from, const machine::CpuCounts& c) {
  change_each(from, c, std::minus<>());
  return from;
}

/// Each instruction form with the bytes of an example.
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

ordered_json thread_statistics(const EngineThread& thread) {
  std::uint64_t busy = thread.busy_cycles;
  std::uint64_t instructions = thread.instructions;
  if (thread.cpu != nullptr) {
    busy += thread.cpu->clock().value - thread.on_cpu_since.value;
    instructions += thread.cpu->instructions() - thread.instructions_at_start;
  }
  return {{"tid", thread.thread.tid},
          {"busy_cycles", busy},
          {"instructions", instructions},
          {"started_cycles", thread.started.value},
          {"started_instructions", thread.started_instructions},
          {"last_cpu", thread.last_cpu}};
}

}  // namespace

void Statistics::announce_to_failure(bool own) const {
  failure_context.statistics_file = own ? file_.c_str() : "";
}

void Statistics::claim() {
  unsupported_instructions_.clear();
  claim_file();
}

void Statistics::begin_anew() {
  is_copy_ = true;
  part_ = 0;
  region_ = {};
  claim();
}

void Statistics::next_part() {
  ++part_;
  region_ = {};
  claim_file();
}

std::string Statistics::directory() const {
  if (options_.region.parts() == 1) return options_.stats_directory;
  return options_.stats_directory + "/" + std::to_string(part_ + 1);
}

void Statistics::claim_file() {
  file_.clear();
  if (options_.stats_directory.empty()) return;
  const LiftedLimits lifted;
  if (options_.region.parts() > 1) (void)mkdir(directory().c_str(), 0700);  // another process may have
  for (int number = 0; number < 100000; ++number) {
    const std::string name = file_name(directory(), number);
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd >= 0) {
      close(fd);
      file_ = name;
      announce_to_failure(true);
    }
    return;
  }
}

Statistics::Counted Statistics::counted() const {
  Counted now;
  Totals& totals = now.totals;
  totals.last = context_.idle_time;
  for (const Cpu* cpu : context_.cpus) {
    CpuTotals& own = now.cpus.emplace_back();
    own.counts = context_.model->counts(cpu->id);
    add(totals.modelled, own.counts);
    add(own.counts, cpu->logged);
    own.instructions = cpu->instructions();
    add(totals.counts, own.counts);
    totals.instructions += own.instructions;
    totals.mispredictions += cpu->branches.mispredictions;
    totals.last = std::max(totals.last, cpu->clock());
  }
  totals.ordered_events = context_.ordering.events();
  totals.out_of_order = context_.ordering.out_of_order();
  totals.waits_for_order = helper_context.yields;
  totals.waits_for_lines = helper_context.waits;
  totals.flushes = code_.flushes();
  return now;
}

ordered_json Statistics::threads() const {
  ordered_json rows = ordered_json::array();
  for (const Scheduler::Threads* group : {&scheduler_.ended(), &scheduler_.live()})
    for (const auto& thread : *group) rows.push_back(thread_statistics(*thread));
  return rows;
}

void Statistics::begin_region(Nanoseconds now) {
  region_.reached = true;
  region_.begin = now;
  region_.before = counted();
  copy_lock_counters(abi::kCountersAtBegin);
}

void Statistics::end_region() {
  region_.until = counted();
  region_.threads = threads();
  copy_counters_at_end();
}

/// A part's own directory has no other file of these counters.
void Statistics::copy_counters_at_end() const {
  copy_lock_counters(options_.region.parts() == 1 ? abi::kCountersAtEnd : "");
}

/// A run without a part needs no copies.
void Statistics::copy_lock_counters(const char* suffix) const {
  if (file_.empty() || !options_.region.is_set()) return;
  copy_counters(options_.stats_directory, static_cast<std::uint32_t>(context_.kernel->process_id()),
                directory(), suffix);
}

void Statistics::count_nothing() {
  region_.counts_nothing = true;
  region_.until = region_.before = counted();
  region_.threads = ordered_json::array();
}

machine::CpuCounts Statistics::modelled() const {
  const Counted until = region_.until ? *region_.until : counted();
  return until.totals.modelled - region_.before.totals.modelled;
}

ordered_json Statistics::cpu_rows(const Counted& until) const {
  ordered_json rows = ordered_json::array();
  for (std::size_t cpu = 0; cpu < until.cpus.size(); ++cpu) {
    const CpuTotals before = cpu < region_.before.cpus.size() ? region_.before.cpus[cpu] : CpuTotals();
    const CpuTotals& own = until.cpus[cpu];
    if (own.instructions == before.instructions) continue;
    ordered_json row = counts_of(own.counts - before.counts);
    row["cpu"] = cpu;
    row["instructions"] = own.instructions - before.instructions;
    rows.push_back(row);
  }
  return rows;
}

int Statistics::write(const std::string& program, std::optional<int> exit_status, bool deadlocked,
                      const ordered_json& profile, const ordered_json& lock_times,
                      const RegionCounts& counts) {
  const bool ended = region_.until.has_value();
  const Counted until = ended ? *region_.until : counted();
  if (!region_.reached) {
    region_.before = until;  // it has counted nothing
  } else if (!ended) {
    region_.threads = threads();
  }
  if (!region_.reached || region_.counts_nothing) copy_lock_counters(abi::kCountersAtBegin);
  if (!ended && options_.region.parts() > 1) copy_counters_at_end();
  const Totals& to = until.totals;
  const Totals& from = region_.before.totals;
  std::uint64_t busy = 0;
  for (const ordered_json& thread : region_.threads) busy += thread["busy_cycles"].get<std::uint64_t>();
  const Cycles time = to.last - from.last;
  ordered_json out{{"version", 1},
                   {"program", program},
                   {"exit", nullptr},
                   {"deadlocked", deadlocked},
                   {"machine", machine_name_},
                   {"cpus", context_.cpus.size()},
                   {"seed", options_.seed},
                   {"variation", options_.variation},
                   {"virtual_cycles", time.value},
                   {"virtual_ns", context_.nanoseconds_of(time)},
                   {"cpu_cycles", busy},
                   {"cpu_ns", context_.nanoseconds_of(Cycles(busy))},
                   {"instructions", to.instructions - from.instructions},
                   {"branch_mispredictions", to.mispredictions - from.mispredictions}};
  if (exit_status) out["exit"] = *exit_status;
  if (options_.fast) out["fast"] = true;
  if (is_copy_) out["from_snapshot"] = true;
  if (options_.region.is_set()) {
    out["region"] = {{"reached", region_.reached},
                     {"begin_ns", nullptr},
                     {"ended", ended},
                     {"end_instructions", to.instructions},
                     {"second_thread_instructions", nullptr}};
    if (region_.reached) out["region"]["begin_ns"] = region_.begin;
    if (counts.second_thread_at != 0) out["region"]["second_thread_instructions"] = counts.second_thread_at;
    if (!options_.region.counted.empty()) out["region"]["calls"] = region_.reached ? counts.calls : 0;
  }
  out.update(counts_of(to.counts - from.counts));
  out["ordered_events"] = to.ordered_events - from.ordered_events;
  out["out_of_order"] = to.out_of_order - from.out_of_order;
  out["waits_for_order"] = to.waits_for_order - from.waits_for_order;
  out["waits_for_busy_lines"] = to.waits_for_lines - from.waits_for_lines;
  out["code_cache_flushes"] = to.flushes - from.flushes;
  out["unsupported"] = {{"instructions", unsupported_instructions_},
                        {"system_calls", context_.kernel->refused_calls()}};
  out["threads"] = region_.threads;
  out["per_cpu"] = cpu_rows(until);
  if (!profile.is_null()) out["profile"] = profile;
  if (!lock_times.is_null()) out["lock_times"] = lock_times;
  if (code_.forms() != nullptr) out["instruction_forms"] = forms_json(*code_.forms());
  // A program's name may not be UTF-8. The failure handler knows the file until it is written, because it
  // removes an empty one.
  const std::string text = out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  const int error = write_whole(file_, text);
  file_.clear();
  announce_to_failure(false);
  return error;
}

}  // namespace elision::vm
