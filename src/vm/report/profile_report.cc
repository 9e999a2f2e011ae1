// SPDX-License-Identifier: Apache-2.0
#include "vm/report/profile_report.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

namespace elision::vm {
namespace {

struct Kind {
  const char* name;
  WorkGroup group = WorkGroup::kEngine;
};

/// In the order of Work; then full exits, in the order of ExitReason.
constexpr Kind kKinds[] = {
    {"start"},
    {"translated code (by instruction)", WorkGroup::kTranslated},
    {"access: line on its way, noted", WorkGroup::kAccess},
    {"access: local hit", WorkGroup::kAccess},
    {"access: L1, and the model was asked", WorkGroup::kAccess},
    {"access: upgrade", WorkGroup::kAccess},
    {"access: L2", WorkGroup::kAccess},
    {"access: L3", WorkGroup::kAccess},
    {"access: memory", WorkGroup::kAccess},
    {"access: another core's cache", WorkGroup::kAccess},
    {"access: aborts its transaction", WorkGroup::kAccess},
    {"change of CPU: others are behind", WorkGroup::kOrder},
    {"change of CPU: line or CPU busy", WorkGroup::kOrder},
    {"change of CPU: budget", WorkGroup::kOrder},
    {"budget: goes on", WorkGroup::kOrder},
    {"instruction fetch", WorkGroup::kAccess},
    {"string step", WorkGroup::kAccess},
    {"translation"},
    {"kernel"},
    {"waits for the outside"},
    {"exit: link"},
    {"exit: indirect branch"},
    {"exit: system call"},
    {"exit: CPUID"},
    {"exit: clock"},
    {"exit: XGETBV"},
    {"exit: fence"},
    {"exit: transaction begin"},
    {"exit: always-abort begin"},
    {"exit: transaction end"},
    {"exit: XABORT"},
    {"exit: aborting instruction"},
    {"exit: random number"},
    {"exit: complex access"},
    {"exit: mark of a thread's activity"},
    {"exit: marker of a part of the run"},
    {"exit: watched instruction"},
    {"exit: undefined instruction"},
    {"exit: general protection"},
    {"exit: unsupported instruction"},
    {"exit: pending"},
    {"exit: resolve"},
    {"exit: interrupt"},
    {"exit: thread put on a CPU"},
    {"exit: host fault"},
    {"exit: nothing to execute"},
};
static_assert(std::size(kKinds) == kWorkKinds);

constexpr const char* kGroupNames[] = {"translated code", "accesses that left it", "order and changes of CPU",
                                       "the rest of the engine"};
static_assert(std::size(kGroupNames) == static_cast<unsigned>(WorkGroup::kCount));

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/// For short texts: cuts longer ones.
std::string line(const char* format, const auto&... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

EngineProfile::Start profile_start(std::uint64_t instructions) {
  const auto read = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
  };
  return {read(CLOCK_MONOTONIC), read(CLOCK_PROCESS_CPUTIME_ID), instructions};
}

ProfileReport profile_report(const EngineProfile& profile, std::string program,
                             const EngineProfile::Start& now) {
  const EngineProfile::Start& start = profile.start();
  const auto ticks = static_cast<double>(profile.ticks());
  const double ns_per_tick = ticks > 0 ? static_cast<double>(now.clock_ns - start.clock_ns) / ticks : 0;
  ProfileReport report{.program = std::move(program)};
  report.wall_ns = static_cast<double>(now.clock_ns - start.clock_ns);
  report.cpu_ns = static_cast<double>(now.cpu_ns - start.cpu_ns);
  for (unsigned work = 0; work < kWorkKinds; ++work) {
    const EngineProfile::Row& row = profile.row(work);
    const bool translated = work == static_cast<unsigned>(Work::kTranslated);
    const std::uint64_t count = translated ? now.instructions - start.instructions : row.count;
    if (count == 0 && row.ticks == 0) continue;
    const auto own = std::min(row.own, std::max(row.ticks, std::int64_t{0}));
    report.lines.push_back({kKinds[work].name, kKinds[work].group, count,
                            static_cast<double>(row.ticks - own) * ns_per_tick, row.events});
    report.ns += report.lines.back().ns;
    report.own_ns += static_cast<double>(own) * ns_per_tick;
  }
  std::stable_sort(report.lines.begin(), report.lines.end(),
                   [](const ProfileLine& a, const ProfileLine& b) { return a.ns > b.ns; });
  return report;
}

std::string profile_table(const ProfileReport& report) {
  std::string text = line(
      "elision vm: %.1f ms of the host's time for %s, and %.1f ms for this profile (CPU time: %.1f ms):\n",
      report.ns / 1e6, report.program.c_str(), report.own_ns / 1e6, report.cpu_ns / 1e6);
  text += line("  %-36s %12s %13s %8s %10s\n", "", "count", "time", "share", "each");
  double groups[static_cast<unsigned>(WorkGroup::kCount)] = {};
  for (const ProfileLine& one : report.lines) {
    groups[static_cast<unsigned>(one.group)] += one.ns;
    const double each = one.count == 0 ? 0 : one.ns / static_cast<double>(one.count);
    text += line("  %-36s %12llu %10.2f ms %6.1f %% %7.1f ns\n", one.name.c_str(),
                 static_cast<unsigned long long>(one.count), one.ns / 1e6, percent(one.ns, report.ns), each);
  }
  const char* separator = "  In all: ";
  for (unsigned group = 0; group < std::size(groups); ++group) {
    text += line("%s%s %.0f %%", separator, kGroupNames[group], percent(groups[group], report.ns));
    separator = ", ";
  }
  return text + ". The largest is where a faster virtual machine would gain most.\n";
}

nlohmann::ordered_json profile_json(const ProfileReport& report) {
  const auto whole = [](double ns) { return static_cast<std::uint64_t>(std::llround(std::max(ns, 0.0))); };
  nlohmann::ordered_json work = nlohmann::ordered_json::object();
  for (const ProfileLine& one : report.lines) {
    nlohmann::ordered_json& entry = work[one.name];
    entry = {{"count", one.count}, {"ns", whole(one.ns)}};
    const auto add = [&](const char* name, std::uint64_t count) {
      if (count != 0) entry[name] = count;
    };
    add("accesses", one.events.accesses);
    add("l1_misses", one.events.l1_misses);
    add("l2_misses", one.events.l2_misses);
    add("l3_misses", one.events.l3_misses);
    add("cache_to_cache", one.events.cache_to_cache);
    add("upgrades", one.events.upgrades);
  }
  return {{"ns", whole(report.ns)},
          {"own_ns", whole(report.own_ns)},
          {"wall_ns", whole(report.wall_ns)},
          {"cpu_ns", whole(report.cpu_ns)},
          {"work", work}};
}

}  // namespace elision::vm
