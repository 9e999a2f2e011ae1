// SPDX-License-Identifier: Apache-2.0
// `elision machines [MACHINE|FILE]`: lists the built-in descriptions, or shows every value of one or of its
// variation, with sources.
#include <fmt/format.h>

#include "cli/host/console.h"
#include "cli/options/arguments.h"
#include "cli/options/machine_choice.h"
#include "cli/verbs.h"
#include "machine/description_toml.h"

namespace elision::cli {
namespace {

std::string list() {
  std::string lines;
  for (const std::string& name : machine::built_in_machines()) {
    const auto& description = load_machine_or_throw(name).description;
    const unsigned sockets = description.topology.sockets;
    const std::string times = sockets > 1 ? fmt::format("{} x ", sockets) : "";
    lines +=
        fmt::format("{:<18} {}{} cores, {:.1f} GHz, {} KB L1, {} KB L2, {} MB L3: {}\n", name, times,
                    description.topology.cores, description.frequency_mhz / 1000.0, description.l1d.size_kb,
                    description.l2.size_kb, description.l3.size_kb / 1024, description.cpuid.brand);
  }
  return lines;
}

struct MachinesRequest {
  std::string name;
  std::uint32_t variation = 0;
};

std::unique_ptr<CLI::App> machines_options(MachinesRequest& request) {
  auto app =
      make_app("elision machines [OPTION...] [MACHINE|FILE]",
               "Lists the built-in machine descriptions, or shows every value of one with its source.");
  CLI::Option* machine = app->add_option("machine", request.name, "a built-in name or a machine file")
                             ->type_name("MACHINE|FILE");
  add_number(*app, "--variation", request.variation, 0, machine::kVariations - 1,
             "as this draw of the uncertain values has it (default: 0)")
      ->needs(machine);
  return app;
}

}  // namespace

std::unique_ptr<CLI::App> machines_app() {
  static MachinesRequest request;
  return machines_options(request);
}

int machines_verb(const Words& words) {
  MachinesRequest request;
  const auto app = machines_options(request);
  if (!parse_options(*app, words)) return 0;
  if (request.name.empty()) {
    print(list());
  } else {
    const machine::Variation shown =
        variation_or_throw(load_machine_or_throw(request.name), request.variation);
    print(machine::render_machine(shown.machine));
  }
  return 0;
}

}  // namespace elision::cli
