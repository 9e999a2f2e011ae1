// SPDX-License-Identifier: Apache-2.0
// nufft (TSX paper, sections 5.1 and 5.2): the adjoint of a non-uniform Fourier transform in three
// dimensions. The program has only the reduction, which spreads samples at any place over the nearest
// points of a uniform grid. The transform of the grid would have no sections. Written from the descriptions
// in the paper and in Kalamkar et al., IPDPS 2012.
//
//   none         no synchronisation: parts of samples are lost
//   baseline     an OpenMP lock for every eight planes of the grid (--planes). A thread takes it to add to
//                a sample's points in these planes
//   elided       the same with elision::mutex
//   tsx-init     a transaction for each of these sections, under one mutex for all
//   tsx-coarsen  --granularity of these sections in a transaction
//   tsx-adapt    the same by an elision::coarsener that adapts
//
// A sample is spread over 4 x 4 x 4 complex numbers, so by default it has one or two sections, which together
// write 16 to 32 lines. Threads have blocks of samples at random places. The paper says that the original
// has an array of locks, for which threads contend. How much of the grid a lock covers is an assumption.
//
// Values are 1 or -1 and weights are products of three sixteenths, so sums below 2^12 are exact in any
// order. The grid must equal the grid that one thread computes: else "WRONG ..." and exit code 1.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "hpc/application.h"
#include "hpc/openmp_lock.h"
#include "hpc/sections.h"

namespace {

using workloads::CheapRandom;
using workloads::CommandLine;
using workloads::Share;
using workloads::hpc::Thread;

constexpr std::size_t kWidth = 4;  // grid points that a sample is spread over, along each direction

struct Complex {
  float real = 0, imaginary = 0;
  bool operator==(const Complex&) const = default;
};

struct Sample {
  std::array<float, 3> place;  // in distances of grid points
  Complex value;
};

using Vector = std::array<double, 3>;

/// Draws a number from -1 to 1.
double draw(CheapRandom& random) { return random.below(1 << 24) / static_cast<double>(1 << 23) - 1; }

Vector draw_in_cube(CheapRandom& random) {
  Vector place;
  for (double& coordinate : place) coordinate = draw(random);
  return place;
}

/// All directions and all distances from the centre are equally likely.
Vector draw_in_ball(CheapRandom& random) {
  const double height = draw(random), angle = std::numbers::pi * draw(random), distance = draw(random);
  const double across = std::sqrt(1 - height * height);
  return {distance * across * std::cos(angle), distance * across * std::sin(angle), distance * height};
}

class Nufft {
 public:
  struct Options : workloads::hpc::Options {
    std::uint32_t grid = 32, samples = 1024, planes = 8;
    bool dense = false;
  };
  static constexpr const char* kName = "nufft";
  static constexpr const char* kDescription = "Non-uniform FFT: the reduction of the adjoint operator";
  static constexpr const char* kUnit = "samples";

  static void add_options(CommandLine& line, Options& options) {
    line.add("--grid", options.grid, "points along each direction").within(2 * kWidth, 256);
    line.add("--samples", options.samples).within(1, 1 << 15);
    line.add("--planes", options.planes, "of the grid that a lock covers").within(1, 256);
    line.add_flag("--dense", options.dense, "samples are dense around the centre, as a scanner's");
  }
  static std::string complaint(const Options&) { return {}; }
  static std::span<const workloads::hpc::Variant<Nufft>> variants();

  explicit Nufft(const Options& options);

  std::uint64_t units() const { return samples_.size(); }
  std::string error(unsigned) const;

  template <class Sections>
  static void in_sections(Nufft& self, const Thread& thread) {
    self.clear(thread);
    Sections sections(thread);
    self.visit(thread, [&](std::size_t, auto add) { sections.section(add); });
  }

  template <auto kLocks>
  static void locked(Nufft& self, const Thread& thread) {
    self.clear(thread);
    self.visit(thread, [&](std::size_t index, auto add) {
      const std::lock_guard lock((self.*kLocks)[index]);
      add();
    });
  }

 private:
  template <class Lock>
  struct alignas(64) OnLine : Lock {};
  using Weights = std::array<float, kWidth>;

  /// Clears the grid before a pass.
  void clear(const Thread& thread) {
    const Share share = thread.share(grid_.size());
    thread.wait_for_all();
    for (std::size_t i = share.begin; i < share.end; ++i) grid_[i] = {};
    thread.wait_for_all();
  }

