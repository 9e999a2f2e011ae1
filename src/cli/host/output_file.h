// SPDX-License-Identifier: Apache-2.0
// The files that options such as --json and --stats name. A regular file appears whole or not at all; what is
// no regular file (a device, a FIFO, a descriptor of ours) is written in place, and links are followed.
#pragma once

#include <string>
#include <string_view>

#include "cli/host/usage_error.h"

namespace elision::cli {

/// The name of standard output in every option that names an output.
inline constexpr const char* kStandardOutput = "-";

/// Throws UsageError unless a file could be written at `path` later: it can be written, or its directory
/// exists and can be, and it is no directory itself. Asked before a long run, not after. Changes nothing.
void require_writable(const std::string& path);

/// Throws UsageError unless files can be made in the directory `path`.
void require_directory(const std::string& path);

/// Whether `path` is standard output, by whatever name.
bool is_standard_output(const std::string& path);

/// Writes `content` to `path`. A regular file is written under a temporary name beside it, which then takes
/// its place, its mode and its owner; where that cannot be (it has other names too, or there is no right to
/// write the directory or to give the file away), it is written in place. Throws UsageError if it fails, and
/// leaves nothing behind but what part a device or a file written in place has taken.
void write_output(const std::string& path, std::string_view content);

/// Takes away what an earlier command left in the regular file at `path`, as far as that can be written; the
/// rest stays. An empty `path` names nothing.
void discard_output(const std::string& path);

/// What `work` returns. If it throws UsageError, nothing will be written to `path`: what lies there from
/// before must not pass for the result, and is discarded.
template <typename Work>
auto or_discard(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const UsageError&) {
    discard_output(path);
    throw;
  }
}

}  // namespace elision::cli
