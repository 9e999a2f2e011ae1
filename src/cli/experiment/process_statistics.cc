// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/process_statistics.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "base/whole_file.h"
#include "cli/host/json_text.h"
#include "vm/engine/run.h"

namespace elision::cli::experiment {
namespace {

using nlohmann::json;

const std::set<std::string> kNotCounts = {"seed",    "variation", "exit", "signal",
                                          "version", "pid",       "cpus", "tid"};
const std::set<std::string> kClocks = {"virtual_ns", "virtual_cycles"};

void add(json& total, const json& part) {
  for (const auto& [name, value] : part.items()) {
    if (kNotCounts.count(name) != 0) continue;
    if (value.is_object()) {
      add(total[name].is_null() ? total[name] = json::object() : total[name], value);
    } else if (value.is_number_unsigned() || value.is_number_integer()) {
      const std::uint64_t before = total.value(name, std::uint64_t{0});
      const std::uint64_t more = value.get<std::uint64_t>();
      total[name] = kClocks.count(name) != 0 ? std::max(before, more) : before + more;
    }
  }
}

/// Empty: there is no such file. `unreadable`: it tells nothing.
std::string note_in(const std::filesystem::path& file, const char* unreadable) {
  constexpr std::size_t kMostBytes = 1 << 16;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return "";
  const Result<std::string> note = read_whole_file(file, kMostBytes);
  return note && !note->empty() ? *note : unreadable;
}

}  // namespace

const json* busiest_process(const std::vector<json>& processes, const char* member) {
  const json* busiest = nullptr;
  for (const json& process : processes)
    if (process.contains(member) &&
        (busiest == nullptr || process.value("cpu_ns", 0.0) > busiest->value("cpu_ns", 0.0)))
      busiest = &process;
  return busiest;
}

std::vector<json> read_process_statistics(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code error;  // the program may have removed the directory
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".json") files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  std::vector<json> processes;
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file);
    json part = parse_json(std::string(std::istreambuf_iterator(stream), {}));
    if (part.is_object()) processes.push_back(std::move(part));
  }
  return processes;
}

std::filesystem::path directory_of_part(const std::filesystem::path& directory, std::size_t part,
                                        std::size_t parts) {
  return parts == 1 ? directory : directory / std::to_string(part + 1);
}

std::string why_not_started(const std::filesystem::path& directory) {
  return note_in(directory / vm::kNotStartedFile, "the program could not be started");
}

std::string why_no_copy(const std::filesystem::path& directory) {
  return note_in(directory / vm::kNoCopyFile, "its process has ended");
}

json total_statistics(const std::vector<json>& processes) {
  json total = json::object();
  for (const json& process : processes) add(total, process);
  return total;
}

}  // namespace elision::cli::experiment
