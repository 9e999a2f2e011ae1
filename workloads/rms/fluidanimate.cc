// SPDX-License-Identifier: Apache-2.0
// fluidanimate (RMS-TM, from PARSEC): particles of a fluid, by smoothed particle hydrodynamics (Mueller,
// Charypar, Gross: "Particle-Based Fluid Simulation for Interactive Applications", SCA 2003). Written from
// the descriptions of both suites (Kestor et al., ICPE 2011; Bienia et al., PACT 2008).
//
// A box is divided into cells, as wide as a particle's radius of influence; each thread owns a block of
// columns. A frame: a thread puts particles into the cells where they now are; adds to the densities of
// both particles of each near pair, and to their forces; applies the walls; moves each particle. Other
// threads can write only the cells at the border of a block, so only accesses to these are in sections:
//
//   insert       a particle into a cell: counts, writes 36 bytes; every 16 particles allocates a further cell
//   density      adds to one particle's density: reads and writes 4 bytes; two for each pair
//   force        adds to one particle's acceleration: reads and writes 12 bytes; two for each pair
//
// Fine-grained locks: a border cell has 128 mutexes. Mutex 0 guards insertions, mutex i modulo 128 guards
// particle i. A cell has 16 particles and a link. As in the original, the values of each property lie
// together.
//
// A pair adds multiples of 2^-14 to densities, and multiples of 2^-10, at most 256, to accelerations, so
// sums are exact in any order. A frame's forces between particles must add up to 0, and all particles must
// be where one thread finds them. The program also compares some densities with a sum over all particles.
// Else "WRONG ..." and exit code 1.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "rms/fluid_cells.h"
#include "rms/workers.h"
#include "support.h"

namespace workloads::rms {
namespace {

constexpr std::size_t kCellMutexes = 128;
constexpr float kSpacing = 0.59f;  // of particles at rest, in radii: PARSEC's radius is 1.695 spacings
constexpr float kTimeStep = 0.01f, kGravity = 9.75f, kPressure = 40, kViscosity = 4;
constexpr float kWallStiffness = 3000, kWallDamping = 25, kMostSpeed = 0.45f / kTimeStep;
constexpr float kDensityAtRest = 3.0f;

struct Options {
  TeamOptions team;
  unsigned frames = 2, columns = 16, height = 8;
};

/// Returns the nearest multiple of 2^-Bits. `value` must be below 2^(22 - Bits).
template <int Bits>
float rounded(float value) {
  constexpr float kShift = 1.5f * static_cast<float>(1 << (23 - Bits));
  return value + kShift - kShift;
}

float force_part(float value) { return rounded<10>(std::clamp(value, -256.0f, 256.0f)); }

/// The values of a particle, without its place in memory.
using State = std::array<float, 10>;

class Fluid {
 public:
  Fluid(const Options& options, unsigned threads)
      : frames_(options.frames),
        space_(options.columns, options.height, threads),
        grids_{Grid(space_.cells()), Grid(space_.cells())},
        mutexes_(space_.cells()),
        force_sums_(threads) {
    for (std::size_t index = 0; index < space_.cells(); ++index) {
      if (!space_.is_border(index)) continue;
      mutexes_[index] = std::make_unique<pthread_mutex_t[]>(kCellMutexes);
      for (std::size_t i = 0; i < kCellMutexes; ++i) pthread_mutex_init(&mutexes_[index][i], nullptr);
    }
    fill(options);
  }

  /// The work of each thread.
  void work(Worker& worker) {
    for (unsigned frame = 0; frame < frames_; ++frame) {
      rebuild(worker, grids_[frame % 2], grids_[1 - frame % 2]);
      step(worker, grids_[1 - frame % 2]);
    }
  }

  /// Compares the first frame's densities in some cells with sums over all particles.
  bool densities_are_right(Worker& worker) {
    rebuild(worker, grids_[0], grids_[1]);
    add_densities(worker, grids_[1]);
    const std::vector<State> all = particles(grids_[1]);
    for (std::size_t i = 0; i < all.size(); i += all.size() / kCompared + 1) {
      float sum = 0;
      for (const State& other : all)
        sum += density_part({all[i][0] - other[0], all[i][1] - other[1], all[i][2] - other[2]});
      if (sum != all[i][9] + 1) return false;  // each is near itself
    }
    return true;
  }

  /// Returns all particles after the work, sorted by their states.
  std::vector<State> particles() { return particles(grids_[frames_ % 2]); }

  /// Returns whether the forces between particles add up to 0 over all frames.
  bool forces_add_up_to_zero() const {
    double x = 0, y = 0, z = 0;
    for (const ForceSum& sum : force_sums_) x += sum.x, y += sum.y, z += sum.z;
    return x == 0 && y == 0 && z == 0;
  }

  std::size_t count() { return particles().size(); }

