// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "base/whole_file.h"
#include "cli/compare_request.h"
#include "cli/experiment/part.h"
#include "cli/host/json_text.h"
#include "cli/host/usage_error.h"
#include "cli/options/region_options.h"

namespace elision::cli {
namespace {

using experiment::Cell;
using experiment::Part;
using experiment::Preview;
using nlohmann::json;

constexpr std::size_t kMostBytes = 1U << 30;
constexpr std::uint64_t kMostInstructions = 1ULL << 62;

// By number of the kind.
constexpr const char* kKinds[] = {"as asked", "from the second thread on", "windows"};

json part_json(const Part& part) {
  json result = {{"kind", kKinds[static_cast<int>(part.kind)]}};
  if (part.kind == Part::Kind::kAsAsked) return result;
  json& previews = result["instructions"] = json::array();
  for (const Preview& preview : part.seen)
    previews.push_back({{"alone", preview.alone}, {"all", preview.all}, {"cut", preview.is_cut}});
  if (part.kind != Part::Kind::kWindows) return result;
  result["windows"] = part.windows;
  result["places"] = part.places;
  result["together"] = part.together;
  result["length_ns"] = part.length_ns;
  return result;
}

/// What is wrong with a plan: the end of the line that names its file.
class BadPlan : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void require(bool holds, const std::string& complaint) {
  if (!holds) throw BadPlan(complaint);
}

UsageError refused(const std::string& file, const std::string& why) {
  return UsageError(fmt::format("{} '{}': {}", kPlan, file, why));
}

std::uint64_t number_in(const json& value, std::uint64_t least, std::uint64_t most) {
  const bool is_number = value.is_number_unsigned();
  require(is_number && value.get<std::uint64_t>() >= least && value.get<std::uint64_t>() <= most,
          "a number is out of its range");
  return value.get<std::uint64_t>();
}

unsigned count_in(const json& value, unsigned least, unsigned most) {
  return static_cast<unsigned>(number_in(value, least, most));
}

Part part_of(const json& value, std::size_t numbers_of_threads) {
  Part part;
  const auto kind = std::find(std::begin(kKinds), std::end(kKinds), value.at("kind").get<std::string>());
  require(kind != std::end(kKinds), "the kind of its part is unknown");
  part.kind = static_cast<Part::Kind>(kind - std::begin(kKinds));
  if (part.kind == Part::Kind::kAsAsked) return part;
  for (const json& preview : value.at("instructions")) {
    part.seen.push_back({number_in(preview.at("alone"), 0, kMostInstructions),
                         number_in(preview.at("all"), 1, kMostInstructions), preview.at("cut").get<bool>()});
    require(part.seen.back().alone <= part.seen.back().all, "a part begins behind its end");
  }
  require(part.seen.size() == numbers_of_threads, "its parts are not one for each number of threads");
  if (part.kind != Part::Kind::kWindows) return part;
  part.windows = count_in(value.at("windows"), 1, experiment::kMostRuns);
  part.places = count_in(value.at("places"), part.windows, experiment::kMostRuns);
  part.together = count_in(value.at("together"), 1, experiment::kMostRuns);
  part.length_ns = number_in(value.at("length_ns"), 1, kMostNanoseconds);
  return part;
}

/// `processes`: for each round, the first one whose windows its processes simulate.
std::vector<Cell> cells_in(const json& rounds, const json& processes, const OldPlan& old) {
  std::vector<Cell> cells;
  std::set<std::tuple<std::optional<unsigned>, unsigned, std::string>> known;
  require(rounds.size() == old.thread_counts.size(),
          "its lists of rounds are not one for each number of threads");
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    require(rounds[i].size() <= experiment::kMostRuns, "it has too many rounds");
    require(processes.at(i).size() >= rounds[i].size(), "a round has no process");
    require(old.part.windows == 0 || rounds[i].size() <= old.part.windows, "it has more rounds than windows");
    for (unsigned round = 0; round < rounds[i].size(); ++round) {
      for (const auto& design : rounds[i][round].get<std::vector<std::string>>()) {
        const bool is_known = std::find(old.designs.begin(), old.designs.end(), design) != old.designs.end();
        require(is_known, "a round has a design that is not in the comparison");
        require(known.emplace(old.thread_counts[i], round, design).second, "a round has a design twice");
        cells.push_back({.threads = old.thread_counts[i],
                         .design = design,
                         .run = round,
                         .process = count_in(processes.at(i).at(round), 0, round)});
      }
    }
  }
  require(!cells.empty(), "it has no runs");
  return cells;
}

/// JSON holds nothing else. (json_text() would replace what is not.)
bool is_utf8(const Words& words) {
  try {
    (void)json(words).dump();
    return true;
  } catch (const json::type_error&) {
    return false;
  }
}

OldPlan plan_of(const json& value) {
  OldPlan old;
  old.words = value.at("words").get<Words>();
  old.where = value.at("machine").get<std::string>();
  old.designs = value.at("designs").get<std::vector<std::string>>();
  for (const json& threads : value.at("threads"))
    old.thread_counts.push_back(threads.is_null() ? std::nullopt
                                                  : std::optional(count_in(threads, 1, kMostThreads)));
  require(std::set(old.thread_counts.begin(), old.thread_counts.end()).size() == old.thread_counts.size(),
          "a number of threads is named twice");
  old.part = part_of(value.at("part"), old.thread_counts.size());
  old.first_rounds = count_in(value.at("first_rounds"), 1, experiment::kMostRuns);
  old.most_rounds = count_in(value.at("most_rounds"), 0, experiment::kMostRuns);
  old.cells = cells_in(value.at("rounds"), value.at("processes"), old);
  return old;
}

/// `plan` comes from the words of `old`, on this computer.
void check_fits(const OldPlan& old, const experiment::Plan& plan) {
  require(plan.model || old.part.kind == Part::Kind::kAsAsked, "a real CPU simulates no part of a run");
  require(old.part.kind != Part::Kind::kWindows || !plan.uses_metric(),
          "a metric is of whole runs, not of windows");
  const bool takes_threads = plan.thread_counts.front().has_value();
  for (const auto& threads : old.thread_counts)
    require(threads.has_value() == takes_threads, "numbers of threads are for programs with {threads}");
  if (old.cells.front().design != plan.reference() || old.cells.front().run != 0)
    throw BadPlan(fmt::format("its first run is not under {}", plan.reference()));
  for (const Cell& cell : old.cells) {
    require(!plan.varies() || cell.run < plan.variations.size(), "it has more rounds than variations");
    if (const auto left_out = plan.not_run.find(cell.design); left_out != plan.not_run.end())
      throw BadPlan(fmt::format("{} {}", cell.design, left_out->second));
  }
}

}  // namespace

