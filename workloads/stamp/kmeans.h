// SPDX-License-Identifier: Apache-2.0
// K-means (STAMP): points move to the nearest centre, centres to the mean of their points, until few points
// change. Written from STAMP's description (Cao Minh et al., IISWC 2008).
//
// Sections: a thread takes three points from a common counter; adds a point to the sum of its new centre, one
// section a point, which writes one length and as many floats as the point has; and adds up how many points
// changed. Sums of centres lie in one array, each rounded up to 32 bytes, as the original's; with --aligned
// each on lines of its own.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "support.h"

namespace workloads::kmeans {

inline constexpr const char* kDescription = "STAMP's k-means: points and the centres of their clusters";

struct Options {
  sections::TeamOptions team;
  unsigned most_clusters = 15, fewest_clusters = 15;
  double threshold = 0.05;
  unsigned points = 2048, dimensions = 16, groups = 16;
  bool aligned = false;
};

inline void add_options(CommandLine& line, Options& options) {
  line.add("-m,--most-clusters", options.most_clusters, "with 15, much contention; with 40, little")
      .within(1, 10000);
  line.add("-n,--fewest-clusters", options.fewest_clusters, "the first number of clusters that is tried")
      .within(1, 10000);
  line.add("-t,--threshold", options.threshold, "share of points that may still change at the end")
      .within_real(0, 1);
  line.add("--points", options.points, "of the input").within(1, 1 << 24);
  line.add("--dimensions", options.dimensions, "of a point").within(1, 1024);
  line.add("--groups", options.groups, "around which the input's points lie").within(1, 1 << 20);
  line.add_flag("--aligned", options.aligned, "no line of memory belongs to two centres");
}

inline std::string complaint(const Options& options) {
  if (options.fewest_clusters > options.most_clusters) return "--fewest-clusters: more than --most-clusters";
  if (options.most_clusters > options.points) return "--most-clusters: more than --points";
  return {};
}

/// Points around groups, each attribute with mean 0 and deviation 1.
class Input {
 public:
  explicit Input(const Options& options)
      : points(options.points), dimensions(options.dimensions), values_(std::size_t{points} * dimensions) {
    CheapRandom random(options.team.seed);
    const auto uniform = [&random] { return static_cast<float>(random.below(1u << 24)) / (1 << 24); };
    std::vector<float> groups(std::size_t{options.groups} * dimensions);
    for (float& value : groups) value = uniform();
    for (std::size_t point = 0; point < points; ++point) {
      const std::size_t group = random.below(options.groups);
      for (std::size_t d = 0; d < dimensions; ++d) {
        const float noise = uniform() + uniform() + uniform() - 1.5f;
        values_[point * dimensions + d] = groups[group * dimensions + d] + 0.2f * noise;
      }
    }
    for (std::size_t d = 0; d < dimensions; ++d) normalise(d);
  }

  const float* point(std::size_t index) const { return &values_[index * dimensions]; }

  const std::size_t points, dimensions;

 private:
  void normalise(std::size_t d) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < points; ++i) sum += values_[i * dimensions + d];
    const double mean = sum / static_cast<double>(points);
    for (std::size_t i = 0; i < points; ++i) squares += std::pow(values_[i * dimensions + d] - mean, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(points));
    for (std::size_t i = 0; i < points; ++i) {
      float& value = values_[i * dimensions + d];
      // In steps of 2^-10: sums of a few thousand points are exact, and so the same in any order.
      value = static_cast<float>(std::round((value - mean) / (deviation > 0 ? deviation : 1) * 1024) / 1024);
    }
  }

  std::vector<float> values_;
};

/// The sums that sections add to: of each centre a length and floats.
class Sums {
 public:
  Sums(const Options& options, std::size_t clusters) : clusters_(clusters), dimensions_(options.dimensions) {
    const std::size_t bytes = sizeof(int) + dimensions_ * sizeof(float), unit = options.aligned ? 64 : 32;
    stride_ = (bytes + unit - 1) / unit * unit;
    memory_.resize(stride_ * clusters + 128);
    // The original's array begins 16 bytes behind a line of 64, as malloc returns it.
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ = memory_.data() + (64 - address % 64) + (options.aligned ? 0 : 16);
  }
  int& length(std::size_t cluster) { return *reinterpret_cast<int*>(begin_ + cluster * stride_); }
  float* values(std::size_t cluster) {
    return reinterpret_cast<float*>(begin_ + cluster * stride_ + sizeof(int));
  }
  void clear() {
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster) {
      length(cluster) = 0;
      for (std::size_t d = 0; d < dimensions_; ++d) values(cluster)[d] = 0;
    }
  }

 private:
  std::size_t clusters_, dimensions_, stride_;
  std::vector<unsigned char> memory_;
  unsigned char* begin_;
};

struct Shared {
  alignas(128) std::size_t next_point = 0;
  alignas(128) std::size_t changed = 0;
};

class Clustering {
 public:
  Clustering(const Input& input, const Options& options, std::size_t clusters)
      : input_(input),
        options_(options),
        clusters_(clusters),
        centres_(clusters * input.dimensions),
        sums_(options, clusters),
        membership_(input.points, -1) {
    CheapRandom random(options.team.seed + 7);
    for (std::size_t cluster = 0; cluster < clusters; ++cluster) {
      const float* const from = input.point(random.below(static_cast<std::uint32_t>(input.points)));
      for (std::size_t d = 0; d < input.dimensions; ++d) centres_[cluster * input.dimensions + d] = from[d];
    }
    sums_.clear();
  }