 private:
  static constexpr std::size_t kCompared = 64;
  struct alignas(128) ForceSum {
    double x = 0, y = 0, z = 0;
  };

  /// Fills the lower half of the box with particles at nearly equal distances.
  void fill(const Options& options) {
    CheapRandom random(options.team.seed);
    const auto little = [&random] { return (static_cast<float>(random.below(1000)) / 1000 - 0.5f) * 0.2f; };
    Cell one;
    const float half = 0.5f * kSpacing;
    for (float z = half; z < space_.width(); z += kSpacing) {
      for (float y = half; y < space_.height() / 2; y += kSpacing) {
        for (float x = half; x < space_.width(); x += kSpacing) {
          one.position[0] = {x + little() * kSpacing, y + little() * kSpacing, z + little() * kSpacing};
          one.half_velocity[0] = one.velocity[0] = {10 * little(), 10 * little(), 10 * little()};
          grids_[0].insert(space_.cell_at(one.position[0]), one, 0);
        }
      }
    }
  }

  /// Runs `body` as a section if another thread may write the cell.
  template <class Body>
  void update(Worker& worker, std::size_t cell, std::size_t mutex, Body body) {
    if (space_.is_border(cell)) {
      worker.sections.run(mutexes_[cell][mutex % kCellMutexes], body);
    } else {
      body();
    }
  }

  template <class Visit>
  void for_own_cells(const Worker& worker, Visit visit) {
    for (std::size_t cell = 0; cell < space_.cells(); ++cell)
      if (space_.owner(cell) == worker.index) visit(cell);
  }

  void rebuild(Worker& worker, Grid& from, Grid& to) {
    for_own_cells(worker, [&](std::size_t cell) { to.clear(cell); });
    worker.barrier.wait();
    for_own_cells(worker, [&](std::size_t cell) {
      from.for_each(cell, [&](const Cell& particles, std::size_t i, std::size_t) {
        const std::size_t into = space_.cell_at(particles.position[i]);
        update(worker, into, 0, [&] { to.insert(into, particles, i); });
      });
    });
    worker.barrier.wait();
  }

  void step(Worker& worker, Grid& grid) {
    add_densities(worker, grid);
    for_own_particles(worker, grid, [](Cell& cell, std::size_t i) { cell.density[i] += 1; });
    worker.barrier.wait();
    add_forces(worker, grid);
    ForceSum& sum = force_sums_[worker.index];
    for_own_particles(worker, grid, [&](Cell& cell, std::size_t i) {
      const Vector force = cell.acceleration[i];
      sum.x += force.x, sum.y += force.y + kGravity, sum.z += force.z;
      bounce(cell, i);
      advance(cell, i);
    });
    worker.barrier.wait();
  }

  template <class Visit>
  void for_own_particles(const Worker& worker, Grid& grid, Visit visit) {
    for_own_cells(worker, [&](std::size_t cell) {
      grid.for_each(cell, [&](Cell& particles, std::size_t i, std::size_t) { visit(particles, i); });
    });
  }

  /// Calls `visit` for each pair of a thread's cells with the same cell or one before: cell of the grid, cell
  /// of its chain, place in it and number, twice.
  template <class Visit>
  void for_pairs(const Worker& worker, Grid& grid, Visit visit) {
    for_own_cells(worker, [&](std::size_t own) {
      grid.for_each(own, [&](Cell& a, std::size_t i, std::size_t number) {
        const auto with = [&](std::size_t other) {
          return [&visit, &a, own, i, number, other](Cell& b, std::size_t j, std::size_t other_number) {
            visit(own, a, i, number, other, b, j, other_number);
          };
        };
        for (const std::uint32_t other : space_.before(own)) grid.for_each(other, with(other));
        grid.for_each(own, number, with(own));
      });
    });
  }

  static float density_part(const Vector& apart) {
    const float near = 1 - apart.squared();
    return near <= 0 ? 0 : rounded<14>(near * near * near);
  }

  void add_densities(Worker& worker, Grid& grid) {
    for_own_particles(worker, grid, [](Cell& cell, std::size_t i) {
      cell.density[i] = 0;
      cell.acceleration[i] = {0, -kGravity, 0};
    });
    worker.barrier.wait();
    for_pairs(worker, grid,
              [&](std::size_t own, Cell& a, std::size_t i, std::size_t number, std::size_t other, Cell& b,
                  std::size_t j, std::size_t other_number) {
                const Vector apart = a.position[i] - b.position[j];
                if (apart.squared() >= 1) return;
                const float part = density_part(apart);
                update(worker, own, number, [&] { a.density[i] += part; });
                update(worker, other, other_number, [&] { b.density[j] += part; });
              });
    worker.barrier.wait();
  }

