// SPDX-License-Identifier: Apache-2.0
// The main function of a program over sections (CMakeLists.txt). PROGRAM_HEADER is its only source: a header
// whose namespace workloads::PROGRAM has
//
//   struct Options { sections::TeamOptions team; ... };
//   inline constexpr const char* kDescription
//   void add_options(CommandLine&, Options&)
//   std::string complaint(const Options&)                 what is wrong with them together; empty: nothing
//   template <class Sections> int run(const Options&)     builds the input, runs, checks; its exit code
#include PROGRAM_HEADER

#include <map>
#include <string>
#include <vector>

#include "command_line.h"
#include "sections/locks.h"
#include "sections/tl2.h"

#define PROGRAM_STRING_OF(name) #name
#define PROGRAM_STRING(name) PROGRAM_STRING_OF(name)

namespace workloads::PROGRAM {
#ifdef WORKLOADS_HAVE_GCC_TM
int run_gcc_tm(const Options& options);  // program_gcc_tm.cc
#endif

namespace {

using Run = int (*)(const Options&);

const std::map<std::string, Run>& back_ends() {
  static const std::map<std::string, Run> kBackEnds = {
      {sections::Sequential::kName, run<sections::Sequential>},
      {sections::GlobalLock::kName, run<sections::GlobalLock>},
      {sections::ApiLock::kName, run<sections::ApiLock>},
      {sections::Tl2::kName, run<sections::Tl2>},
#ifdef WORKLOADS_HAVE_GCC_TM
      {"gcc-tm", run_gcc_tm},  // its header needs -fgnu-tm
#endif
  };
  return kBackEnds;
}

int program(int argc, char** argv) {
  Options options;
  std::string back_end = sections::GlobalLock::kName;
  std::vector<std::string> names;
  for (const auto& [name, run] : back_ends()) names.push_back(name);
  CommandLine line(PROGRAM_STRING(PROGRAM), kDescription);
  line.add("--back-end", back_end, "what makes sections exclude each other").one_of(names);
  add_team_options(line, options.team).within(1, 1024);
  add_options(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  if (back_end == sections::Sequential::kName && options.team.threads != 1)
    return line.refuse("--back-end sequential: one thread only");
  if (const std::string wrong = complaint(options); !wrong.empty()) return line.refuse(wrong);
  return back_ends().at(back_end)(options);
}

}  // namespace
}  // namespace workloads::PROGRAM

int main(int argc, char** argv) { return workloads::PROGRAM::program(argc, argv); }