json plan_json(const experiment::Plan& plan, const Words& words,
               const std::vector<experiment::Result>& results) {
  if (!is_utf8(words)) return nullptr;
  struct Rounds {
    std::vector<std::vector<std::string>> designs;
    std::vector<unsigned> processes;
  };
  std::map<std::optional<unsigned>, Rounds> rounds;
  for (const experiment::Result& result : results) {
    const Cell& cell = result.cell;
    Rounds& these = rounds[cell.threads];
    const std::size_t count = std::max<std::size_t>(these.designs.size(), cell.run + 1);
    these.designs.resize(count);
    these.processes.resize(count);
    these.designs[cell.run].push_back(cell.design);
    these.processes[cell.run] = cell.first_of_process();
  }
  json counts = json::array(), rounds_by_threads = json::array(), processes_by_threads = json::array();
  for (const auto& threads : plan.thread_counts) {
    counts.push_back(or_null(threads));
    rounds_by_threads.push_back(rounds[threads].designs);
    processes_by_threads.push_back(rounds[threads].processes);
  }
  return {{"words", words},
          {"machine", plan.where},
          {"designs", plan.designs},
          {"threads", counts},
          {"part", part_json(plan.part)},
          {"first_rounds", plan.runs},
          {"most_rounds", plan.most_runs},
          {"rounds", rounds_by_threads},
          {"processes", processes_by_threads}};
}

OldPlan read_plan(const std::string& file) {
  constexpr const char* kNoPlan = "it is no JSON report of elision compare with a plan";
  const auto text = read_whole_file(file, kMostBytes);
  if (!text) throw refused(file, text.error());
  try {
    const json content = parse_json(*text);
    require(!content.is_discarded(), kNoPlan);
    const json& plan = content.contains("plan") ? content.at("plan") : content;
    require(!plan.is_null(), "its command line is not UTF-8, so it has no plan");
    require(plan.is_object() && plan.contains("words"), kNoPlan);
    return plan_of(plan);
  } catch (const json::out_of_range& error) {
    throw refused(file, fmt::format("its plan is incomplete ({})", error.what()));
  } catch (const json::exception& error) {
    throw refused(file, fmt::format("a value of its plan has the wrong type ({})", error.what()));
  } catch (const BadPlan& error) {
    throw refused(file, error.what());
  }
}

void repeat(const OldPlan& old, const std::string& file, experiment::Plan& plan) {
  try {
    check_fits(old, plan);
  } catch (const BadPlan& error) {
    throw refused(file, error.what());
  }
  plan.thread_counts = old.thread_counts;
  simulate(plan, old.part);
  plan.runs = old.first_rounds;
  plan.most_runs = old.most_rounds;
  plan.cells = old.cells;
  for (Cell& cell : plan.cells)
    cell = plan.cell_of(cell.threads, cell.design, cell.run, cell.first_of_process());
}

}  // namespace elision::cli
