// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/engine_layout.h"

#include <sys/personality.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "vm/interface/guest_layout.h"

namespace elision::vm {
namespace {

// Where Linux puts position-independent programs and their heap.
constexpr std::uint64_t kProgramsBegin = 0x550000000000, kProgramsEnd = 0x568000000000;
constexpr std::uint64_t kUserEnd = 0x800000000000;  // behind it: the kernel's own page

std::string contents_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

bool lies_in_the_way(const std::string& maps) {
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    unsigned long long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2) continue;
    const bool as_program = begin >= kProgramsBegin && end <= kProgramsEnd;
    const bool as_library = begin >= kStackTop;
    if (begin < kUserEnd && !as_program && !as_library) return true;
  }
  return false;
}

void leave_the_way() {
  const int persona = personality(0xffffffff);
  if (persona == -1 || (persona & ADDR_NO_RANDOMIZE) != 0) return;
  if (!lies_in_the_way(contents_of("/proc/self/maps"))) return;
  if (personality(static_cast<unsigned long>(persona | ADDR_NO_RANDOMIZE)) == -1) return;
  std::string words = contents_of("/proc/self/cmdline");
  std::vector<char*> arguments;
  for (std::size_t at = 0; at < words.size(); at += std::strlen(&words[at]) + 1)
    arguments.push_back(&words[at]);
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  personality(static_cast<unsigned long>(persona));
}

}  // namespace elision::vm
