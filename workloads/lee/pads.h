// SPDX-License-Identifier: Apache-2.0
// The board of Lee-TM: its options, its cells, and the pads on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "support.h"

namespace workloads::lee {

using Index = std::uint32_t;  // of a cell

struct Options {
  sections::TeamOptions team;
  std::uint32_t width = 64, height = 64, pairs = 96, reach = 16;

  Index cells() const { return 2 * width * height; }
};

inline void add_options(CommandLine& line, Options& options) {
  line.add("--width", options.width, "of the board").within(2, 1 << 13);
  line.add("--height", options.height, "of the board").within(2, 1 << 13);
  line.add("--pairs", options.pairs, "of pads to connect").within(1, 1 << 20);
  line.add("--reach", options.reach, "most columns, and most rows, between the pads of a pair")
      .within(1, 1 << 13);
}

inline std::string complaint(const Options& options) {
  if (options.pairs * std::uint64_t{4} > std::uint64_t{options.width} * options.height)
    return "--pairs: less than four places of the board for a pair";
  return {};
}

/// The places of the board. A pad is on the first layer.
class Geometry {
 public:
  explicit Geometry(const Options& options)
      : width_(options.width), height_(options.height), layer_(options.width * options.height) {}

  /// Calls `visit(neighbour, cost)` for all neighbours of a cell. A change of layers costs as much as three
  /// steps.
  template <class Visit>
  void visit_neighbours(Index cell, Visit visit) const {
    const Index place = cell % layer_, column = place % width_, row = place / width_;
    if (column > 0) visit(cell - 1, 1u);
    if (column + 1 < width_) visit(cell + 1, 1u);
    if (row > 0) visit(cell - width_, 1u);
    if (row + 1 < height_) visit(cell + width_, 1u);
    visit(cell < layer_ ? cell + layer_ : cell - layer_, 3u);
  }

  bool are_neighbours(Index one, Index other) const {
    bool found = false;
    visit_neighbours(one, [&](Index cell, unsigned) { found = found || cell == other; });
    return found;
  }

  /// The steps between two pads on an empty board.
  Index distance(Index one, Index other) const {
    const auto apart = [](Index a, Index b) { return a < b ? b - a : a - b; };
    return apart(one % width_, other % width_) + apart(one / width_, other / width_);
  }

 private:
  Index width_, height_, layer_;
};

struct Pair {
  Index from, to;
};

/// Pairs of pads within reach, all different, shortest first. Fewer than asked for if the board is full.
inline std::vector<Pair> draw_pairs(const Options& options, const Geometry& geometry) {
  CheapRandom random(options.team.seed);
  std::vector<bool> used(options.cells());
  const auto near = [&](Index at, Index size) {
    const Index low = at - std::min(at, options.reach), high = std::min(at + options.reach, size - 1);
    return low + random.below(high - low + 1);
  };
  std::vector<Pair> pairs;
  for (std::uint64_t tries = 0; pairs.size() < options.pairs && tries < 100ull * options.pairs; ++tries) {
    const Index column = random.below(options.width), row = random.below(options.height);
    const Pair pair{row * options.width + column,
                    near(row, options.height) * options.width + near(column, options.width)};
    if (pair.from == pair.to || used[pair.from] || used[pair.to]) continue;
    used[pair.from] = used[pair.to] = true;
    pairs.push_back(pair);
  }
  std::stable_sort(pairs.begin(), pairs.end(), [&](const Pair& one, const Pair& other) {
    return geometry.distance(one.from, one.to) < geometry.distance(other.from, other.to);
  });
  return pairs;
}

}  // namespace workloads::lee
