// SPDX-License-Identifier: Apache-2.0
// From a program's name to a process image that is ready to run: script lines, the ELF program, its
// dynamic loader, the initial stack.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vm/interface/fallible.h"
#include "vm/linux/load/elf_image.h"
#include "vm/linux/load/initial_stack.h"
#include "vm/linux/process/process_ids.h"

namespace elision::vm {

/// What execve was given.
struct ProgramRequest {
  std::string path;
  std::vector<std::string> arguments;  // argv[0] as passed to the program
  std::vector<std::string> environment;
  int descriptor = -1;  // the program as an open file (execveat with AT_EMPTY_PATH), else -1
};

/// A program that was found and checked, nothing mapped yet.
struct CheckedProgram {
  ElfImage image;
  std::vector<ElfImage> interpreter;  // the dynamic loader, or none
  std::vector<std::string> arguments;
  std::string path;  // AT_EXECFN
};

struct LoadedProgram {
  std::uint64_t entry = 0;
  std::uint64_t stack_pointer = 0;
  std::uint64_t break_begin = 0;
  std::string executable;  // absolute path, as /proc/self/exe shows it
  std::vector<std::string> arguments;
  std::vector<std::uint64_t> auxiliary_vector;
};

/// The path that execvp would use for `name`: unchanged if it holds a slash, else the first executable in the
/// colon-separated `search_path`.
Fallible<std::string> find_program(const std::string& name, const std::string& search_path);

/// Follows script lines and checks the program and its dynamic loader.
Fallible<CheckedProgram> check_program(const ProgramRequest& request);

/// Maps `program` and builds its stack.
Fallible<LoadedProgram> load_program(AddressSpace& memory, EngineServices& services,
                                     const CheckedProgram& program,
                                     const std::vector<std::string>& environment,
                                     const MachineIdentity& identity, const LimitTable& limits);

}  // namespace elision::vm
