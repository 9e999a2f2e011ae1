// SPDX-License-Identifier: Apache-2.0
// Parsing of a benchmark program's command line: bad input gets one line and exit code 2.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

namespace workloads {

/// Parses the options of `app`. Returns an exit code if the program must end now.
inline std::optional<int> parse_words(CLI::App& app, const char* program, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 2;
  }
  return std::nullopt;
}

}  // namespace workloads
