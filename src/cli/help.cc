// SPDX-License-Identifier: Apache-2.0
// `elision help [VERB]`: all verbs, or one in detail.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/host/console.h"
#include "cli/host/text_layout.h"
#include "cli/verbs.h"

namespace elision::cli {

int help_verb(const Words& words) {
  if (!words.empty() && words.front().rfind('-', 0) != 0)
    return find_verb(words.front()).function({"--help"});
  const std::size_t width = appearance_of(STDOUT_FILENO).width.value_or(kDefaultWidth);
  std::string text =
      "elision: which lock design is best for a program, with and without hardware transactions\n\n"
      "  elision VERB [OPTION...] [-- PROGRAM ARG...]\n\n";
  for (const Verb& verb : verbs()) {
    if (*verb.summary != '\0') text += paragraph(fmt::format("  {:<10}", verb.name), verb.summary, width);
  }
  text +=
      "\nStart with: elision compare -- PROGRAM ARG...\n"
      "'elision help VERB' explains a verb, 'elision --version' tells the version.\n";
  print(text);
  return 0;
}

}  // namespace elision::cli
