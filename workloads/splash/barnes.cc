// SPDX-License-Identifier: Apache-2.0
// Gravity between bodies by a tree of cells (Barnes and Hut), as SPLASH-2's Barnes: threads load their
// bodies into one octree, compute centres of mass, then the forces on their bodies, and move them.
//
// Sections: a thread puts a body into an empty place of a cell, or replaces another body by a new cell with
// both, under one of 2048 mutexes that the cell determines. Threads walk down to that place outside of
// sections. They spend most time on forces: type I of the TxSampler paper (Figure 8).
//
// The tree does not depend on the order of bodies, so neither does any sum. Check: kernel.h, and a tree
// with each body once.
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "splash/kernel.h"

namespace {

using workloads::TeamBarrier;
using Vector = std::array<double, 3>;

/// A body, or a cell with eight places.
struct Node {
  bool is_cell;
  Vector position{};  // a cell's is its centre of mass
  double mass = 0;
};

struct Body : Node {
  Body() : Node{false} {}
  Vector velocity{}, acceleration{};
  bool operator==(const Body& other) const {
    return position == other.position && velocity == other.velocity;
  }
};

struct Cell : Node {
  Cell(const Vector& low_corner, double length) : Node{true}, low(low_corner), side(length) {}
  Vector low;  // its corner with the least coordinates
  double side;
  std::array<std::atomic<Node*>, 8> places{};

  /// Returns the number of the place that contains a position.
  std::size_t place_of(const Vector& at) const {
    std::size_t place = 0;
    for (std::size_t d = 0; d < 3; ++d) place |= (at[d] >= low[d] + side / 2 ? std::size_t{1} : 0) << d;
    return place;
  }
  Vector corner_of(std::size_t place) const {
    Vector corner = low;
    for (std::size_t d = 0; d < 3; ++d)
      if ((place >> d & 1) != 0) corner[d] += side / 2;
    return corner;
  }
};

class Barnes {
 public:
  static constexpr const char *kName = "barnes", *kDescription = "SPLASH-2's Barnes: gravity by an octree",
                              *kWhat = "bodies";
  struct Options : workloads::TeamOptions {
    std::uint32_t bodies = 512;
    std::uint32_t steps = 2;
  };

  static void add_options(workloads::CommandLine& line, Options& options) {
    line.add("--bodies", options.bodies).within(1, 1 << 24);
    line.add("--steps", options.steps, "of time").within(1, 100);
  }

  explicit Barnes(const Options& options)
      : options_(options), bodies_(options.bodies), cells_(options.threads), locks_(kLocks) {
    workloads::CheapRandom random(options.seed);
    for (Body& body : bodies_) {
      // Bodies are in a sphere and denser near its middle.
      const double radius = std::pow((1 + random.below(1u << 20)) / static_cast<double>(1u << 20), 2);
      for (double& part : body.position) part = radius * (random.below(1u << 20) / double{1u << 19} - 1);
      body.mass = 1.0 / options.bodies;
    }
  }

  void work(unsigned thread, TeamBarrier& barrier) {
    const auto [first, last] = workloads::share_of(bodies_.size(), thread, options_.threads);
    for (std::uint32_t step = 0; step < options_.steps; ++step) {
      if (thread == 0)
        root_ = &cells_[0].emplace_back(Vector{-kHalfSide, -kHalfSide, -kHalfSide}, 2 * kHalfSide);
      barrier.wait();
      for (std::size_t i = first; i < last; ++i) load(bodies_[i], cells_[thread]);
      barrier.wait();
      if (thread == 0) loaded_ += sum_up(*root_);
      barrier.wait();
      for (std::size_t i = first; i < last; ++i) attract(bodies_[i]);
      barrier.wait();
      for (std::size_t i = first; i < last; ++i) move(bodies_[i]);
      cells_[thread].clear();
      barrier.wait();
    }
  }

