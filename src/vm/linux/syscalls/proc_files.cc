// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/proc_files.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>

#include "vm/linux/memory/address_space.h"
#include "vm/linux/process/limits.h"
#include "vm/linux/process/shown_process.h"
#include "vm/linux/syscalls/cpu_lists.h"
#include "vm/linux/syscalls/vsyscall.h"

namespace elision::vm {
namespace {

/// A file being made: of `shown`, or of its thread `thread` if the path names one.
struct Request {
  const Process& process;  // that reads it
  const ShownProcess& shown;
  const ShownThread& thread;
  bool is_of_thread;
  std::string host_folder;  // of the shown process
  char host_state;

  int pid() const { return process.ids.to_guest(shown.host_pid); }
  int number() const { return is_of_thread ? thread.tid : pid(); }
};

std::string format(const char* pattern, auto... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, pattern, values...);
  return buffer;
}

std::string host_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string lines_with_zeros(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + '\0';
  return all;
}

std::string command_line(const Request& request) { return lines_with_zeros(request.shown.arguments); }
std::string environment_block(const Request& request) { return lines_with_zeros(request.shown.environment); }

std::string auxiliary_vector(const Request& request) {
  const auto& words = request.shown.auxiliary_vector;
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]};
}

std::string memory_map(const Request& request) {
  return describe_regions(request.shown.regions, request.host_folder + "/maps") + kVsyscallMapping;
}

std::string limits_text(const Request& request) { return describe_limits(request.shown.limits); }

std::string name_line(const Request& request) { return request.thread.name + "\n"; }

/// The host's letter if the whole process is stopped, or if the thread is the only one: it may wait in the
/// host.
char state_letter(const Request& request) {
  if (request.host_state == 'T' || request.host_state == 't') return request.host_state;
  if (request.thread.state == kSleeping) return kSleeping;
  return request.shown.threads.size() == 1 ? request.host_state : kRunning;
}

int parent_of(const Request& request, const std::string& host) {
  const bool is_own = request.shown.host_pid == request.process.ids.host_pid();
  if (request.pid() == kRootPid) return kRootPid - 1;
  return is_own ? request.process.ids.parent() : request.process.ids.to_guest(std::atoi(host.c_str()));
}

/// The host's line, with the guest's number and name in front and its threads counted.
std::string status_line(const Request& request) {
  const std::string host = host_file(request.host_folder + "/stat");
  std::istringstream rest(host.substr(std::min(host.size(), host.rfind(')') + 2)));
  const auto& ids = request.process.ids;
  std::string text = format("%d (%s)", request.number(), request.thread.name.c_str());
  std::string field;
  for (int number = 3; rest >> field; ++number) {
    if (number == 3) field = std::string(1, state_letter(request));
    if (number == 4) field = std::to_string(parent_of(request, field));
    if (number == 5 || number == 6 || number == 8)
      field = std::to_string(ids.to_guest(std::atoi(field.c_str())));
    if (number == 20) field = std::to_string(request.shown.threads.size());
    if (number >= 10 && number <= 17) field = "0";  // faults and times of the host's process
    if (number == 23) field = std::to_string(request.shown.regions.mapped_bytes());
    if (number == 24) field = std::to_string(request.shown.regions.mapped_bytes() / kPageBytes);
    if (number == 22 || number == 39 || number >= 42) field = "0";
    text += " " + field;
  }
  return text + "\n";
}

std::string memory_pages(const Request& request) {
  const unsigned long pages = request.shown.regions.mapped_bytes() / kPageBytes;
  return format("%lu %lu 0 0 0 %lu 0\n", pages, pages, pages);
}

/// A line of /proc/PID/status about memory. Mapped memory counts as resident: the host's count includes the
/// engine and differs from run to run.
std::string memory_line(const Request& request, const std::string& name) {
  const bool whole =
      name == "VmPeak" || name == "VmSize" || name == "VmHWM" || name == "VmRSS" || name == "RssAnon";
  return format("%s:\t%8lu kB", name.c_str(),
                whole ? static_cast<unsigned long>(request.shown.regions.mapped_bytes() / 1024) : 0ul);
}

