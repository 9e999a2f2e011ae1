// SPDX-License-Identifier: Apache-2.0
// What a profile says about lines of source: the time of call paths through each, by state, and the conflicts
// of its instructions. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace elision::profile {

/// A conflict as one of its two instructions has it. The pointers lead into the profile.
struct LineConflict {
  const Lock* lock = nullptr;
  const Conflict* conflict = nullptr;
  bool is_victim = false;  // else this instruction ended the other's attempts
};

struct SourceLine {
  StateTimes ns{};
  std::vector<LineConflict> conflicts{};  // most frequent first
};

/// A function with lines of source.
struct SourceFunction {
  std::string name{};
  std::string file{};
  StateTimes ns{};      // while it was on the stack
  StateTimes own_ns{};  // of this, what the functions that it called have no source for
  std::map<std::uint32_t, SourceLine> lines{};
};

/// All of them, first those that spend most time of their own at locks.
std::vector<SourceFunction> source_functions(const Profile& profile);

/// Whether it spends time of its own at locks or has conflicts.
bool concerns_locks(const SourceFunction& function);

/// Whether `name` may stand for the function: with or without namespaces, classes and "()".
bool is_called(const SourceFunction& function, const std::string& name);

/// "add" of "bank::Account<int>::add(int)".
std::string short_name(const SourceFunction& function);

/// Time in all states, and in those that have to do with locks.
double sum_ns(const StateTimes& times);
double at_locks_ns(StateTimes times);

/// "main.c" of "src/main.c".
std::string file_name(const std::string& path);

}  // namespace elision::profile
