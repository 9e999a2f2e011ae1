// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/path_translation.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "vm/host/host_limits.h"
#include "vm/linux/events/event_attributes.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/process/limits.h"
#include "vm/linux/syscalls/event_source_files.h"
#include "vm/linux/syscalls/vsyscall.h"

namespace elision::vm {
namespace {

using MakeFile = std::string (*)(const Process& process);

std::string format(const char* pattern, auto... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, pattern, values...);
  return buffer;
}

/// The existing CPUs for which `belongs` holds.
template <class Belongs>
std::vector<unsigned> cpus_where(const Process& process, Belongs belongs) {
  std::vector<unsigned> result;
  for (unsigned cpu = 0; cpu < process.services.cpu_count(); ++cpu)
    if (belongs(cpu)) result.push_back(cpu);
  return result;
}

std::vector<unsigned> cpus_of_socket(const Process& process, unsigned socket) {
  return cpus_where(process,
                    [&](unsigned cpu) { return process.identity.topology.socket_of(cpu) == socket; });
}

std::vector<unsigned> cpus_of_core(const Process& process, unsigned core) {
  return cpus_where(process, [&](unsigned cpu) { return process.identity.topology.core_of(cpu) == core; });
}

unsigned cores_in_use(const Process& process, unsigned socket) {
  unsigned count = 0;
  for (const unsigned cpu : cpus_of_socket(process, socket))
    count += process.identity.topology.thread_of(cpu) == 0;
  return count;
}

/// "0-3,8-11", as Linux writes lists of CPUs.
std::string list_text(const std::vector<unsigned>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text + "\n";
}

std::string cpu_information(const Process& process) {
  const MachineIdentity& machine = process.identity;
  std::string text;
  for (unsigned cpu = 0; cpu < process.services.cpu_count(); ++cpu) {
    const unsigned socket = machine.topology.socket_of(cpu);
    text += format("processor\t: %u\nvendor_id\t: GenuineIntel\ncpu family\t: %u\nmodel\t\t: %u\n", cpu,
                   machine.family, machine.model);
    text += "model name\t: " + machine.brand + "\n";
    text +=
        format("stepping\t: %u\ncpu MHz\t\t: %.3f\ncache size\t: %u KB\nphysical id\t: %u\nsiblings\t: %u\n",
               machine.stepping, machine.megahertz, machine.cache_kilobytes, socket,
               static_cast<unsigned>(cpus_of_socket(process, socket).size()));
    text += format("core id\t\t: %u\ncpu cores\t: %u\napicid\t\t: %u\nfpu\t\t: yes\nfpu_exception\t: yes\n",
                   machine.topology.core_in_socket(cpu), cores_in_use(process, socket),
                   machine.topology.apic_id(cpu));
    text += "cpuid level\t: 20\nwp\t\t: yes\nflags\t\t: " + machine.flags + "\n";
    text += format("bogomips\t: %.2f\nclflush size\t: 64\ncache_alignment\t: 64\n", 2 * machine.megahertz);
    text += "address sizes\t: 46 bits physical, 48 bits virtual\n\n";
  }
  return text;
}

/// /sys/devices/system/cpu/cpuN/topology/..., /sys/devices/system/node/...
std::optional<std::string> topology_file(const Process& process, const std::string& path) {
  const machine::Topology& topology = process.identity.topology;
  unsigned number = 0;
  char name[64] = {};
  if (std::sscanf(path.c_str(), "/sys/devices/system/cpu/cpu%u/topology/%63s", &number, name) == 2) {
    if (number >= process.services.cpu_count()) return std::nullopt;
    const std::string file = name;
    const unsigned socket = topology.socket_of(number);
    if (file == "core_id") return std::to_string(topology.core_in_socket(number)) + "\n";
    if (file == "physical_package_id") return std::to_string(socket) + "\n";
    if (file == "thread_siblings_list" || file == "core_cpus_list")
      return list_text(cpus_of_core(process, topology.core_of(number)));
    if (file == "core_siblings_list" || file == "package_cpus_list")
      return list_text(cpus_of_socket(process, socket));
  }
  constexpr const char* kNodes = "/sys/devices/system/node/";
  if (!path.starts_with(kNodes)) return std::nullopt;
  const std::string file = path.substr(std::string(kNodes).size());
  std::vector<unsigned> nodes;
  for (unsigned node = 0; node < topology.sockets; ++node) nodes.push_back(node);
  if (file == "online" || file == "possible" || file == "has_memory" || file == "has_normal_memory")
    return list_text(nodes);
  if (std::sscanf(file.c_str(), "node%u/%63s", &number, name) != 2 || number >= topology.sockets)
    return std::nullopt;
  if (name == std::string("cpulist")) return list_text(cpus_of_socket(process, number));
  if (name != std::string("distance")) return std::nullopt;
  std::string text;
  for (const unsigned node : nodes)
    text += (text.empty() ? "" : " ") + std::string(node == number ? "10" : "21");
  return text + "\n";
}

std::string cpu_range(const Process& process) {
  return list_text(cpus_where(process, [](unsigned) { return true; }));
}

std::string cpu_times(const Process& process) {
  std::string text = "cpu  0 0 0 0 0 0 0 0 0 0\n";
  for (unsigned cpu = 0; cpu < process.services.cpu_count(); ++cpu)
    text += format("cpu%u 0 0 0 0 0 0 0 0 0 0\n", cpu);
  return text + "intr 0\nctxt 0\nbtime 1767225600\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n";
}

std::string command_line(const Process& process) {
  std::string text;
  for (const std::string& argument : process.arguments) text += argument + '\0';
  return text;
}

std::string environment_block(const Process& process) {
  std::string text;
  for (const std::string& entry : process.environment) text += entry + '\0';
  return text;
}

std::string auxiliary_vector(const Process& process) {
  const auto& words = process.auxiliary_vector;
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]};
}

