// SPDX-License-Identifier: Apache-2.0
// What the processes of a virtual run left, read and added up.
#include "cli/experiment/process_statistics.h"

#include <gtest/gtest.h>

#include <fstream>

#include "cli/host/temp_directory.h"

namespace elision::cli::experiment {
namespace {

TEST(ProcessStatistics, ProcessesAreInStartOrderWithoutBrokenFiles) {
  const TempDirectory directory;
  std::ofstream(directory.path() / "0001.json") << R"({"program":"b"})";
  std::ofstream(directory.path() / "0000.json") << R"({"program":"a"})";
  std::ofstream(directory.path() / "0002.json") << R"({"program":)";
  std::ofstream(directory.path() / "0003.counters") << R"({"program":"d"})";
  const auto processes = read_process_statistics(directory.path());
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0]["program"], "a");
  EXPECT_EQ(processes[1]["program"], "b");
}

TEST(ProcessStatistics, TotalsAreSumsButForClocksAndNames) {
  const std::vector<nlohmann::json> processes = {{{"program", "a"},
                                                  {"seed", 7},
                                                  {"exit", 1},
                                                  {"virtual_ns", 50},
                                                  {"commits", 2},
                                                  {"aborts", {{"conflict", 1}}},
                                                  {"threads", {{{"tid", 1}}}}},
                                                 {{"program", "b"},
                                                  {"seed", 7},
                                                  {"exit", 1},
                                                  {"virtual_ns", 30},
                                                  {"commits", 5},
                                                  {"aborts", {{"conflict", 2}, {"capacity", 4}}}}};
  const nlohmann::json expected = {
      {"virtual_ns", 50}, {"commits", 7}, {"aborts", {{"conflict", 3}, {"capacity", 4}}}};
  EXPECT_EQ(total_statistics(processes), expected);
}

}  // namespace
}  // namespace elision::cli::experiment
