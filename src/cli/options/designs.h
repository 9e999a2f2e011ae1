// SPDX-License-Identifier: Apache-2.0
// Properties of lock designs (abi/lock_designs.h) by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace elision::cli {

/// The default designs of `elision compare` and `make demo`.
const std::vector<std::string>& default_designs();

/// The forms of design names, for help texts: "pthread, ..., htm-N, ... or pthread-aahtm".
std::string design_forms();

/// Those of them that `is_wanted` accepts: "htm-N and hle-scm".
std::string design_forms(bool (*is_wanted)(std::string_view design));

/// Names of designs, with 1 and 10 in place of N, for suggestions and completions.
std::vector<std::string> example_designs();

/// True if our library elides locks under the design.
bool elides(std::string_view design);

/// The transactions that an eliding design begins before a section takes the lock, by default.
unsigned tries_of(std::string_view design);

/// True if the design is elision by the C library itself.
bool is_elided_by_glibc(std::string_view design);

/// Why this C library does not support the design; empty: it does.
std::string missing_in_glibc(std::string_view design);

/// True if reader-writer locks stay the C library's under the design.
bool leaves_rwlocks(std::string_view design);

/// True if mutexes stay the C library's under the design.
bool leaves_mutexes(std::string_view design);

/// True if mutexes are FIFO.
bool is_fifo(std::string_view design);

/// True if waiting threads speculate in always-abort transactions.
bool speculates(std::string_view design);

/// True if they do so near the head of a FIFO queue, and not elsewhere.
bool speculates_by_distance(std::string_view design);

/// True if those that have speculated come first.
bool speculates_with_priority(std::string_view design);

/// True if our library begins several transactions before a section takes the lock.
bool retries(std::string_view design);

/// True if transactions that conflict queue for an auxiliary lock.
bool queues_conflicts(std::string_view design);

/// Throws UsageError, naming the nearest design, unless `name` is a design.
void require_design(std::string_view name);

/// Splits "a,b,c" and checks every name. Throws UsageError, also for an empty or repeated name.
std::vector<std::string> parse_designs(std::string_view list);

}  // namespace elision::cli
