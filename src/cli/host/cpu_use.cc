// SPDX-License-Identifier: Apache-2.0
#include "cli/host/cpu_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/usable_cpus.h"
#include "base/whole_file.h"
#include "cli/host/parse.h"

namespace elision::cli {
namespace {

constexpr std::size_t kMostStatBytes = 4 << 20;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double own_seconds() {
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    seconds += seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
  return seconds;
}

std::optional<CpuTime> usable_cpu_time() {
  const auto text = read_whole_file("/proc/stat", kMostStatBytes);
  if (!text) return std::nullopt;
  const UsableCpus usable;
  return cpu_time(*text, static_cast<double>(sysconf(_SC_CLK_TCK)),
                  [&](unsigned cpu) { return usable.contains(cpu); });
}

/// The number of "cpu17". Nothing: another name, or that of all CPUs.
std::optional<unsigned> number_of_cpu(const std::string& name) {
  return name.starts_with("cpu") ? number_of<unsigned>(std::string_view(name).substr(3)) : std::nullopt;
}

}  // namespace

std::optional<CpuTime> cpu_time(const std::string& stat, double ticks,
                                const std::function<bool(unsigned)>& is_counted) {
  CpuTime sum;
  bool found = false;
  std::istringstream lines(stat);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupt = 0, soft_interrupt = 0, stolen = 0;
    words >> name >> user >> nice >> system >> idle >> wait >> interrupt >> soft_interrupt >> stolen;
    const std::optional<unsigned> cpu = number_of_cpu(name);
    if (!words || !cpu || !is_counted(*cpu)) continue;
    const double busy = user + nice + system + interrupt + soft_interrupt + stolen;
    sum.busy += busy / ticks;
    sum.all += (busy + idle + wait) / ticks;
    found = true;
  }
  return found ? std::optional(sum) : std::nullopt;
}

OtherWork other_work(const CpuTime& begin, const CpuTime& end, double own) {
  if (end.all <= begin.all) return {};
  const double seconds = std::clamp(end.busy - begin.busy - own, 0.0, end.all - begin.all);
  return {seconds / (end.all - begin.all), seconds};
}

OtherPrograms::OtherPrograms() : begin_(usable_cpu_time()), own_begin_(own_seconds()) {}

OtherWork OtherPrograms::until_now() const {
  const std::optional<CpuTime> end = usable_cpu_time();
  return begin_ && end ? other_work(*begin_, *end, own_seconds() - own_begin_) : OtherWork{};
}

}  // namespace elision::cli
