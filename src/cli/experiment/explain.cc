// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/explain.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace elision::cli::experiment {

std::vector<Result> run_to_explain(const std::vector<Cell>& cells, Runner& runner, double timeout_seconds) {
  std::vector<Sample> samples(cells.size());
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_lock;
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < cells.size() && !runner.cancelled();) try {
        samples[i] = runner.run(cells[i], timeout_seconds);
      } catch (...) {
        const std::lock_guard guard(error_lock);
        error = std::current_exception();
        next = cells.size();
      }
  };
  std::vector<std::thread> workers;
  for (std::size_t i = 1; i < std::min<std::size_t>(runner.workers(), cells.size()); ++i)
    workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  if (error) std::rethrow_exception(error);
  std::vector<Result> results;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (samples[i].ended() && samples[i].profile) results.push_back({cells[i], std::move(samples[i])});
  return results;
}

}  // namespace elision::cli::experiment
