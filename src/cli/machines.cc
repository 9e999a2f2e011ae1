// SPDX-License-Identifier: Apache-2.0
// `elision machines [MACHINE|FILE]`: lists the built-in descriptions, or shows every value of one or of its
// variation, with sources.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "cli/host/console.h"
#include "cli/host/json_text.h"
#include "cli/options/arguments.h"
#include "cli/options/machine_choice.h"
#include "cli/options/output_format.h"
#include "cli/show/machine_values.h"
#include "cli/show/table.h"
#include "cli/verbs.h"
#include "machine/description_toml.h"

namespace elision::cli {
namespace {

experiment::TableRow row_of(const std::string& name) {
  const machine::Description described = load_machine_or_throw(name).description;
  const machine::Topology& topology = described.topology;
  return {{name, fmt::format("{}", topology.sockets), fmt::format("{}", topology.cores),
           fmt::format("{}", topology.cpus()), fmt::format("{:.1f}", described.frequency_mhz / 1000.0),
           fmt::format("{}", described.l1d.size_kb), fmt::format("{}", described.l2.size_kb),
           fmt::format("{}", described.l3.size_kb / 1024), described.cpuid.brand},
          "",
          Tone::kPlain};
}

experiment::Table table_of_machines() {
  experiment::Table table{{{"machine", true},
                           {"sockets"},
                           {"cores each"},
                           {"CPUs"},
                           {"GHz"},
                           {"L1 KB"},
                           {"L2 KB"},
                           {"L3 MB"},
                           {"model", true}},
                          {}};
  for (const std::string& name : machine::built_in_machines()) table.rows.push_back(row_of(name));
  return table;
}

nlohmann::json json_of_machines() {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& name : machine::built_in_machines()) {
    const machine::Description described = load_machine_or_throw(name).description;
    list.push_back({{"machine", name},
                    {"sockets", described.topology.sockets},
                    {"cores_per_socket", described.topology.cores},
                    {"cpus", described.topology.cpus()},
                    {"frequency_mhz", described.frequency_mhz},
                    {"l1d_kb", described.l1d.size_kb},
                    {"l2_kb", described.l2.size_kb},
                    {"l3_kb", described.l3.size_kb},
                    {"model", described.cpuid.brand}});
  }
  return {{"version", 1}, {"machines", std::move(list)}};
}

std::string list_as(OutputFormat format) {
  switch (format) {
    case OutputFormat::kJson:
      return json_text(json_of_machines());
    case OutputFormat::kCsv:
      return table_csv(table_of_machines());
    case OutputFormat::kMarkdown:
      return table_markdown(table_of_machines());
    case OutputFormat::kTable:
      break;
  }
  return table_text(table_of_machines(), appearance_of(STDOUT_FILENO));
}

experiment::Table table_of_values(const machine::Machine& machine) {
  experiment::Table table{{{"field", true}, {"value", true}, {"others", true}, {"source", true}}, {}};
  for (const machine::ValueRecord& record : machine.values) {
    table.rows.push_back(
        {{record.field, record.best, fmt::format("{}", fmt::join(record.others, ", ")), record.source},
         "",
         Tone::kPlain});
  }
  return table;
}

constexpr std::string_view kUnchecked = "†";  // before a source

struct MachinesRequest {
  std::string name;
  std::uint32_t variation = 0;
  OutputFormat format = OutputFormat::kTable;
};

std::string explained_mark(const machine::Machine& machine) {
  const bool is_used = std::any_of(
      machine.values.begin(), machine.values.end(),
      [](const machine::ValueRecord& value) { return value.source.find(kUnchecked) != std::string::npos; });
  return is_used ? fmt::format("\n{}: quoted from memory, not looked up\n", kUnchecked) : "";
}

std::string values_as(const MachinesRequest& request, const machine::Machine& machine) {
  switch (request.format) {
    case OutputFormat::kJson:
      return json_text({{"version", 1},
                        {"machine", request.name},
                        {"variation", request.variation},
                        {"values", machine_values_json(machine.values)}});
    case OutputFormat::kCsv:
      return table_csv(table_of_values(machine));
    case OutputFormat::kMarkdown:
      return table_markdown(table_of_values(machine)) + explained_mark(machine);
    case OutputFormat::kTable:
      break;
  }
  return machine::render_machine(machine) + explained_mark(machine);
}

std::unique_ptr<CLI::App> machines_options(MachinesRequest& request) {
  auto app =
      make_app("elision machines [OPTION...] [MACHINE|FILE]",
               "Lists the built-in machine descriptions, or shows every value of one with its source.");
  CLI::Option* machine = app->add_option("machine", request.name, "a built-in name or a machine file")
                             ->type_name("MACHINE|FILE");
  add_number(*app, "--variation", request.variation, 0, machine::kVariations - 1,
             "as this draw of the uncertain values has it (default: 0)")
      ->needs(machine);
  add_format(*app, request.format);
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
    print(list_as(request.format));
  } else {
    const machine::Variation shown =
        variation_or_throw(load_machine_or_throw(request.name), request.variation);
    print(values_as(request, shown.machine));
  }
  return 0;
}

}  // namespace elision::cli
