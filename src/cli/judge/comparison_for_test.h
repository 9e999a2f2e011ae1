// SPDX-License-Identifier: Apache-2.0
// Plans with results, filled in by tests of judging and showing.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "cli/judge/analysis.h"

namespace elision::cli::experiment {

inline Sample timed(double seconds) {
  Sample sample;
  sample.seconds = seconds;
  sample.cpu_seconds = 2 * seconds;
  sample.sections_an_instruction = 0.01;
  sample.output = "total 400\n";
  sample.locks.locks_seen = true;
  sample.locks.acquisitions = 10;
  return sample;
}

/// A plan and its results, filled in row by row.
class Comparison : public ::testing::Test {
 protected:
  Comparison() {
    plan_.launch.program.words = {"prog"};
    plan_.where = "m";
    plan_.model = true;
    plan_.thread_counts = {std::nullopt};
    plan_.runs = 3;
  }

  void add(const std::string& design, const std::vector<Sample>& samples) {
    plan_.designs.push_back(design);
    for (unsigned i = 0; i < samples.size(); ++i) results_.push_back({{std::nullopt, design, i}, samples[i]});
  }
  void add_times(const std::string& design, const std::vector<double>& seconds) {
    std::vector<Sample> samples;
    for (const double value : seconds) samples.push_back(timed(value));
    add(design, samples);
  }

  Block block(bool complete = true) { return analyse(plan_, results_, complete).front(); }
  std::string sentence() { return block().verdict.sentence; }

  Plan plan_;
  std::vector<Result> results_;
};

/// Results over variations of the machine.
class Varied : public ::testing::Test {
 protected:
  Varied() {
    plan_.launch.program.words = {"prog"};
    plan_.where = "m";
    plan_.model = true;
    plan_.thread_counts = {std::nullopt};
    plan_.first_seed = 5;
  }

  /// One uncertain value with that level in each variation.
  void vary(const std::string& field, const std::vector<double>& levels) {
    plan_.runs = static_cast<unsigned>(levels.size());
    plan_.variations.resize(levels.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      plan_.variations[i].push_back({field, "0", std::to_string(static_cast<int>(levels[i])), levels[i]});
    }
  }
  void add(const std::string& design, const std::vector<double>& seconds) {
    plan_.designs.push_back(design);
    for (std::uint32_t i = 0; i < seconds.size(); ++i) {
      Sample sample;
      sample.seconds = seconds[i];
      sample.locks.locks_seen = true;
      results_.push_back({{std::nullopt, design, i, plan_.first_seed + i, i}, sample});
    }
  }
  Result& result(const std::string& design, unsigned run) {
    for (Result& candidate : results_) {
      if (candidate.cell.design == design && candidate.cell.run == run) return candidate;
    }
    throw std::out_of_range(design);
  }

  Block block(bool complete = true) { return analyse(plan_, results_, complete).front(); }
  std::string sentence() { return block().verdict.sentence; }

  Plan plan_;
  std::vector<Result> results_;
};

}  // namespace elision::cli::experiment
