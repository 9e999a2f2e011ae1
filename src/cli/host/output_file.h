// SPDX-License-Identifier: Apache-2.0
// The files that options such as --json and --stats name. A regular file appears whole or not at all. Other
// files (a device, a FIFO, a descriptor of ours) are written in place. Links are followed.
#pragma once

#include <string>
#include <string_view>

#include "cli/host/usage_error.h"

namespace elision::cli {

/// The name of standard output in every option that names an output.
inline constexpr const char* kStandardOutput = "-";

/// Throws UsageError unless `path` can be written: it is writable, or its directory is, and it is not a
/// directory. Called before a long run. Changes nothing.
void require_writable(const std::string& path);

/// As require_writable. Refuses also a device, a FIFO and a socket, unless it is standard output or another
/// descriptor of ours.
void require_regular(const std::string& path);

/// Throws UsageError unless files can be created in the directory `path`.
void require_directory(const std::string& path);

/// Whether `path` is standard output, by any name.
bool is_standard_output(const std::string& path);

/// Whether `path` leads to a terminal, by any name.
bool is_terminal(const std::string& path);

/// Whether write_output() replaces the file as a whole, so that a reader or a kill never meets a part of it.
bool is_replaced_whole(const std::string& path);

/// Writes `content` to `path`. A regular file is written under a temporary name beside it, which then
/// replaces it with the same mode and owner. If that is impossible (it has hard links, or the directory or
/// the owner cannot be changed), it is written in place. Throws UsageError on failure. Then nothing is left
/// behind, except for a part that was written in place.
void write_output(const std::string& path, std::string_view content);

/// Discards the output of an earlier command in the regular file at `path`, if it is writable. Other files
/// stay. An empty `path` names nothing.
void discard_output(const std::string& path);

/// Returns the result of `work`. If it throws UsageError, an old output at `path` is discarded, so that it
/// cannot be taken for the result.
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
