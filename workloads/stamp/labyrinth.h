// SPDX-License-Identifier: Apache-2.0
// Labyrinth (STAMP): wires between pairs of points of a grid in three dimensions, by Lee's algorithm. Written
// from STAMP's description (Cao Minh et al., IISWC 2008) and that of Lee-TM (Ansari et al., ICA3PP 2008).
//
// Sections: a thread takes a pair from the queue, longest first. The section for its path copies the whole
// grid, eight bytes a cell, to memory of the thread, expands there from one end until it meets the other,
// goes back along falling costs, and writes the cells between both ends. Its copy is by peek(): only cells of
// its path are read, and one that was stale there restarts it. But as a hardware transaction it reads
// everything and also writes the thread's copy, so it needs room for all of both. Last, a thread adds its
// paths to the results.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "support.h"

namespace workloads::labyrinth {

inline constexpr const char* kDescription = "STAMP's labyrinth: disjoint paths in a grid by Lee's algorithm";

using Index = std::uint32_t;  // of a cell
using Cost = std::int64_t;

struct Options {
  sections::TeamOptions team;
  unsigned x = 32, y = 32, z = 3, pairs = 96;
  unsigned x_cost = 1, y_cost = 1, z_cost = 2, bend_cost = 1;

  std::uint64_t cells() const { return std::uint64_t{x} * y * z; }
};

inline void add_options(CommandLine& line, Options& options) {
  line.add("-x", options.x, "size of the grid").within(1, 1 << 16);
  line.add("-y", options.y).within(1, 1 << 16);
  line.add("-z", options.z).within(1, 1 << 16);
  line.add("-n,--pairs", options.pairs, "of points to connect").within(1, 1 << 24);
  line.add("--x-cost", options.x_cost, "of a step").within(1, 1000);
  line.add("--y-cost", options.y_cost).within(1, 1000);
  line.add("--z-cost", options.z_cost).within(1, 1000);
  line.add("--bend-cost", options.bend_cost, "of a change of direction on the way back").within(0, 1000);
}

inline std::string complaint(const Options& options) {
  if (options.cells() > 1u << 28) return "-x, -y, -z: more than 2^28 cells";
  if (std::uint64_t{options.pairs} * 2 > options.cells()) return "--pairs: more points than cells";
  return {};
}

/// The grid without what is in it: which cells are neighbours, and what a step costs.
class Geometry {
 public:
  explicit Geometry(const Options& options)
      : sizes_{options.x, options.y, options.z}, costs_{options.x_cost, options.y_cost, options.z_cost} {}

  /// Calls `visit(neighbour, direction, cost)` for all neighbours of a cell.
  template <class Visit>
  void visit_neighbours(Index cell, Visit visit) const {
    Index rest = cell, stride = 1;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const Index size = sizes_[axis], at = rest % size;
      if (at + 1 < size) visit(cell + stride, 2 * axis, costs_[axis]);
      if (at > 0) visit(cell - stride, 2 * axis + 1, costs_[axis]);
      rest /= size;
      stride *= size;
    }
  }

  bool are_neighbours(Index one, Index other) const {
    bool found = false;
    visit_neighbours(one, [&](Index cell, unsigned, Cost) { found = found || cell == other; });
    return found;
  }

  std::uint64_t squared_distance(Index one, Index other) const {
    std::uint64_t sum = 0;
    for (const Index size : sizes_) {
      const auto difference = std::int64_t{one % size} - std::int64_t{other % size};
      sum += static_cast<std::uint64_t>(difference * difference);
      one /= size;
      other /= size;
    }
    return sum;
  }

 private:
  Index sizes_[3];
  Cost costs_[3];
};

struct Pair {
  Index from, to;
};

/// Pairs of cells, all different, longest first.
inline std::vector<Pair> random_pairs(const Options& options, const Geometry& geometry) {
  CheapRandom random(options.team.seed);
  std::vector<Index> cells(options.cells());
  std::iota(cells.begin(), cells.end(), Index{0});
  Index used = 0;
  const auto draw = [&] {
    const auto left = static_cast<Index>(cells.size()) - used;
    std::swap(cells[used], cells[used + random.below(left)]);
    return cells[used++];
  };
  std::vector<Pair> pairs(options.pairs);
  for (Pair& pair : pairs) {
    pair.from = draw();
    pair.to = draw();
  }
  std::stable_sort(pairs.begin(), pairs.end(), [&](const Pair& one, const Pair& other) {
    return geometry.squared_distance(one.from, one.to) > geometry.squared_distance(other.from, other.to);
  });
  return pairs;
}