bool may_run_on(const ShownThread& thread, unsigned cpu) {
  return (thread.affinity[cpu / 64] >> (cpu % 64) & 1) != 0;
}

/// Without a newline, like allowed_mask().
std::string allowed_cpus(const Request& request) {
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < request.process.services.cpu_count(); ++cpu)
    if (may_run_on(request.thread, cpu)) cpus.push_back(cpu);
  return cpu_list(cpus);
}

/// Groups of 32 bits, the highest first.
std::string allowed_mask(const Request& request) {
  const unsigned count = request.process.services.cpu_count();
  std::string text;
  for (unsigned group = (count + 31) / 32; group-- > 0;) {
    unsigned bits = 0;
    for (unsigned cpu = 32 * group; cpu < std::min(32 * (group + 1), count); ++cpu)
      bits |= static_cast<unsigned>(may_run_on(request.thread, cpu)) << (cpu % 32);
    text += (text.empty() ? "" : ",") + format("%08x", bits);
  }
  return text;
}

const char* state_text(char letter) {
  switch (letter) {
    case 'S':
      return "S (sleeping)";
    case 'D':
      return "D (disk sleep)";
    case 'T':
      return "T (stopped)";
    case 't':
      return "t (tracing stop)";
    default:
      return "R (running)";
  }
}

std::string status_text(const Request& request) {
  std::istringstream host(host_file(request.host_folder + "/status"));
  std::string text, line;
  while (std::getline(host, line)) {
    const std::string name = line.substr(0, line.find(':'));
    const auto is = [&](const char* wanted) { return name == wanted; };
    const auto set = [&](const std::string& value) { line = name + ":\t" + value; };
    if (is("Name")) set(request.thread.name);
    if (is("State")) set(state_text(state_letter(request)));
    if (is("Tgid") || is("NStgid")) set(std::to_string(request.pid()));
    if (is("Pid") || is("NSpid")) set(std::to_string(request.number()));
    if (is("PPid")) set(std::to_string(parent_of(request, line.substr(name.size() + 1))));
    if (name.starts_with("Vm") || name.starts_with("Rss")) line = memory_line(request, name);
    if (name.ends_with("ctxt_switches")) set("0");
    if (is("Cpus_allowed_list")) set(allowed_cpus(request));
    if (is("Cpus_allowed")) set(allowed_mask(request));
    if (is("Threads")) set(std::to_string(request.shown.threads.size()));
    text += line + "\n";
  }
  return text;
}

constexpr struct {
  const char* name;
  std::string (*make)(const Request& request);
} kFiles[] = {
    {"/auxv", auxiliary_vector},     {"/cmdline", command_line}, {"/comm", name_line},
    {"/environ", environment_block}, {"/limits", limits_text},   {"/maps", memory_map},
    {"/stat", status_line},          {"/statm", memory_pages},   {"/status", status_text},
};

/// Parses a number at the start of `text`, up to a '/' or the end, and removes it from `text`. Returns 0 and
/// removes nothing if `text` does not start with such a number.
int take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  const bool ends = digits == text.size() || text[digits] == '/';
  if (error != std::errc() || !ends || text.front() == '0') return 0;
  text.remove_prefix(digits);
  return number;
}

/// If `text` starts with `name`, followed by a '/' or the end, removes the name and returns true.
bool take_name(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name) || (text.size() > name.size() && text[name.size()] != '/')) return false;
  text.remove_prefix(name.size());
  return true;
}

bool has_thread(const Process& process, int tid) {
  return std::any_of(process.threads.begin(), process.threads.end(),
                     [&](const auto& each) { return each->thread.tid == tid; });
}