  static Vector force(const Cell& a, std::size_t i, const Cell& b, std::size_t j, const Vector& apart) {
    const float distance = std::sqrt(std::max(apart.squared(), 1e-6f)), near = 1 - distance;
    const float product = a.density[i] * b.density[j];
    const float pressure =
        kPressure * near * near / distance * (a.density[i] + b.density[j] - 2 * kDensityAtRest) / product;
    const float viscosity = kViscosity * near / product;
    const Vector sum = apart * pressure + (b.velocity[j] - a.velocity[i]) * viscosity;
    return {force_part(sum.x), force_part(sum.y), force_part(sum.z)};
  }

  void add_forces(Worker& worker, Grid& grid) {
    for_pairs(worker, grid,
              [&](std::size_t own, Cell& a, std::size_t i, std::size_t number, std::size_t other, Cell& b,
                  std::size_t j, std::size_t other_number) {
                const Vector apart = a.position[i] - b.position[j];
                if (apart.squared() >= 1) return;
                const Vector part = force(a, i, b, j, apart);
                update(worker, own, number, [&] { a.acceleration[i] = a.acceleration[i] + part; });
                update(worker, other, other_number, [&] { b.acceleration[j] = b.acceleration[j] - part; });
              });
    worker.barrier.wait();
  }

  /// Walls push back.
  void bounce(Cell& cell, std::size_t i) const {
    const auto push = [](float at, float size, float speed, float& acceleration) {
      const float low = 0.1f - at, high = at - (size - 0.1f);
      if (low > 0) acceleration += kWallStiffness * low - kWallDamping * speed;
      if (high > 0) acceleration -= kWallStiffness * high + kWallDamping * speed;
    };
    const Vector &at = cell.position[i], &speed = cell.velocity[i];
    push(at.x, space_.width(), speed.x, cell.acceleration[i].x);
    push(at.y, space_.height(), speed.y, cell.acceleration[i].y);
    push(at.z, space_.width(), speed.z, cell.acceleration[i].z);
  }

  /// Moves a particle by less than the width of a cell.
  static void advance(Cell& cell, std::size_t i) {
    Vector next = cell.half_velocity[i] + cell.acceleration[i] * kTimeStep;
    for (float* const speed : {&next.x, &next.y, &next.z})
      *speed = std::clamp(*speed, -kMostSpeed, kMostSpeed);
    cell.velocity[i] = (cell.half_velocity[i] + next) * 0.5f;
    cell.half_velocity[i] = next;
    cell.position[i] = cell.position[i] + next * kTimeStep;
  }

  static std::vector<State> particles(Grid& grid) {
    std::vector<State> states;
    for (std::size_t index = 0; index < grid.cells(); ++index) {
      grid.for_each(index, [&](const Cell& cell, std::size_t i, std::size_t) {
        const Vector &p = cell.position[i], &h = cell.half_velocity[i], &v = cell.velocity[i];
        states.push_back({p.x, p.y, p.z, h.x, h.y, h.z, v.x, v.y, v.z, cell.density[i]});
      });
    }
    std::sort(states.begin(), states.end());
    return states;
  }

  const unsigned frames_;
  const Space space_;
  std::array<Grid, 2> grids_;
  std::vector<std::unique_ptr<pthread_mutex_t[]>> mutexes_;  // by cell; none inside of a block
  std::vector<ForceSum> force_sums_;                         // by thread
};

int run(const Options& options) {
  Fluid fluid(options, options.team.threads), alone(options, 1);
  bool densities_are_right = false;
  run_alone([&](Worker& worker) { alone.work(worker); });
  run_alone([&](Worker& worker) { densities_are_right = Fluid(options, 1).densities_are_right(worker); });
  const std::size_t count = alone.count();
  run_together(options.team, "particles", std::uint64_t{count} * options.frames,
               [&](Worker& worker) { fluid.work(worker); });
  std::printf("fluid: %zu\n", count);
  if (!densities_are_right) return exit_code_if_wrong("densities of one thread");
  if (!fluid.forces_add_up_to_zero()) return exit_code_if_wrong("sum of forces");
  return exit_code_if_wrong(fluid.particles() == alone.particles() ? "" : "particles");
}

std::string complaint(const Options& options) {
  const std::size_t rows = Space::rows_of_blocks(options.team.threads);
  return options.columns < options.team.threads / rows ? "--columns: too few for --threads" : std::string();
}

}  // namespace
}  // namespace workloads::rms

int main(int argc, char** argv) {
  using namespace workloads;
  rms::Options options;
  CommandLine line("fluidanimate", "RMS-TM's fluidanimate: particles of a fluid");
  rms::add_team_options(line, options.team);
  line.add("--frames", options.frames, "time steps").within(1, 1 << 20);
  line.add("--columns", options.columns, "cells along the box's width and depth").within(3, 256);
  line.add("--height", options.height, "cells along the box's height").within(2, 256);
  if (const auto code = line.parse(argc, argv)) return *code;
  if (const std::string wrong = rms::complaint(options); !wrong.empty()) return line.refuse(wrong);
  return rms::run(options);
}
