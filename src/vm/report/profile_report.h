// SPDX-License-Identifier: Apache-2.0
// A profile as people and programs read it. Pure but for the clocks.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "vm/cpu/profile.h"

namespace elision::vm {

/// What kinds of work have in common, for the sentence below the table.
enum class WorkGroup : std::uint8_t { kTranslated, kAccess, kOrder, kEngine, kCount };

struct ProfileLine {
  std::string name{};
  WorkGroup group = WorkGroup::kEngine;
  std::uint64_t count = 0;  // of the translated code: the guest's instructions
  double ns = 0;            // without the profile's own
  ModelEvents events{};
};

struct ProfileReport {
  std::string program;
  std::vector<ProfileLine> lines{};  // the longest time first
  double ns = 0;                     // all lines
  double own_ns = 0;                 // the profile's own, in no line
  double wall_ns = 0;                // from the start by the host's clock: what both should add up to
  double cpu_ns = 0;                 // CPU time: less than both while the process waited or others ran
};

/// The host's clocks, and the number given.
EngineProfile::Start profile_start(std::uint64_t instructions);

/// What `profile` found until it was last closed, which was just before `now`.
ProfileReport profile_report(const EngineProfile& profile, std::string program,
                             const EngineProfile::Start& now);

/// Lines of text, the last of which says what to make of the table.
std::string profile_table(const ProfileReport& report);

/// {"ns", "own_ns", "wall_ns", "cpu_ns", "work": {name: {"count", "ns", and what the model counted, where it
/// did}}}
nlohmann::ordered_json profile_json(const ProfileReport& report);

}  // namespace elision::vm
