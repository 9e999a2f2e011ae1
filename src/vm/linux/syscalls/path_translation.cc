// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/path_translation.h"

#include <algorithm>
#include <cstdio>

#include "vm/host/host_limits.h"
#include "vm/linux/events/event_attributes.h"
#include "vm/linux/process/clocks.h"
#include "vm/linux/syscalls/cpu_lists.h"
#include "vm/linux/syscalls/event_source_files.h"
#include "vm/linux/syscalls/proc_files.h"

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

std::string list_text(const std::vector<unsigned>& cpus) { return cpu_list(cpus) + "\n"; }

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

std::string up_time(const Process& process) {
  const KernelThread& any = *process.threads.front();
  const double seconds =
      static_cast<double>(kUptimeStart + process.start_time + process.services.now(any.thread)) / 1e9;
  return format("%.2f %.2f\n", seconds, 0.0);
}

std::string load_average(const Process& process) {
  return format("0.00 0.00 0.00 1/%zu %d\n", process.threads.size(), process.ids.pid());
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
    {"/proc/sys/kernel/perf_event_max_sample_rate", most_samples},
    {"/proc/sys/kernel/perf_event_max_stack", most_stack_entries},
    {"/proc/sys/kernel/perf_event_paranoid", paranoid},
    {"/sys/devices/system/cpu/online", cpu_range},
    {"/sys/devices/system/cpu/possible", cpu_range},
    {"/sys/devices/system/cpu/present", cpu_range},
};

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
  const auto named = proc_path(process, path);
  if (!named) return path;
  if (links == Links::kFollow)
    if (auto program = executable_of(process, *named)) return *program;
  return on_host(*named);
}

std::optional<std::string> synthetic_file(const Process& process, const std::string& path) {
  if (!may_need_translation(path)) return std::nullopt;
  const LiftedLimits lifted;
  if (auto file = event_source_file(process, path)) return file;
  if (const auto named = proc_path(process, path)) return process_file(process, *named);
  if (auto topology = topology_file(process, path)) return topology;
  const auto* const file =
      std::find_if(std::begin(kFiles), std::end(kFiles), [&](const auto& f) { return path == f.path; });
  if (file == std::end(kFiles)) return std::nullopt;
  return file->make(process);
}

}  // namespace elision::vm