  /// Calls `visit(lock, add)` for each sample of the thread and each lock that covers some of the sample's
  /// points. `add()` adds to these points.
  template <class Visit>
  void visit(const Thread& thread, Visit visit) {
    const Share share = thread.share(samples_.size());
    for (std::size_t i = share.begin; i < share.end; ++i) spread(samples_[i], visit);
  }

  template <class Visit>
  void spread(const Sample& sample, Visit visit) {
    std::array<std::size_t, 3> first;
    std::array<Weights, 3> weights;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto before = static_cast<std::size_t>(sample.place[d]);
      first[d] = before - (kWidth / 2 - 1);
      weights[d] = weights_of(sample.place[d] - static_cast<float>(before));
    }
    for (std::size_t plane = first[2], end = 0; plane < first[2] + kWidth; plane = end) {
      const std::size_t lock = plane / options_.planes;
      end = std::min((lock + 1) * options_.planes, first[2] + kWidth);
      visit(lock, [&, plane, end] {
        for (std::size_t k = plane; k < end; ++k) {
          for (std::size_t j = 0; j < kWidth; ++j) {
            Complex* const row = &grid_[(k * side_ + first[1] + j) * side_ + first[0]];
            add(row, sample.value, weights[0], weights[1][j] * weights[2][k - first[2]]);
          }
        }
      });
    }
  }

  /// Loads and then stores each number, so a change in between is lost.
  static void add(Complex* row, Complex value, const Weights& weights, float weight) {
    for (std::size_t i = 0; i < kWidth; ++i) {
      row[i].real += value.real * (weights[i] * weight);
      row[i].imaginary += value.imaginary * (weights[i] * weight);
    }
  }

  /// A triangle as wide as the kernel, in steps of a sixteenth. `behind`: the distance of the sample from
  /// the grid point before it, from 0 to 1.
  static Weights weights_of(float behind) {
    Weights weights;
    for (std::size_t i = 0; i < kWidth; ++i) {
      constexpr std::size_t kBefore = kWidth / 2 - 1;  // points in front of the sample
      const float distance = std::fabs(static_cast<float>(i) - static_cast<float>(kBefore) - behind);
      weights[i] = static_cast<float>(static_cast<int>(16 - distance * 8)) / 16;
    }
    return weights;
  }

  const Options options_;
  const std::size_t side_;
  std::vector<Sample> samples_;
  std::vector<Complex> grid_;
  std::vector<OnLine<workloads::hpc::OpenMpLock>> locks_;
  std::vector<OnLine<elision::mutex>> elided_;
};

Nufft::Nufft(const Options& options)
    : options_(options),
      side_(options.grid),
      grid_(side_ * side_ * side_),
      locks_((side_ + options.planes - 1) / options.planes),
      elided_(locks_.size()) {
  CheapRandom random(options.seed);
  for (std::uint32_t i = 0; i < options.samples; ++i) {
    const Vector at = options.dense ? draw_in_ball(random) : draw_in_cube(random);
    Sample sample{};
    for (std::size_t d = 0; d < 3; ++d) {
      const double radius = static_cast<double>(side_ - kWidth - 1) / 2;
      sample.place[d] = static_cast<float>(static_cast<double>(side_) / 2 - 0.5 + radius * at[d]);
    }
    sample.value = {random.below(2) == 0 ? 1.0f : -1.0f, random.below(2) == 0 ? 1.0f : -1.0f};
    samples_.push_back(sample);
  }
}

std::string Nufft::error(unsigned) const {
  Nufft alone(options_);
  for (const Sample& sample : alone.samples_) alone.spread(sample, [](std::size_t, auto add) { add(); });
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < grid_.size(); ++i) wrong += grid_[i] != alone.grid_[i] ? 1 : 0;
  if (wrong == 0) return {};
  return "sums at " + std::to_string(wrong) + " of " + std::to_string(grid_.size()) + " points";
}

std::span<const workloads::hpc::Variant<Nufft>> Nufft::variants() {
  static constexpr workloads::hpc::Variant<Nufft> kVariants[] = {
      {"none", in_sections<workloads::hpc::Unsynchronised>},
      {"baseline", locked<&Nufft::locks_>},
      {"elided", locked<&Nufft::elided_>},
      {"tsx-init", in_sections<workloads::hpc::OneByOne>},
      {"tsx-coarsen", in_sections<workloads::hpc::Coarsened>},
      {"tsx-adapt", in_sections<workloads::hpc::Adaptive>},
  };
  return kVariants;
}

}  // namespace

int main(int argc, char** argv) { return workloads::hpc::program<Nufft>(argc, argv); }
