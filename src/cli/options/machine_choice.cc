// SPDX-License-Identifier: Apache-2.0
#include "cli/options/machine_choice.h"

#include "cli/host/usage_error.h"

namespace elision::cli {

machine::Machine load_machine_or_throw(const std::string& name) {
  auto machine = machine::load_machine(name);
  if (!machine) throw UsageError(machine.error());
  return std::move(*machine);
}

machine::Variation variation_or_throw(const machine::Machine& machine, std::uint32_t number) {
  auto variation = machine::variation_of(machine, number);
  if (!variation) throw UsageError(variation.error());
  return std::move(*variation);
}

std::vector<std::vector<machine::DrawnValue>> drawn_values(const machine::Machine& machine,
                                                           std::uint32_t count) {
  std::vector<std::vector<machine::DrawnValue>> values;
  for (std::uint32_t number = 0; number < count; ++number)
    values.push_back(variation_or_throw(machine, number).drawn);
  return values;
}

}  // namespace elision::cli
