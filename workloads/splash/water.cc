// SPDX-License-Identifier: Apache-2.0
// Forces between molecules, as SPLASH-2's Water-Nsquared: a thread computes the forces between its
// molecules and half of all others in an array of its own, then adds them to the shared forces. Then all
// threads move their molecules.
//
// Sections: a thread adds its share to a molecule's force, under one of 64 mutexes that the molecule's
// number determines, and to the potential energy and the sum of all forces, under a mutex of their own.
// Threads spend most time outside of sections: type I of the TxSampler paper (Figure 8).
//
// A molecule is a point here. Positions, forces and energies are integers, so sums are exact in any order.
// Check: kernel.h, and forces that add up to zero.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "splash/kernel.h"

namespace {

using workloads::TeamBarrier;

constexpr double kUnit = 1 << 20;  // of lengths, forces and energies

struct Vector {
  std::array<std::int64_t, 3> parts{};
  bool operator==(const Vector&) const = default;
  void add(const Vector& other, std::int64_t factor = 1) {
    for (std::size_t i = 0; i < 3; ++i) parts[i] += factor * other.parts[i];
  }
};

struct alignas(64) Molecule {
  Vector position, velocity;
  bool operator==(const Molecule&) const = default;
};

struct alignas(64) Force {
  Vector sum;
};

class Water {
 public:
  static constexpr const char *kName = "water", *kDescription = "SPLASH-2's Water: forces between molecules",
                              *kWhat = "pairs";
  struct Options : workloads::TeamOptions {
    std::uint32_t molecules = 216;
    std::uint32_t steps = 2;
  };

  static void add_options(workloads::CommandLine& line, Options& options) {
    line.add("--molecules", options.molecules).within(2, 1 << 17);
    line.add("--steps", options.steps, "of time").within(1, 1 << 20);
  }

  explicit Water(const Options& options)
      : options_(options), molecules_(options.molecules), forces_(options.molecules) {
    workloads::CheapRandom random(options.seed);
    const double side = std::cbrt(options.molecules);
    for (Molecule& molecule : molecules_)
      for (std::int64_t& part : molecule.position.parts)
        part = random.below(static_cast<std::uint32_t>(side * kUnit));
  }

  void work(unsigned thread, TeamBarrier& barrier) {
    const auto [first, last] = workloads::share_of(molecules_.size(), thread, options_.threads);
    std::vector<Vector> own(molecules_.size());
    for (std::uint32_t step = 0; step < options_.steps; ++step) {
      std::ranges::fill(own, Vector{});
      std::int64_t energy = 0;
      for (std::size_t i = first; i < last; ++i) energy += interact(i, own);
      add_to_shared(thread, own, energy);
      barrier.wait();
      Vector sum;
      for (std::size_t i = first; i < last; ++i) move(i, sum);
      {
        const std::lock_guard lock(energy_mutex_);
        momentum_.add(sum);
      }
      barrier.wait();
    }
  }

  std::uint64_t amount() const {
    return std::uint64_t{options_.molecules} * (options_.molecules - 1) / 2 * options_.steps;
  }
  std::string complaint() const { return momentum_ == Vector{} ? "" : "sum of forces"; }
  bool operator==(const Water& other) const {
    return molecules_ == other.molecules_ && energy_ == other.energy_;
  }

 private:
  static constexpr std::size_t kLocks = 64;
  struct alignas(64) Lock {
    std::mutex mutex;
  };

  /// Computes the forces between a molecule and the half of all molecules that follows it in a circle.
  /// Returns the energy of these pairs.
  std::int64_t interact(std::size_t i, std::vector<Vector>& own) const {
    const std::size_t number = molecules_.size(), half = number / 2;
    std::int64_t energy = 0;
    for (std::size_t distance = 1; distance <= half; ++distance) {
      if (number % 2 == 0 && distance == half && i >= half) break;  // the other molecule computes this pair
      const std::size_t j = (i + distance) % number;
      std::array<double, 3> difference;
      double square = 0.5;  // keeps forces finite
      for (std::size_t d = 0; d < 3; ++d) {
        difference[d] =
            static_cast<double>(molecules_[i].position.parts[d] - molecules_[j].position.parts[d]) / kUnit;
        square += difference[d] * difference[d];
      }
      const double sixth = 1 / (square * square * square), strength = (12 * sixth - 6) * sixth / square;
      Vector force;
      for (std::size_t d = 0; d < 3; ++d) force.parts[d] = std::llround(strength * difference[d] * kUnit);
      own[i].add(force);
      own[j].add(force, -1);
      energy += std::llround((sixth - 1) * sixth * kUnit);
    }
    return energy;
  }

  void add_to_shared(unsigned thread, const std::vector<Vector>& own, std::int64_t energy) {
    const std::size_t number = molecules_.size();
    for (std::size_t i = 0; i < number; ++i) {
      const std::size_t at = (i + number * thread / options_.threads) % number;  // threads begin apart
      if (own[at] == Vector{}) continue;
      const std::lock_guard lock(locks_[at % kLocks].mutex);
      forces_[at].sum.add(own[at]);
    }
    const std::lock_guard lock(energy_mutex_);
    const volatile std::int64_t& shared = energy_;  // a load, and then a store
    energy_ = shared + energy;
  }

  /// Moves a molecule, adds its force to `sum` and clears it.
  void move(std::size_t i, Vector& sum) {
    constexpr std::int64_t kSlowness = 1 << 8;
    Molecule& molecule = molecules_[i];
    Vector& force = forces_[i].sum;
    for (std::size_t d = 0; d < 3; ++d) {
      molecule.velocity.parts[d] += force.parts[d] / kSlowness;
      molecule.position.parts[d] += molecule.velocity.parts[d] / kSlowness;
    }
    sum.add(force);
    force = {};
  }

  const Options options_;
  std::vector<Molecule> molecules_;
  std::vector<Force> forces_;
  std::array<Lock, kLocks> locks_;
  alignas(128) std::mutex energy_mutex_;
  alignas(128) std::int64_t energy_ = 0;
  Vector momentum_;  // the sum of all forces
};

}  // namespace

int main(int argc, char** argv) { return workloads::splash::kernel_main<Water>(argc, argv); }
