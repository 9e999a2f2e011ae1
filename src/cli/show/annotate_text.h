// SPDX-License-Identifier: Apache-2.0
// Lines of source with what a profile says about each. Pure.
#pragma once

#include <string>
#include <vector>

#include "profile/source_lines.h"

namespace elision::cli::experiment {

/// The lines of a source file, or why there are none.
struct SourceText {
  std::vector<std::string> lines;
  std::string missing;  // one line; empty: there are lines
};

/// A heading with the time of the function, then its lines that have time or conflicts, each with its time in
/// every state that occurs, and two lines around them. Conflicts stand below their line.
std::string annotated_text(const profile::SourceFunction& function, const SourceText& source);

}  // namespace elision::cli::experiment
