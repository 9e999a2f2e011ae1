// SPDX-License-Identifier: Apache-2.0
#include "cli/machine_choice.h"

#include "cli/usage_error.h"

namespace elision::cli {

machine::Machine load_machine_or_throw(const std::string& name) {
  auto machine = machine::load_machine(name);
  if (!machine) throw UsageError(machine.error());
  return std::move(*machine);
}

}  // namespace elision::cli
