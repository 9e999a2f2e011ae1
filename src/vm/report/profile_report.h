// SPDX-License-Identifier: Apache-2.0
// A profile as text and as JSON. Pure except for reading clocks.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "vm/cpu/profile.h"

namespace elision::vm {

/// Groups of kinds of work, for the sentence below the table.
enum class WorkGroup : std::uint8_t { kTranslated, kAccess, kOrder, kEngine, kCount };

struct ProfileLine {
  std::string name{};
  WorkGroup group = WorkGroup::kEngine;
  std::uint64_t count = 0;  // translated code: guest instructions
  double ns = 0;            // without the profile's own time
  ModelEvents events{};
};

struct ProfileReport {
  std::string program;
  std::vector<ProfileLine> lines{};  // the longest time first
  double ns = 0;                     // all lines
  double own_ns = 0;                 // the profile's own time, in no line
  double wall_ns = 0;                // host time from the start: the sum of both should equal it
  double cpu_ns = 0;                 // CPU time: less than both if the process waited or others ran
};

/// Start of a profile: the host's clocks now, and the given number.
EngineProfile::Start profile_start(std::uint64_t instructions);

/// The measurements of `profile` until it was last closed, which was just before `now`.
ProfileReport profile_report(const EngineProfile& profile, std::string program,
                             const EngineProfile::Start& now);

/// A table, and a last line that says what to conclude from it.
std::string profile_table(const ProfileReport& report);

/// {"ns", "own_ns", "wall_ns", "cpu_ns", "work": {name: {"count", "ns", and the model's counts if it has
/// some}}}
nlohmann::ordered_json profile_json(const ProfileReport& report);

}  // namespace elision::vm
