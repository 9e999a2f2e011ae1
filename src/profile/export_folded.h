// SPDX-License-Identifier: Apache-2.0
// Call paths as flamegraph.pl and its relatives take them: a line for each stack. Pure.
#pragma once

#include <string>

#include "profile/export_labels.h"

namespace elision::profile {

/// "thread;outermost;...;innermost;[waiting for queue_lock] NUMBER", sorted, each stack once: whole
/// microseconds, cycles or aborts. Less than half of one is left out.
std::string folded_text(const PathTable& table);

/// `name` as part of a stack in one line: without the ";" between frames.
std::string folded_name(const std::string& name);

}  // namespace elision::profile
