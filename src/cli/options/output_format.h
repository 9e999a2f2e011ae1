// SPDX-License-Identifier: Apache-2.0
// --format: how a verb writes its result.
#pragma once

#include <CLI/CLI.hpp>

namespace elision::cli {

enum class OutputFormat { kTable, kJson, kCsv, kMarkdown };

/// The option; parsing throws UsageError for an unknown format. Without the option `format` stays unchanged.
CLI::Option* add_format(CLI::App& app, OutputFormat& format);

}  // namespace elision::cli
