// SPDX-License-Identifier: Apache-2.0
// What call paths are called in the files of other tools, and how their numbers become whole. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/path_table.h"

namespace elision::profile {

/// Where a profile comes from, in words.
struct Origin {
  std::string file;        // of the program
  std::string command;     // the program with its arguments, as one line
  std::string conditions;  // "on this CPU under htm-10"
  std::string writer;      // "elision 0.1.0"
};

/// What a reader should know of the whole profile, a line each.
std::vector<std::string> remarks_of(const PathTable& table, const Origin& origin);

/// "worker (4711)", "thread 4711" without a name, and the name alone without a number.
std::string label_of(const Thread& thread);

/// The function, or else its address.
std::string label_of(const Place& frame);

/// The nearest integer, within 0 and 2^62.
std::int64_t whole(double value);

}  // namespace elision::profile