std::string memory_map(const Process& process) { return process.memory.describe() + kVsyscallMapping; }

/// Name of the first thread, or of the oldest that is left.
std::string short_name(const Process& process) { return process.threads.front()->name; }

std::string name_line(const Process& process) { return short_name(process) + "\n"; }

std::string host_file(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The host's line, with the guest's number and name in front and its threads counted.
std::string status_line(const Process& process) {
  const std::string host = host_file("/proc/self/stat");
  std::istringstream rest(host.substr(std::min(host.size(), host.rfind(')') + 2)));
  std::string text = format("%d (%s)", process.ids.pid(), short_name(process).c_str());
  std::string field;
  for (int number = 3; rest >> field; ++number) {
    if (number == 4) field = std::to_string(process.ids.parent());
    if (number == 5 || number == 6 || number == 8)
      field = std::to_string(process.ids.to_guest(std::atoi(field.c_str())));
    if (number == 20) field = std::to_string(process.threads.size());
    if (number >= 10 && number <= 17) field = "0";  // faults and times of the host's process
    if (number == 23) field = std::to_string(process.memory.regions().mapped_bytes());
    if (number == 24) field = std::to_string(process.memory.regions().mapped_bytes() / kPageBytes);
    if (number == 22 || number == 39 || number >= 42) field = "0";
    text += " " + field;
  }
  return text + "\n";
}

/// The virtual machine's memory, the same on every host, so that runs repeat.
std::string machine_memory(const Process&) {
  const unsigned long total_kb = kMachineMemoryBytes / 1024;
  const unsigned long free_kb = total_kb / 2;
  return format("MemTotal:       %lu kB\nMemFree:        %lu kB\nMemAvailable:   %lu kB\n", total_kb, free_kb,
                free_kb) +
         "Buffers:        0 kB\nCached:         0 kB\nSwapCached:     0 kB\nSwapTotal:      0 kB\nSwapFree:  "
         "     0 kB\n"
         "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n";
}

std::string memory_pages(const Process& process) {
  const unsigned long pages = process.memory.regions().mapped_bytes() / kPageBytes;
  return format("%lu %lu 0 0 0 %lu 0\n", pages, pages, pages);
}

/// A line of /proc/self/status about memory. Mapped memory counts as resident: the host's count includes the
/// engine and differs from run to run.
std::string memory_line(const Process& process, const std::string& name) {
  const bool whole =
      name == "VmPeak" || name == "VmSize" || name == "VmHWM" || name == "VmRSS" || name == "RssAnon";
  return format("%s:\t%8lu kB", name.c_str(),
                whole ? static_cast<unsigned long>(process.memory.regions().mapped_bytes() / 1024) : 0ul);
}

bool may_run_on(const Process& process, unsigned cpu) {
  return (process.threads.front()->thread.affinity[cpu / 64] >> (cpu % 64) & 1) != 0;
}

/// Without a newline, like allowed_mask().
std::string allowed_cpus(const Process& process) {
  std::string text = list_text(cpus_where(process, [&](unsigned cpu) { return may_run_on(process, cpu); }));
  text.pop_back();
  return text;
}

/// Groups of 32 bits, the highest first.
std::string allowed_mask(const Process& process) {
  std::string text;
  for (unsigned group = (process.services.cpu_count() + 31) / 32; group-- > 0;) {
    unsigned bits = 0;
    for (unsigned cpu = 32 * group; cpu < std::min(32 * (group + 1), process.services.cpu_count()); ++cpu)
      bits |= static_cast<unsigned>(may_run_on(process, cpu)) << (cpu % 32);
    text += (text.empty() ? "" : ",") + format("%08x", bits);
  }
  return text;
}

std::string up_time(const Process& process) {
  const KernelThread& any = *process.threads.front();
  const double seconds =
      static_cast<double>(kUptimeStart + process.start_time + process.services.now(any.thread)) / 1e9;
  return format("%.2f %.2f\n", seconds, 0.0);
}

std::string load_average(const Process& process) {
  return format("0.00 0.00 0.00 1/%zu %d\n", process.threads.size(), process.ids.pid());
}

std::string limits_text(const Process& process) { return describe_limits(process.limits); }

std::string status_text(const Process& process) {
  std::istringstream host(host_file("/proc/self/status"));
  std::string text, line;
  while (std::getline(host, line)) {
    const std::string name = line.substr(0, line.find(':'));
    if (name == "Name") line = "Name:\t" + short_name(process);
    if (name == "Tgid" || name == "Pid") line = name + ":\t" + std::to_string(process.ids.pid());
    if (name == "PPid") line = "PPid:\t" + std::to_string(process.ids.parent());
    if (name.starts_with("Vm") || name.starts_with("Rss")) line = memory_line(process, name);
    if (name.ends_with("ctxt_switches")) line = name + ":\t0";
    if (name == "Cpus_allowed_list") line = name + ":\t" + allowed_cpus(process);
    if (name == "Cpus_allowed") line = name + ":\t" + allowed_mask(process);
    if (name == "Threads") line = "Threads:\t" + std::to_string(process.threads.size());
    text += line + "\n";
  }
  return text;
}

std::string paranoid(const Process&) { return std::to_string(kParanoid) + "\n"; }
std::string most_samples(const Process&) { return std::to_string(kMostSamplesPerSecond) + "\n"; }
std::string most_stack_entries(const Process&) { return std::to_string(kMostStackEntries) + "\n"; }

constexpr struct {
  const char* path;
  MakeFile make;
} kFiles[] = {
    {"/proc/cpuinfo", cpu_information},
    {"/proc/loadavg", load_average},
    {"/proc/meminfo", machine_memory},
    {"/proc/stat", cpu_times},
    {"/proc/uptime", up_time},
    {"/proc/self/auxv", auxiliary_vector},
    {"/proc/self/cmdline", command_line},
    {"/proc/self/comm", name_line},
    {"/proc/self/environ", environment_block},
    {"/proc/self/limits", limits_text},
    {"/proc/self/maps", memory_map},
    {"/proc/self/stat", status_line},
    {"/proc/self/statm", memory_pages},
    {"/proc/self/status", status_text},
    {"/proc/sys/kernel/perf_event_max_sample_rate", most_samples},
    {"/proc/sys/kernel/perf_event_max_stack", most_stack_entries},
    {"/proc/sys/kernel/perf_event_paranoid", paranoid},
    {"/sys/devices/system/cpu/online", cpu_range},
    {"/sys/devices/system/cpu/possible", cpu_range},
    {"/sys/devices/system/cpu/present", cpu_range},
};

/// /proc/self/task/TID/comm.
std::optional<std::string> thread_name_file(const Process& process, const std::string& path) {
  int tid = 0, end = 0;
  if (std::sscanf(path.c_str(), "/proc/self/task/%d/comm%n", &tid, &end) != 1 ||
      end != static_cast<int>(path.size()))
    return std::nullopt;
  for (const auto& thread : process.threads)
    if (thread->thread.tid == tid) return thread->name + "\n";
  return std::nullopt;
}

constexpr char kSharedMemory[] = "/dev/shm/";

/// `path` with the host's number of the first process for its guest number, which is the same in every
/// virtual machine. Its descendants have the host's numbers as they are.
std::string shared_memory_name(const Process& process, const std::string& path) {
  static constexpr char kDigits[] = "0123456789";
  std::string result = path;
  const std::string number = std::to_string(kRootPid);
  const std::string host_number = std::to_string(process.ids.root_host_pid());
  for (std::size_t at = result.find_first_of(kDigits); at < result.size();) {
    const std::size_t end = std::min(result.find_first_not_of(kDigits, at), result.size());
    const bool is_process = result.compare(at, end - at, number) == 0;
    if (is_process) result.replace(at, number.size(), host_number);
    at = result.find_first_of(kDigits, is_process ? at + host_number.size() : end);
  }
  return result;
}

}  // namespace

