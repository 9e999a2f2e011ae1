// SPDX-License-Identifier: Apache-2.0
// How a benchmark program takes its words: bad input gets one line and exit code 2.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

namespace workloads {

/// Fills what the options of `app` are bound to; the exit code if the program shall end now.
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
