// SPDX-License-Identifier: Apache-2.0
// What call paths are called in the files of other tools, and how their numbers become whole. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace elision::profile {

/// Where a profile comes from, in words.
struct Origin {
  std::string file;        // of the program
  std::string command;     // the program with its arguments, as one line
  std::string conditions;  // "on this CPU under htm-10"
  std::string writer;      // "elision 0.1.0"
};

/// What a reader should know of the whole profile, a line each.
std::vector<std::string> remarks_of(const Profile& profile, const Origin& origin);

inline const char* name_of(State state) { return kStateNames[static_cast<std::size_t>(state)]; }

/// "worker (4711)", or "thread 4711" without a name.
std::string label_of(const Thread& thread);

/// The function, or else its address.
std::string label_of(const Place& frame);

/// The name of the path's lock; empty: it is at none.
std::string lock_label(const Profile& profile, const Path& path);

/// "[waiting for queue_lock]": a frame for tools that show nothing but stacks. Empty outside of locks.
std::string state_label(const Profile& profile, const Path& path);

/// The frames of `path`, the outermost first; one of unknown name if it has none. They live as long as
/// `profile`.
std::vector<const Place*> stack_of(const Profile& profile, const Path& path);

/// Indices of paths: by thread, then by state, then most time first.
std::vector<std::size_t> order_by_thread(const Profile& profile);

/// The nearest integer, within 0 and 2^62.
std::int64_t whole(double value);

/// The time of all paths, in nanoseconds.
double paths_ns(const Profile& profile);

/// Thread time per sample, in nanoseconds; 0: not known.
double sampling_period_ns(const Profile& profile);

}  // namespace elision::profile
