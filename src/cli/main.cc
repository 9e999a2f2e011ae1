// SPDX-License-Identifier: Apache-2.0
// The `elision` command: finds the verb, runs it, and reports an error once, as one line.
#include <exception>

#include "cli/host/console.h"
#include "cli/host/usage_error.h"
#include "cli/options/suggest.h"
#include "cli/verbs.h"

namespace {

using elision::cli::kUsageExitCode;

int dispatch(const elision::cli::Words& words) {
  if (words.empty()) {
    elision::cli::help_verb({});
    return kUsageExitCode;
  }
  const std::string& name = words.front();
  if (name == "--version") {
    elision::cli::print("elision " ELISION_VERSION "\n");
    return 0;
  }
  if (name == "--help" || name == "-h") return elision::cli::help_verb({});
  if (name.starts_with('-')) throw elision::cli::unknown_name("option", name, {"--help", "--version"});
  return elision::cli::find_verb(name).function({words.begin() + 1, words.end()});
}

int report(const elision::cli::Words& words, const char* what) {
  const bool named = !words.empty() && words.front().rfind('-', 0) != 0;
  elision::cli::tell(named ? words.front() : "", what);
  return kUsageExitCode;
}

}  // namespace

int main(int argc, char** argv) {
  elision::cli::hold_standard_descriptors();
  const elision::cli::Words words(argv + (argc > 0 ? 1 : 0), argv + argc);
  try {
    return dispatch(words);
  } catch (const elision::cli::UsageError& error) {
    return report(words, error.what());
  } catch (const std::exception& error) {
    return report(words, error.what());
  }
}
