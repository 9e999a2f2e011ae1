// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/explain.h"

#include <algorithm>
#include <mutex>

#include "cli/experiment/execute.h"
#include "cli/experiment/workers.h"

namespace elision::cli::experiment {
namespace {

// A look takes some microseconds, so that the shortest distance costs a run about 1 %.
constexpr double kLongestMs = 4, kShortestMs = 0.5;
constexpr double kWantedLooks = 500;

}  // namespace

double look_distance_ms(double seconds) {
  return std::clamp(1000 * seconds / kWantedLooks, kShortestMs, kLongestMs);
}

std::vector<Result> run_to_explain(std::vector<Cell> cells, Runner& runner, Observer& observer,
                                   RemainingTime remaining, double timeout_seconds) {
  std::vector<Sample> samples(cells.size());
  std::mutex mutex;
  std::size_t next = 0, ended = 0;
  for (Cell& cell : cells) {
    cell.look_ms = look_distance_ms(remaining.expected_seconds(cell));
    remaining.add(cell);
  }
  const auto report = [&](const Cell& cell) {
    observer.progress({ended, cells.size(), false, remaining.seconds_left() / runner.workers(),
                       words_of(cell) + ", once more to say why"});
  };
  const auto begin = [&] {
    const std::lock_guard guard(mutex);
    if (next == cells.size() || runner.cancelled()) return cells.size();
    report(cells[next]);
    return next++;
  };
  share_work(runner.workers(), [&] {
    const std::size_t i = begin();
    if (i == cells.size()) return false;
    samples[i] = runner.run_one(cells[i], timeout_seconds);
    if (runner.cancelled()) return false;
    const std::lock_guard guard(mutex);
    ++ended;
    remaining.end(cells[i], samples[i].host_seconds);
    report(cells[i]);
    return true;
  });
  std::vector<Result> results;
  for (std::size_t i = 0; i < cells.size() && !runner.cancelled(); ++i)
    results.push_back({cells[i], std::move(samples[i])});
  return results;
}

}  // namespace elision::cli::experiment