/// What a cell of the grid has in it: the number of a path, or
using Content = std::int64_t;
inline constexpr Content kEmpty = -1, kEnd = -2;  // kEnd: an end of a pair, from the beginning on

/// A thread's copy of the grid, where it looks for a path. Its memory is allocated once.
class Router {
 public:
  Router(const Options& options, const Geometry& geometry)
      : geometry_(geometry),
        bend_cost_(options.bend_cost),
        cells_(static_cast<Index>(options.cells())),
        labels_(new Label[cells_]()),
        waiting_(new Index[cells_]()),
        path_(new Index[cells_]()) {}

  /// Copies what may be stale. Ends of `pair` are free for its own path.
  template <class Transaction>
  void copy(Transaction& transaction, const Content* grid, Pair pair) {
    Label* const labels = labels_.get();
    for (Index cell = 0; cell < cells_; ++cell)
      labels[cell] = transaction.peek(grid[cell]) == kEmpty ? kFree : kBlocked;
    labels[pair.from] = labels[pair.to] = kFree;
  }

  /// Breadth first: labels cells with their costs from one end until it takes the other from the queue. A
  /// cell whose cost falls later waits once more. False if there is no path.
  bool expand(Pair pair) {
    next_ = number_ = 0;
    reach(pair.from, 0);
    while (number_ != 0) {
      const Index cell = take();
      if (cell == pair.to) return true;
      const Cost cost = cost_of(labels_[cell]);
      labels_[cell] = label_of(cost, false);
      geometry_.visit_neighbours(cell, [&](Index next, unsigned, Cost step) { reach(next, cost + step); });
    }
    return false;
  }

  /// Goes back from the end to the beginning, always to a cell of lower cost. Returns the number of cells
  /// between both, which path() has in this order.
  Index trace(Pair pair) {
    Index length = 0, cell = pair.to;
    unsigned direction = kNoDirection;
    for (;;) {
      cell = cheapest_before(cell, direction);
      if (cell == pair.from) return length;
      path_[length++] = cell;
    }
  }

  const Index* path() const { return path_.get(); }

 private:
  /// Of a cell: twice its cost, plus one while it waits in the queue; or kFree or kBlocked.
  using Label = std::int64_t;
  static constexpr Label kFree = -1, kBlocked = -2;
  static constexpr unsigned kNoDirection = 6;

  static Label label_of(Cost cost, bool waits) { return cost * 2 + (waits ? 1 : 0); }
  static Cost cost_of(Label label) { return label / 2; }
  static bool waits(Label label) { return label % 2 == 1; }

  void reach(Index cell, Cost cost) {
    const Label label = labels_[cell];
    if (label == kBlocked || (label != kFree && cost_of(label) <= cost)) return;
    labels_[cell] = label_of(cost, true);
    if (label == kFree || !waits(label)) put(cell);
  }

  /// The queue is a ring. A cell is in it once at most, so all have room.
  void put(Index cell) {
    const Index room = cells_ - next_;
    waiting_[number_ < room ? next_ + number_ : number_ - room] = cell;
    ++number_;
  }
  Index take() {
    const Index cell = waiting_[next_];
    next_ = next_ + 1 < cells_ ? next_ + 1 : 0;
    --number_;
    return cell;
  }

  /// The neighbour with the lowest cost by way of it. Sets in which direction it lies, from which `direction`
  /// differs by a bend.
  Index cheapest_before(Index cell, unsigned& direction) const {
    const Cost cost = cost_of(labels_[cell]);
    const unsigned old_direction = direction;
    Cost lowest = std::numeric_limits<Cost>::max();
    Index best = cell;
    geometry_.visit_neighbours(cell, [&](Index next, unsigned way, Cost step) {
      const Label label = labels_[next];
      if (label < 0 || cost_of(label) >= cost) return;
      const bool bends = old_direction != kNoDirection && way != old_direction;
      const Cost whole = cost_of(label) + step + (bends ? bend_cost_ : 0);
      if (whole >= lowest) return;
      lowest = whole;
      best = next;
      direction = way;
    });
    return best;
  }

  const Geometry& geometry_;
  const Cost bend_cost_;
  const Index cells_;
  std::unique_ptr<Label[]> labels_;
  std::unique_ptr<Index[]> waiting_, path_;
  Index next_ = 0, number_ = 0;  // of the queue: where its first cell is, and how many it has
};

/// Cells between the ends of a pair, from `to` on.
struct Path {
  std::size_t pair;
  std::vector<Index> cells;
};

/// What one thread found, and a link to what another one did.
struct Result {
  std::vector<Path> paths;
  std::size_t impossible = 0;
  const Result* next = nullptr;
};