/// The process that /proc/NUMBER names. Linux takes a thread's number, too.
ProcPath named_by(const Process& process, int number) {
  const ProcessIds& ids = process.ids;
  if (number == ids.pid()) return {.is_own = true, .host_pid = ids.host_pid()};
  if (has_thread(process, number)) return {.is_own = true, .host_pid = ids.host_pid(), .tid = number};
  const bool is_process = number < kMostHostNumbers || number == kRootPid || number == kRootPid - 1;
  if (is_process) return {.host_pid = ids.to_host(number)};
  const int host_pid = host_process_of_thread(process, number);
  return {.host_pid = host_pid != 0 ? host_pid : number, .tid = host_pid != 0 ? number : 0};
}

/// Returns the state letter of a host process (proc(5)), or 0 if the process does not exist.
char host_state_of(const std::string& folder) {
  const std::string text = host_file(folder + "/stat");
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : '\0';
}

std::optional<ShownProcess> shown(const Process& process, const ProcPath& path) {
  return path.is_own ? shown_self(process) : shown_process(process, path.host_pid);
}

std::string folder_on_host(const ProcPath& path) {
  return path.is_own ? "/proc/self" : "/proc/" + std::to_string(path.host_pid);
}

}  // namespace

std::optional<ProcPath> proc_path(const Process& process, const std::string& path) {
  std::string_view rest = path;
  if (!rest.starts_with("/proc/")) return std::nullopt;
  rest.remove_prefix(std::string_view("/proc/").size());
  ProcPath result;
  if (take_name(rest, "self")) {
    result = {.is_own = true, .is_link = rest.empty(), .host_pid = process.ids.host_pid()};
  } else if (take_name(rest, "thread-self")) {
    result = {.is_own = true, .is_link = rest.empty(), .host_pid = process.ids.host_pid()};
    if (process.acting != nullptr && has_thread(process, process.acting->tid))
      result.tid = process.acting->tid;
  } else if (const int number = take_number(rest); number > 0) {
    result = named_by(process, number);
  } else {
    return std::nullopt;
  }
  std::string_view behind = rest;
  if (take_name(behind, "/task") && behind.starts_with('/')) {
    behind.remove_prefix(1);
    const int tid = take_number(behind);
    const auto other = result.is_own || tid == 0 ? std::nullopt : shown_process(process, result.host_pid);
    if (result.is_own ? has_thread(process, tid) : other && other->find(tid) != nullptr) {
      result.tid = tid;
      rest = behind;
    }
  }
  result.rest = rest;
  return result;
}

std::string on_host(const ProcPath& path) {
  const std::string folder = folder_on_host(path);
  return path.rest.empty() && !path.is_link ? folder + "/." : folder + path.rest;
}

std::optional<std::string> process_file(const Process& process, const ProcPath& path) {
  const auto* const file =
      std::find_if(std::begin(kFiles), std::end(kFiles), [&](const auto& f) { return path.rest == f.name; });
  if (file == std::end(kFiles)) return std::nullopt;
  const std::string folder = folder_on_host(path);
  const char host_state = host_state_of(folder);
  if (host_state == 'Z' || host_state == 'X') return std::nullopt;
  if (!path.is_own && !std::ifstream(folder + path.rest)) return std::nullopt;
  const auto shown_one = shown(process, path);
  if (!shown_one) return std::nullopt;
  const int wanted = path.tid != 0 ? path.tid : process.ids.to_guest(shown_one->host_pid);
  const ShownThread* const thread = shown_one->find(wanted);
  // The first thread may have ended: the oldest that is left stands for it.
  return file->make({process, *shown_one, thread != nullptr ? *thread : shown_one->threads.front(),
                     path.tid != 0, folder, host_state});
}

std::optional<std::string> executable_of(const Process& process, const ProcPath& path) {
  if (path.rest != "/exe") return std::nullopt;
  if (path.is_own) return process.executable;
  const auto other = shown_process(process, path.host_pid);
  return other ? std::optional(other->executable) : std::nullopt;
}

}  // namespace elision::vm
