// SPDX-License-Identifier: Apache-2.0
// elision_texts DATE FOLDER: writes the manual pages and completions of this version into a folder. The build
// runs it.
#include <exception>
#include <filesystem>

#include "cli/host/console.h"
#include "cli/host/output_file.h"
#include "cli/texts/completions.h"
#include "cli/texts/manual.h"
#include "cli/texts/walk.h"

namespace {

using namespace elision::cli;

void write_texts(const CommandTexts& texts, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_output(folder / "elision.1", manual_of_command(texts));
  for (const VerbText& verb : texts.verbs)
    write_output(folder / ("elision-" + verb.name + ".1"), manual_of_verb(texts, verb));
  write_output(folder / "elision.bash", bash_completion(texts));
  write_output(folder / "_elision", zsh_completion(texts));
  write_output(folder / "elision.fish", fish_completion(texts));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw UsageError("usage: elision_texts DATE FOLDER");
    write_texts(texts_of_command(ELISION_VERSION, argv[1]), argv[2]);
    return 0;
  } catch (const std::exception& error) {
    tell("texts", error.what());
    return kUsageExitCode;
  }
}
