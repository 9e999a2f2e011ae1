// SPDX-License-Identifier: Apache-2.0
// perf_event_open(2), and Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format} of Linux.
#include "cli/doctor/perf_facts.h"

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <string_view>

#include "cli/doctor/text_file.h"

namespace elision::cli::doctor {
namespace {

namespace fs = std::filesystem;

template <class Number>
bool parse_whole(std::string_view text, Number& number, int base = 10) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

bool has_capability(const std::string& status) {
  const std::string name = "CapEff:\t";
  const std::size_t start = status.find(name);
  std::uint64_t set = 0;
  if (start == std::string::npos) return false;
  const std::string_view rest = std::string_view(status).substr(start + name.size());
  if (!parse_whole(rest.substr(0, rest.find('\n')), set, 16)) return false;
  return (set >> CAP_PERFMON & 1) != 0 || (set >> CAP_SYS_ADMIN & 1) != 0;
}

bool speaks_of_transactions(const std::string& name) {
  return name.starts_with("tx-") || name == "cycles-t" || name == "cycles-ct";
}

/// File names and texts of a folder.
std::map<std::string, std::string> texts_in(const fs::path& folder) {
  std::map<std::string, std::string> texts;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (const auto text = read_text(entry.path())) texts[entry.path().filename()] = *text;
  }
  return texts;
}

/// Puts `value` into the bits of `format`: "config1:0-7". False if the format is invalid.
bool place(std::uint64_t value, const std::string& format, PerfEventCode& code) {
  constexpr std::string_view kWords[] = {"config", "config1", "config2"};
  const std::size_t colon = format.find(':');
  const auto word = std::find(std::begin(kWords), std::end(kWords), format.substr(0, colon));
  unsigned first = 0;
  if (colon == std::string::npos || word == std::end(kWords)) return false;
  const std::string bits = format.substr(colon + 1);
  if (!parse_whole(std::string_view(bits).substr(0, bits.find('-')), first) || first > 63) return false;
  code.config[word - std::begin(kWords)] |= value << first;
  return true;
}

std::vector<PerfFacts::Event> try_tsx_events(const PerfOpen& open, const fs::path& pmu) {
  std::vector<PerfFacts::Event> events;
  std::uint32_t type = 0;
  if (!parse_whole(read_text(pmu / "type").value_or(""), type)) return events;
  const auto formats = texts_in(pmu / "format");
  for (const auto& [name, text] : texts_in(pmu / "events")) {
    if (!speaks_of_transactions(name)) continue;
    std::optional<PerfEventCode> code = encode_event(text, formats);
    if (code) code->type = type;
    events.push_back({name, code ? open(*code) : EINVAL});
  }
  return events;
}

}  // namespace

int native_perf_open(const PerfEventCode& code) {
  perf_event_attr attributes = attributes_of(code);
  const long file = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (file < 0) return errno;
  close(static_cast<int>(file));
  return 0;
}

std::optional<PerfEventCode> encode_event(const std::string& text,
                                          const std::map<std::string, std::string>& formats) {
  PerfEventCode code;
  std::istringstream terms(text);
  for (std::string term; std::getline(terms, term, ',');) {
    const std::size_t equals = term.find('=');
    const auto format = formats.find(term.substr(0, equals));
    std::uint64_t value = 1;  // a name without a value is a flag
    if (equals != std::string::npos && !parse_whole(std::string_view(term).substr(equals + 1), value, 16))
      return std::nullopt;
    if (format == formats.end() || !place(value, format->second, code)) return std::nullopt;
  }
  return code;
}

std::optional<PerfEventCode> event_of_pmu(const fs::path& pmu, const std::string& name) {
  std::uint32_t type = 0;
  const auto text = read_text(pmu / "events" / name);
  if (!text || !parse_whole(read_text(pmu / "type").value_or(""), type)) return std::nullopt;
  std::optional<PerfEventCode> code = encode_event(*text, texts_in(pmu / "format"));
  if (code) code->type = type;
  return code;
}

PerfFacts read_perf(const PerfOpen& open, const fs::path& root) {
  PerfFacts facts;
  int paranoid = 0;
  if (parse_whole(read_text(root / "proc/sys/kernel/perf_event_paranoid").value_or(""), paranoid))
    facts.paranoid = paranoid;
  facts.capable = has_capability(read_text(root / "proc/self/status").value_or(""));
  facts.cycles_error = open({PERF_TYPE_HARDWARE, {PERF_COUNT_HW_CPU_CYCLES}});
  const fs::path devices = root / "sys/bus/event_source/devices";
  // Hybrid CPUs have two PMUs; that of the big cores has the events of transactions.
  for (const char* pmu : {"cpu", "cpu_core"}) {
    for (const auto& event : try_tsx_events(open, devices / pmu)) facts.tsx_events.push_back(event);
  }
  return facts;
}

}  // namespace elision::cli::doctor
