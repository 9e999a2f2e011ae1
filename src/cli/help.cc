// SPDX-License-Identifier: Apache-2.0
// `elision help [VERB]`: all verbs, or one in detail.
#include <fmt/format.h>

#include "cli/host/console.h"
#include "cli/verbs.h"

namespace elision::cli {

int help_verb(const Words& words) {
  if (!words.empty() && words.front().rfind('-', 0) != 0)
    return find_verb(words.front()).function({"--help"});
  std::string text =
      "elision: which lock design is best for a program, with and without hardware transactions\n\n"
      "  elision VERB [OPTION...] [-- PROGRAM ARG...]\n\n";
  for (const Verb& verb : verbs()) {
    if (*verb.summary != '\0') text += fmt::format("  {:<10}{}\n", verb.name, verb.summary);
  }
  text +=
      "\nStart with: elision compare -- PROGRAM ARG...\n"
      "'elision help VERB' explains a verb, 'elision --version' tells the version.\n";
  print(text);
  return 0;
}

}  // namespace elision::cli
