// SPDX-License-Identifier: Apache-2.0
// Files and their meaning: Documentation/admin-guide/hw-vuln/tsx_async_abort.rst and
// Documentation/admin-guide/kernel-parameters.txt of Linux.
#include "cli/doctor/kernel_facts.h"

#include <algorithm>
#include <sstream>

#include "cli/doctor/text_file.h"

namespace elision::cli::doctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVulnerabilities = "sys/devices/system/cpu/vulnerabilities";
constexpr const char* kTaa = "tsx_async_abort";
// The revision that a guest reads if the hypervisor hides it.
constexpr const char* kNoMicrocode = "0xffffffff";

/// Reads the kernel command line. The last of equal parameters counts; words after "--" are for init.
void read_command_line(const std::string& line, KernelFacts& facts) {
  const struct {
    std::string prefix;
    std::optional<std::string>& value;
  } parameters[] = {
      {"tsx=", facts.tsx}, {"tsx_async_abort=", facts.tsx_async_abort}, {"mitigations=", facts.mitigations}};
  std::istringstream words(line);
  for (std::string word; words >> word && word != "--";) {
    for (const auto& parameter : parameters) {
      if (word.starts_with(parameter.prefix)) parameter.value = word.substr(parameter.prefix.size());
    }
  }
}

std::string after_colon(const std::string& line) {
  const std::size_t colon = line.find(':');
  const std::size_t start = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
  return start == std::string::npos ? "" : line.substr(start);
}

/// Reads the first CPU's lines.
void read_cpuinfo(const std::string& text, KernelFacts& facts) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    const std::string value = after_colon(line);
    if (line.starts_with("microcode") && value != kNoMicrocode && !value.empty()) facts.microcode = value;
    if (line.starts_with("flags")) facts.rtm_flag = (" " + value + " ").find(" rtm ") != std::string::npos;
  }
}

void read_vulnerabilities(const fs::path& folder, KernelFacts& facts) {
  facts.taa = read_text(folder / kTaa);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    const std::optional<std::string> text = read_text(entry.path());
    if (name != kTaa && text && text->find("TSX") != std::string::npos) facts.others.push_back({name, *text});
  }
  std::sort(facts.others.begin(), facts.others.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

std::optional<std::string> read_built_in_tsx(const fs::path& root, const std::string& release) {
  if (release.empty()) return std::nullopt;
  for (const fs::path& file :
       {root / "boot" / ("config-" + release), root / "lib/modules" / release / "config"}) {
    const std::optional<std::string> text = read_text(file);
    if (!text) continue;
    for (const char* mode : {"OFF", "ON", "AUTO"}) {
      if (text->find(std::string("CONFIG_X86_INTEL_TSX_MODE_") + mode + "=y") == std::string::npos) continue;
      std::string lower = mode;
      std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c | 0x20; });
      return lower;
    }
  }
  return std::nullopt;
}

}  // namespace

KernelFacts read_kernel(const fs::path& root) {
  KernelFacts facts;
  facts.release = read_text(root / "proc/sys/kernel/osrelease").value_or("");
  if (const auto line = read_text(root / "proc/cmdline")) {
    facts.command_line_known = true;
    read_command_line(*line, facts);
  }
  if (const auto text = read_text(root / "proc/cpuinfo")) read_cpuinfo(*text, facts);
  read_vulnerabilities(root / kVulnerabilities, facts);
  facts.built_in_tsx = read_built_in_tsx(root, facts.release);
  if (const auto text = read_text(root / "sys/bus/event_source/devices/cpu/allow_tsx_force_abort"))
    facts.perf_may_abort_all = *text != "0" && *text != "N";
  facts.system_vendor = read_text(root / "sys/class/dmi/id/sys_vendor").value_or("");
  return facts;
}

}  // namespace elision::cli::doctor
