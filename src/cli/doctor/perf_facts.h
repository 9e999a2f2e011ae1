// SPDX-License-Identifier: Apache-2.0
// Whether this process may count hardware events, and which of them concern transactions. The root of the
// files and the function that opens events are parameters, so that tests can imitate machines with a PMU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>

#include "cli/doctor/facts.h"
#include "cli/host/perf_event.h"

namespace elision::cli::doctor {

/// Opens an event of this process's user code and closes it again: 0 or the errno.
using PerfOpen = std::function<int(const PerfEventCode& code)>;

int native_perf_open(const PerfEventCode& code);

PerfFacts read_perf(const PerfOpen& open, const std::filesystem::path& root = "/");

/// Returns the kernel's encoding of the event `name` of the PMU in folder `pmu`, or nothing if it has no such
/// event.
std::optional<PerfEventCode> event_of_pmu(const std::filesystem::path& pmu, const std::string& name);

/// "event=0x3c,in_tx=1" as numbers. `formats` says where each name's bits go ("config:0-7", "config:32");
/// nothing if the text does not follow them.
std::optional<PerfEventCode> encode_event(const std::string& text,
                                          const std::map<std::string, std::string>& formats);

}  // namespace elision::cli::doctor
