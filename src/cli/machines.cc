// SPDX-License-Identifier: Apache-2.0
// `elision machines [NAME|FILE]`: the built-in descriptions, or every value of one with its source.
#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/machine_choice.h"
#include "cli/verbs.h"
#include "machine/description_toml.h"

namespace elision::cli {
namespace {

void list() {
  for (const std::string& name : machine::built_in_machines()) {
    const auto& description = load_machine_or_throw(name).description;
    fmt::print("{:<18} {} cores, {:.1f} GHz, {} KB L1, {} KB L2, {} MB L3: {}\n", name,
               description.total_cores(), description.frequency_mhz / 1000.0, description.l1d.size_kb,
               description.l2.size_kb, description.l3.size_kb / 1024, description.cpuid.brand);
  }
}

}  // namespace

int machines_verb(const Words& words) {
  std::string name;
  const auto app =
      make_app("elision machines [NAME|FILE]",
               "Lists the built-in machine descriptions, or shows every value of one with its source.");
  app->add_option("machine", name, "a built-in name or a machine file");
  if (!parse_options(*app, words)) return 0;
  if (name.empty()) {
    list();
  } else {
    fmt::print("{}", machine::render_machine(load_machine_or_throw(name)));
  }
  return 0;
}

}  // namespace elision::cli