  std::uint64_t amount() const { return std::uint64_t{options_.bodies} * options_.steps; }
  std::string complaint() const { return loaded_ == amount() ? "" : "number of bodies in the tree"; }
  bool operator==(const Barnes& other) const { return bodies_ == other.bodies_; }

 private:
  static constexpr double kHalfSide = 4, kOpening = 1.0, kSoftening = 0.05, kStepSeconds = 0.01;
  static constexpr std::size_t kLocks = 2048;

  std::mutex& lock_of(const Cell& cell) {
    return locks_[reinterpret_cast<std::uintptr_t>(&cell) / sizeof(Cell) % kLocks];
  }

  /// `own`: the cells that this thread made.
  void load(Body& body, std::deque<Cell>& own) {
    Cell* cell = root_;
    for (;;) {
      const std::size_t place = cell->place_of(body.position);
      Node* const seen = cell->places[place].load(std::memory_order_acquire);
      if (seen != nullptr && seen->is_cell) {
        cell = static_cast<Cell*>(seen);
      } else if (put(*cell, place, seen, body, own)) {
        return;
      }
    }
  }

  /// Returns false if the place has changed, or if it now has a new cell in which the body must go on.
  bool put(Cell& cell, std::size_t place, Node* seen, Body& body, std::deque<Cell>& own) {
    const std::lock_guard lock(lock_of(cell));
    if (cell.places[place].load(std::memory_order_relaxed) != seen) return false;
    if (seen == nullptr) {
      cell.places[place].store(&body, std::memory_order_release);
      return true;
    }
    Cell& made = own.emplace_back(cell.corner_of(place), cell.side / 2);
    made.places[made.place_of(seen->position)].store(seen, std::memory_order_relaxed);
    cell.places[place].store(&made, std::memory_order_release);
    return false;
  }

  /// Computes masses and centres of mass, from the leaves up. Returns the number of bodies.
  std::uint64_t sum_up(Cell& cell) {
    std::uint64_t bodies = 0;
    for (const auto& place : cell.places) {
      Node* const node = place.load(std::memory_order_relaxed);
      if (node == nullptr) continue;
      bodies += node->is_cell ? sum_up(static_cast<Cell&>(*node)) : 1;
      cell.mass += node->mass;
      for (std::size_t d = 0; d < 3; ++d) cell.position[d] += node->mass * node->position[d];
    }
    for (double& part : cell.position) part /= cell.mass;
    return bodies;
  }

  void attract(Body& body) const {
    body.acceleration = {};
    pull(body, *root_);
  }

  void pull(Body& body, const Node& node) const {
    if (&node == &body) return;
    Vector difference;
    double square = kSoftening * kSoftening;
    for (std::size_t d = 0; d < 3; ++d) {
      difference[d] = node.position[d] - body.position[d];
      square += difference[d] * difference[d];
    }
    if (node.is_cell) {
      const Cell& cell = static_cast<const Cell&>(node);
      if (cell.side * cell.side > kOpening * kOpening * square) {
        for (const auto& place : cell.places)
          if (const Node* const below = place.load(std::memory_order_relaxed)) pull(body, *below);
        return;
      }
    }
    const double factor = node.mass / (square * std::sqrt(square));
    for (std::size_t d = 0; d < 3; ++d) body.acceleration[d] += factor * difference[d];
  }

  static void move(Body& body) {
    for (std::size_t d = 0; d < 3; ++d) {
      body.velocity[d] += kStepSeconds * body.acceleration[d];
      body.position[d] += kStepSeconds * body.velocity[d];
    }
  }

  const Options options_;
  std::vector<Body> bodies_;
  std::vector<std::deque<Cell>> cells_;  // of each thread
  std::vector<std::mutex> locks_;
  Cell* root_ = nullptr;
  std::uint64_t loaded_ = 0;  // bodies in the trees of all steps
};

}  // namespace

int main(int argc, char** argv) { return workloads::splash::kernel_main<Barnes>(argc, argv); }
