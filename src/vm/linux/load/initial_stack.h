// SPDX-License-Identifier: Apache-2.0
// The initial stack of a program: argc, argv, envp, auxiliary vector (System V ABI x86-64 supplement, 3.4.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vm/interface/fallible.h"
#include "vm/interface/machine_identity.h"
#include "vm/linux/load/elf_image.h"
#include "vm/linux/process/process_ids.h"

namespace elision::vm {

struct StackContents {
  const std::vector<std::string>& arguments;
  const std::vector<std::string>& environment;
  const std::string& path;  // AT_EXECFN
  const MappedImage& program;
  std::size_t header_count;
  std::uint64_t loader_base;  // AT_BASE, 0 without a dynamic loader
  const LimitTable& limits;
};

struct InitialStack {
  std::uint64_t stack_pointer = 0;
  std::vector<std::uint64_t> auxiliary_vector;  // pairs, AT_NULL included
};

Fallible<InitialStack> build_initial_stack(AddressSpace& memory, EngineServices& services,
                                           const StackContents& contents, const MachineIdentity& identity);

}  // namespace elision::vm
