// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/attached_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "abi/counters.h"
#include "cli/experiment/proc_file.h"
#include "cli/host/usage_error.h"
#include "profile/names.h"

namespace elision::cli::experiment {
namespace {

template <class T>
std::optional<T> value_at(int memory, std::uint64_t address) {
  T value{};
  if (pread(memory, &value, sizeof value, static_cast<off_t>(address)) != sizeof value) return std::nullopt;
  return value;
}

}  // namespace

AttachedProcess::AttachedProcess(std::uint32_t id) : id_(id) {
  const std::string file = fmt::format("/proc/{}/mem", id);
  memory_ = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (memory_ < 0)
    throw UsageError(errno == ENOENT ? fmt::format("no process has the id {}", id)
                                     : fmt::format("cannot read process {}: {}", id, std::strerror(errno)));
  try {
    find_counters();
  } catch (...) {
    close(memory_);
    throw;
  }
}

AttachedProcess::~AttachedProcess() { close(memory_); }

void AttachedProcess::find_counters() {
  const std::string map = proc_text(id_, "maps");
  const std::vector<profile::Mapping> mappings = profile::mappings_of(map);
  const auto library = std::find_if(mappings.begin(), mappings.end(), [](const profile::Mapping& mapping) {
    return mapping.is_file() && mapping.short_name().starts_with("libelision.so");
  });
  if (library == mappings.end())
    throw UsageError(
        fmt::format("process {} does not have the lock library; start it with 'elision run'", id_));
  const std::optional<std::uint64_t> variable =
      profile::Names(map).address_of(library->begin, "elision_counters");
  const auto place = variable ? value_at<std::uint64_t>(memory_, *variable) : std::nullopt;
  const auto header = place ? value_at<abi::CountersHeader>(memory_, *place) : std::nullopt;
  if (!header || header->magic != abi::kCountersMagic || header->version != abi::kCountersVersion)
    throw UsageError(fmt::format("process {} has another version of the lock library", id_));
  if (header->keeps_activity == 0)
    throw UsageError(
        fmt::format("process {} has the program's own locks, and the library does not note what threads do "
                    "at them; start it "
                    "with ELISION_ACTIVITY=1",
                    id_));
  counters_ = *place;
}

std::vector<std::string> AttachedProcess::command() const {
  std::vector<std::string> words;
  const std::string text = proc_text(id_, "cmdline");
  for (std::size_t at = 0; at < text.size();) {
    words.emplace_back(text.c_str() + at);
    at += words.back().size() + 1;
  }
  if (words.empty()) words.push_back(std::to_string(id_));
  return words;
}

std::string AttachedProcess::design() const {
  const auto header = value_at<abi::CountersHeader>(memory_, counters_);
  return header ? std::string(header->design, strnlen(header->design, sizeof header->design)) : "";
}

bool AttachedProcess::has_ended() const {
  const std::string text = proc_text(id_, "stat");
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= text.size() || text[name_end + 2] == 'Z';
}

}  // namespace elision::cli::experiment
