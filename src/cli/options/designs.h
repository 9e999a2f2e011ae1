// SPDX-License-Identifier: Apache-2.0
// What the command line must know of the lock designs (abi/lock_designs.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace elision::cli {

/// The designs that `elision compare` and `make demo` take by default.
const std::vector<std::string>& default_designs();

/// The forms of a design's name, for people: "pthread, ..., htm-N, ... or pthread-aahtm".
std::string design_forms();

/// True if the design begins transactions that are meant to commit, by our library.
bool elides(std::string_view design);

/// True if the design is elision by the C library itself.
bool is_elided_by_glibc(std::string_view design);

/// Why the design cannot be had with this C library; empty: it can.
std::string missing_in_glibc(std::string_view design);

/// True if reader-writer locks stay the C library's under this design.
bool leaves_rwlocks(std::string_view design);

/// True if the C library's functions answer for mutexes.
bool leaves_mutexes(std::string_view design);

/// True if mutexes are handed over in the order in which threads came.
bool is_fifo(std::string_view design);

/// True if the design waits by always-abort speculation.
bool speculates(std::string_view design);

/// Throws UsageError with the nearest name unless `name` is a design.
void require_design(std::string_view name);

/// Splits "a,b,c" and checks every name; throws UsageError, also for an empty or repeated name.
std::vector<std::string> parse_designs(std::string_view list);

}  // namespace elision::cli
