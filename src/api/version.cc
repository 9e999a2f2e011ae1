// SPDX-License-Identifier: Apache-2.0
// Checks that a program was compiled with a compatible header.
#include <unistd.h>

#include <cstdio>

#include "elision/elision.h"

namespace {

constexpr int kPatches = 100;

struct Text {
  char characters[160];
  int length;
};

Text describe(int header) {
  Text text;
  text.length = std::snprintf(text.characters, sizeof text.characters,
                              "elision: the program was compiled with elision.h %d.%d.%d, the library is "
                              "%d.%d.%d: compile it again or install the library that fits\n",
                              header / 10000, header / 100 % 100, header % 100, ELISION_VERSION_MAJOR,
                              ELISION_VERSION_MINOR, ELISION_VERSION_PATCH);
  return text;
}

}  // namespace

int elision_library_version() { return ELISION_VERSION; }

void elision_require_version(int header_version) {
  if (header_version / kPatches == ELISION_VERSION / kPatches) return;
  const Text text = describe(header_version);
  (void)!write(STDERR_FILENO, text.characters, static_cast<std::size_t>(text.length));
  _exit(2);
}
