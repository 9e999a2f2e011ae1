// SPDX-License-Identifier: Apache-2.0
// How throughput grows with the number of threads, and where it stops. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/judge/analysis.h"

namespace elision::cli::experiment {

/// Throughput is the metric, or its inverse if less is better, or the inverse of the program's time. So with
/// time it means something for a program whose work does not grow with its threads.
struct ScalingPoint {
  unsigned threads = 0;
  Range throughput;
  double relative = 0;                        // to the reference design at the smallest number of threads
  std::vector<std::optional<double>> by_run;  // throughput
};

struct ScalingCurve {
  std::string design;
  std::vector<ScalingPoint> points;  // by number of threads, where the design has a result
  std::optional<unsigned> stops_at;  // nothing: it gains up to the largest number of threads
};

struct Scaling {
  std::vector<unsigned> threads;  // ascending; at least two
  std::vector<ScalingCurve> curves;
  bool more_threads_gain = false;  // some design with more threads, over the reference with the fewest
};

/// More threads count as a gain if the throughput is larger by this factor on average and the interval of the
/// ratio lies above 1. Single runs have no interval.
inline constexpr double kSmallestScalingGain = 1.05;

/// Throughput of a result.
Range throughput_of(const Plan& plan, const Range& value);

/// The curves of all designs with results. A curve stops at the smallest number of threads after which no
/// larger one is a gain. Nothing with one number of threads, for a program without locks, or without a result
/// of the reference design at the smallest number.
std::optional<Scaling> scaling_of(const Plan& plan, const std::vector<Block>& blocks);

}  // namespace elision::cli::experiment