bool may_need_translation(const std::string& path) {
  return path.starts_with("/proc/") || path.starts_with(kSharedMemory) || is_event_source(path) ||
         path.starts_with("/sys/devices/system/cpu/") || path.starts_with("/sys/devices/system/node/");
}

std::string translate_path(const Process& process, const std::string& path, Links links) {
  if (path.starts_with(kSharedMemory)) return shared_memory_name(process, path);
  // Files and folders of the host stand for them where a call only asks what kind they are.
  if (event_source_file(process, path)) return "/proc/self/comm";
  if (event_source_folder(process, path)) return "/proc/self/.";
  if (is_event_source(path)) return "/proc/self/none";
  if (!path.starts_with("/proc/")) return path;
  std::string result = path;
  const std::string own = "/proc/" + std::to_string(process.ids.pid());
  if (path == own) return "/proc/self/.";  // a folder; /proc/self is a link
  const std::string thread_self = "/proc/thread-self";
  for (const std::string& prefix : {own, thread_self})
    if (result.starts_with(prefix) && (result.size() == prefix.size() || result[prefix.size()] == '/'))
      result = "/proc/self" + result.substr(prefix.size());
  // The host has one thread. Its files stand for those of each guest thread.
  for (const auto& thread : process.threads) {
    const std::string task = "/proc/self/task/" + std::to_string(thread->thread.tid);
    if (result == task) result = "/proc/self/.";
    if (result.starts_with(task + "/") && !result.ends_with("/comm"))
      result = "/proc/self" + result.substr(task.size());
  }
  return result == "/proc/self/exe" && links == Links::kFollow ? process.executable : result;
}

std::optional<std::string> synthetic_file(const Process& process, const std::string& path) {
  if (!may_need_translation(path)) return std::nullopt;
  const LiftedLimits lifted;
  if (auto file = event_source_file(process, path)) return file;
  const std::string plain = translate_path(process, path);
  if (auto name = thread_name_file(process, plain)) return name;
  if (auto topology = topology_file(process, plain)) return topology;
  const auto* const file =
      std::find_if(std::begin(kFiles), std::end(kFiles), [&](const auto& f) { return plain == f.path; });
  if (file == std::end(kFiles)) return std::nullopt;
  return file->make(process);
}

}  // namespace elision::vm
