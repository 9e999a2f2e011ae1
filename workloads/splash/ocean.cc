// SPDX-License-Identifier: Apache-2.0
// Relaxation of a grid, as the solver of SPLASH-2's Ocean: threads own bands of rows, sweep over red points
// and then black ones, and add up how much the points changed, until the sum is small.
//
// Sections: each thread adds its sum of a sweep to the common one under a mutex, once an iteration.
// Barriers separate sweeps. So threads spend hardly any time in sections: type I of the TxSampler paper
// (Figure 8).
//
// Sums are of integers, so they are exact in any order. Check: kernel.h.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "splash/kernel.h"

namespace {

using workloads::TeamBarrier;

class Ocean {
 public:
  static constexpr const char *kName = "ocean", *kDescription = "SPLASH-2's Ocean: relaxation of a grid",
                              *kWhat = "points";
  struct Options : workloads::TeamOptions {
    std::uint32_t side = 258;  // with the border
    std::uint32_t iterations = 8;
    double tolerance = 1e-7;
  };

  static void add_options(workloads::CommandLine& line, Options& options) {
    line.add("--side", options.side, "of the grid, with its border").within(3, 1 << 13);
    line.add("--iterations", options.iterations, "at most").within(1, 1 << 20);
    line.add("--tolerance", options.tolerance, "mean change of a point at which the run ends")
        .within_real(0, 1);
  }

  explicit Ocean(const Options& options)
      : options_(options), grid_(std::size_t{options.side} * options.side) {
    workloads::CheapRandom random(options.seed);
    for (double& value : grid_) value = random.below(1u << 20) / static_cast<double>(1u << 20);
  }

  void work(unsigned thread, TeamBarrier& barrier) {
    const auto [first, last] = workloads::share_of(options_.side - 2, thread, options_.threads);
    for (bool ends = false; !ends;) {
      std::uint64_t change = 0;
      for (const std::size_t colour : {0, 1}) {
        for (std::size_t row = first + 1; row <= last; ++row) change += sweep(row, colour);
        barrier.wait();
      }
      {
        const std::lock_guard lock(mutex_);
        const volatile std::uint64_t& shared = change_;
        change_ = shared + change;
      }
      barrier.wait();
      ends = iterations_ + 1 == options_.iterations || is_small(change_);
      barrier.wait();
      if (thread != 0) continue;
      ++iterations_;
      total_ += change_;
      change_ = 0;
    }
  }

  std::uint64_t amount() const {
    return std::uint64_t{iterations_} * (options_.side - 2) * (options_.side - 2);
  }
  std::string complaint() const { return {}; }
  bool operator==(const Ocean& other) const {
    return grid_ == other.grid_ && iterations_ == other.iterations_ && total_ == other.total_;
  }

 private:
  static constexpr double kUnit = 1 << 30;  // of changes

  bool is_small(std::uint64_t change) const {
    return static_cast<double>(change) <
           options_.tolerance * kUnit * static_cast<double>((options_.side - 2) * (options_.side - 2));
  }

  /// Returns how much the row's points of that colour change.
  std::uint64_t sweep(std::size_t row, std::size_t colour) {
    constexpr double kOverRelaxation = 1.5;
    const std::size_t side = options_.side;
    std::uint64_t change = 0;
    for (std::size_t column = 1 + (row + colour) % 2; column < side - 1; column += 2) {
      double* const here = &grid_[row * side + column];
      const double mean = (here[-1] + here[1] + here[-static_cast<std::ptrdiff_t>(side)] + here[side]) / 4;
      const double difference = kOverRelaxation * (mean - *here);
      *here += difference;
      change += static_cast<std::uint64_t>(std::abs(difference) * kUnit);
    }
    return change;
  }

  const Options options_;
  std::vector<double> grid_;
  alignas(128) std::mutex mutex_;
  alignas(128) std::uint64_t change_ = 0;  // of this iteration
  alignas(128) std::uint32_t iterations_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return workloads::splash::kernel_main<Ocean>(argc, argv); }