struct Shared {
  alignas(128) std::size_t next_pair = 0;
  alignas(128) const Result* results = nullptr;
  std::size_t impossible = 0;
};

class Maze {
 public:
  explicit Maze(const Options& options)
      : geometry_(options), pairs_(random_pairs(options, geometry_)), cells_(options.cells()) {
    lines_.resize(cells_ / kCells + 1);
    grid_ = lines_[0].cells;
    for (std::size_t cell = 0; cell < lines_.size() * kCells; ++cell) grid_[cell] = kEmpty;
    for (const Pair& pair : pairs_) grid_[pair.from] = grid_[pair.to] = kEnd;
    for (unsigned index = 0; index < options.team.threads; ++index)
      routers_.push_back(std::make_unique<Router>(options, geometry_));
    results_.resize(options.team.threads);
  }

  /// What each thread does.
  template <class Thread>
  void work(Thread& thread, unsigned index) {
    Result& result = results_[index];
    const std::size_t pairs = pairs_.size();
    for (;;) {
      std::size_t pair = 0;
      thread.atomically([&](auto& transaction) {
        pair = transaction.read(shared_.next_pair);
        if (pair < pairs) transaction.write(shared_.next_pair, pair + 1);
      });
      if (pair >= pairs) break;
      route(thread, *routers_[index], pair, result);
    }
    thread.atomically([&](auto& transaction) {
      transaction.write(result.next, transaction.read(shared_.results));
      transaction.write(shared_.results, &result);
      transaction.write(shared_.impossible, transaction.read(shared_.impossible) + result.impossible);
    });
  }

  /// Says what is wrong with the paths, or returns null.
  const char* complaint() const {
    std::vector<Content> grid(cells_, kEmpty);
    for (const Pair& pair : pairs_) grid[pair.from] = grid[pair.to] = kEnd;
    for (const Result* result = shared_.results; result != nullptr; result = result->next) {
      for (const Path& path : result->paths) {
        if (!is_connected(path)) return "path with a gap";
        for (const Index cell : path.cells) {
          if (std::exchange(grid[cell], static_cast<Content>(path.pair)) != kEmpty) return "paths that cross";
        }
      }
    }
    if (!std::equal(grid.begin(), grid.end(), grid_)) return "grid";
    return paths() + shared_.impossible == pairs_.size() ? nullptr : "number of paths";
  }

  std::size_t paths() const {
    std::size_t sum = 0;
    for (const Result* result = shared_.results; result != nullptr; result = result->next)
      sum += result->paths.size();
    return sum;
  }

 private:
  static constexpr std::size_t kCells = 64 / sizeof(Content);
  struct alignas(64) Line {
    Content cells[kCells];
  };

  template <class Thread>
  void route(Thread& thread, Router& router, std::size_t number, Result& result) {
    Content* const grid = grid_;
    const Pair pair = pairs_[number];
    const Index* const path = router.path();
    bool found = false;
    Index length = 0;
    thread.atomically([&](auto& transaction) {
      router.copy(transaction, grid, pair);
      found = router.expand(pair);
      length = found ? router.trace(pair) : 0;
      for (Index i = 0; i < length; ++i) {
        Content& content = grid[path[i]];
        if (transaction.read(content) != kEmpty) transaction.restart();
        transaction.write(content, static_cast<Content>(number));
      }
    });
    if (found) {
      result.paths.push_back({number, {path, path + length}});
    } else {
      ++result.impossible;
    }
  }

  bool is_connected(const Path& path) const {
    const Pair pair = pairs_[path.pair];
    Index last = pair.to;
    for (const Index cell : path.cells) {
      if (!geometry_.are_neighbours(std::exchange(last, cell), cell)) return false;
    }
    return geometry_.are_neighbours(last, pair.from);
  }

  const Geometry geometry_;
  const std::vector<Pair> pairs_;
  const std::size_t cells_;
  std::vector<Line> lines_;  // memory of the grid, which begins on a line of its own as the original's
  Content* grid_;
  std::vector<std::unique_ptr<Router>> routers_;
  std::vector<Result> results_;
  Shared shared_;
};

template <class Sections>
int run(const Options& options) {
  const auto shared = std::make_unique<Sections>();
  Maze maze(options);
  sections::run_sections(*shared, options.team,
                         [&](auto& thread, unsigned index, TeamBarrier&) { maze.work(thread, index); });
  if (sections::is_wrong(maze.complaint())) return 1;
  std::printf("paths: %zu\n", maze.paths());
  return 0;
}

}  // namespace workloads::labyrinth