  /// What each thread does. All threads leave together.
  template <class Thread>
  void work(Thread& thread, unsigned index, TeamBarrier& barrier) {
    do {
      assign_points(thread);
      barrier.wait();
      if (index == 0) move_centres();
      barrier.wait();
    } while (!ended_);
  }

  bool is_right() const { return right_; }
  unsigned rounds() const { return rounds_; }

  /// Squared distance of all points from their centres.
  double distance() const {
    double sum = 0;
    for (std::size_t point = 0; point < input_.points; ++point) sum += distance(point, nearest(point));
    return sum;
  }

 private:
  static constexpr std::size_t kChunk = 3;
  static constexpr unsigned kMostRounds = 500;

  double distance(std::size_t point, std::size_t cluster) const {
    const float *const a = input_.point(point), *const b = &centres_[cluster * input_.dimensions];
    float sum = 0;
    for (std::size_t d = 0; d < input_.dimensions; ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
    return sum;
  }

  std::size_t nearest(std::size_t point) const {
    std::size_t best = 0;
    double least = distance(point, 0);
    for (std::size_t cluster = 1; cluster < clusters_; ++cluster) {
      const double here = distance(point, cluster);
      if (here < least) least = here, best = cluster;
    }
    return best;
  }

  template <class Thread>
  void assign_points(Thread& thread) {
    std::size_t changed = 0;
    for (;;) {
      std::size_t first = 0;
      thread.atomically([&](auto& transaction) {
        first = transaction.read(shared_.next_point);
        transaction.write(shared_.next_point, first + kChunk);
      });
      if (first >= input_.points) break;
      for (std::size_t point = first; point < first + kChunk && point < input_.points; ++point) {
        const std::size_t cluster = nearest(point);
        if (membership_[point] != static_cast<int>(cluster)) ++changed;
        membership_[point] = static_cast<int>(cluster);
        const float* const from = input_.point(point);
        int& length = sums_.length(cluster);
        float* const sum = sums_.values(cluster);
        thread.atomically([&](auto& transaction) {
          transaction.write(length, transaction.read(length) + 1);
          for (std::size_t d = 0; d < input_.dimensions; ++d)
            transaction.write(sum[d], transaction.read(sum[d]) + from[d]);
        });
      }
    }
    thread.atomically([&](auto& transaction) {
      transaction.write(shared_.changed, transaction.read(shared_.changed) + changed);
    });
  }

  void move_centres() {
    check();
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster) {
      const int length = sums_.length(cluster);
      if (length == 0) continue;
      for (std::size_t d = 0; d < input_.dimensions; ++d)
        centres_[cluster * input_.dimensions + d] = sums_.values(cluster)[d] / static_cast<float>(length);
    }
    sums_.clear();
    const double share = static_cast<double>(shared_.changed) / static_cast<double>(input_.points);
    ++rounds_;
    ended_ = share <= options_.threshold || rounds_ >= kMostRounds;
    shared_.next_point = 0;
    shared_.changed = 0;
  }

  /// Each length is exact; each sum is right but for rounding, whose order is open.
  void check() {
    std::vector<int> lengths(clusters_);
    std::vector<double> sums(clusters_ * input_.dimensions), sizes(clusters_ * input_.dimensions);
    for (std::size_t point = 0; point < input_.points; ++point) {
      const auto cluster = static_cast<std::size_t>(membership_[point]);
      ++lengths[cluster];
      for (std::size_t d = 0; d < input_.dimensions; ++d) {
        sums[cluster * input_.dimensions + d] += input_.point(point)[d];
        sizes[cluster * input_.dimensions + d] += std::fabs(input_.point(point)[d]);
      }
    }
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster) {
      right_ = right_ && sums_.length(cluster) == lengths[cluster];
      for (std::size_t d = 0; d < input_.dimensions; ++d) {
        const std::size_t at = cluster * input_.dimensions + d;
        right_ = right_ && std::fabs(sums_.values(cluster)[d] - sums[at]) <= 1e-4 * sizes[at] + 1e-6;
      }
    }
  }

  const Input& input_;
  const Options& options_;
  std::size_t clusters_;
  std::vector<float> centres_;
  Sums sums_;
  std::vector<int> membership_;
  Shared shared_;
  unsigned rounds_ = 0;
  bool ended_ = false, right_ = true;
};

template <class Sections>
int run(const Options& options) {
  const Input input(options);
  const auto shared = std::make_unique<Sections>();
  std::vector<std::unique_ptr<Clustering>> all;
  for (std::size_t clusters = options.fewest_clusters; clusters <= options.most_clusters; ++clusters)
    all.push_back(std::make_unique<Clustering>(input, options, clusters));
  sections::run_sections(*shared, options.team, [&](auto& thread, unsigned index, TeamBarrier& barrier) {
    for (const auto& clustering : all) clustering->work(thread, index, barrier);
  });
  bool right = true;
  for (const auto& clustering : all) right = right && clustering->is_right();
  if (sections::is_wrong(right ? nullptr : "sums")) return 1;
  std::printf("rounds: %u\ndistance: %.3f\n", all.back()->rounds(), all.back()->distance());
  return 0;
}

}  // namespace workloads::kmeans
