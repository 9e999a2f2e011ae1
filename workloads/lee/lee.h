// SPDX-License-Identifier: Apache-2.0
// Lee-TM: tracks between pads of a circuit board with two layers, by Lee's algorithm. Written from its
// paper (Ansari et al., ICA3PP 2008), with a board of random pads.
//
// Sections: a thread takes a pair of pads from the queue, shortest first. The section for its track expands
// from one pad over the board until it meets the other, goes back along falling costs, and writes the cells
// of the track. Unlike STAMP's labyrinth it copies no board: it reads the cells that the expansion reaches,
// and conflicts with tracks through them. Costs are in memory of the thread, which the section writes too.
//
// Check: tracks connect their pads, do not cross, and are all that is on the board.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "support.h"

namespace workloads::lee {

inline constexpr const char* kDescription = "Lee-TM: tracks of a circuit board by Lee's algorithm";

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

/// What a cell of the board has: the number of a track, or one of the constants.
using Content = std::int64_t;
inline constexpr Content kEmpty = -1, kPad = -2;

/// A thread's costs of cells, for one track after the other. A mark from an earlier track counts as none,
/// so that a section need not clear them.
class Router {
 public:
  Router(const Options& options, const Geometry& geometry)
      : geometry_(geometry),
        cells_(options.cells()),
        marks_(new Mark[cells_]()),
        waiting_(new Index[cells_]()),
        track_(new Index[cells_]()) {}

  /// Breadth first, where a cell whose cost falls later waits once more. Returns false if there is no
  /// track.
  template <class Transaction>
  bool expand(Transaction& transaction, const Content* board, Pair pair) {
    ++number_;
    next_ = waiting_cells_ = 0;
    reach(pair.from, 0);
    while (waiting_cells_ != 0) {
      const Index cell = take();
      if (cell == pair.to) return true;
      const std::uint32_t cost = marks_[cell].cost;
      geometry_.visit_neighbours(cell, [&](Index next, unsigned step) {
        if (is_marked(next) && marks_[next].cost <= cost + step) return;
        if (next != pair.to && !is_marked(next) && transaction.read(board[next]) != kEmpty) return;
        reach(next, cost + step);
      });
    }
    return false;
  }

  /// Goes back from the end to the beginning, always to the cheapest neighbour. Returns the number of cells
  /// between both, which track() has in this order.
  Index trace(Pair pair) {
    Index length = 0;
    for (Index cell = pair.to;;) {
      Index best = cell;
      geometry_.visit_neighbours(cell, [&](Index next, unsigned) {
        if (is_marked(next) && marks_[next].cost < marks_[best].cost) best = next;
      });
      cell = best;
      if (cell == pair.from) return length;
      track_[length++] = cell;
    }
  }

  const Index* track() const { return track_.get(); }

 private:
  struct Mark {
    std::uint32_t track, cost, waits;
  };

  bool is_marked(Index cell) const { return marks_[cell].track == number_; }

  void reach(Index cell, std::uint32_t cost) {
    Mark& mark = marks_[cell];
    const bool waits = is_marked(cell) && mark.waits != 0;
    mark = {number_, cost, 1};
    if (waits) return;
    // The queue is a ring. A cell is in it once at most, so all have room.
    const Index room = cells_ - next_;
    waiting_[waiting_cells_ < room ? next_ + waiting_cells_ : waiting_cells_ - room] = cell;
    ++waiting_cells_;
  }
  Index take() {
    const Index cell = waiting_[next_];
    next_ = next_ + 1 < cells_ ? next_ + 1 : 0;
    --waiting_cells_;
    marks_[cell].waits = 0;
    return cell;
  }

  const Geometry& geometry_;
  const Index cells_;
  std::unique_ptr<Mark[]> marks_;
  std::unique_ptr<Index[]> waiting_, track_;
  std::uint32_t number_ = 0;            // of the track
  Index next_ = 0, waiting_cells_ = 0;  // of the queue: its first cell, and how many it has
};

/// Cells between the pads of a pair, from `to` on.
struct Track {
  std::size_t pair;
  std::vector<Index> cells;
};

class Board {
 public:
  explicit Board(const Options& options)
      : geometry_(options),
        pairs_(draw_pairs(options, geometry_)),
        board_(options.cells(), kEmpty),
        results_(options.team.threads) {
    for (const Pair& pair : pairs_) board_[pair.from] = board_[pair.to] = kPad;
    for (unsigned index = 0; index < options.team.threads; ++index)
      routers_.push_back(std::make_unique<Router>(options, geometry_));
  }

  /// The work of a thread.
  template <class Thread>
  void work(Thread& thread, unsigned index) {
    for (;;) {
      std::size_t pair = 0;
      thread.atomically([&](auto& transaction) {
        pair = transaction.read(next_pair_);
        if (pair < pairs_.size()) transaction.write(next_pair_, pair + 1);
      });
      if (pair >= pairs_.size()) return;
      route(thread, *routers_[index], pair, results_[index]);
    }
  }

  /// Returns the error in the tracks, or null.
  const char* complaint() const {
    std::vector<Content> board(board_.size(), kEmpty);
    for (const Pair& pair : pairs_) board[pair.from] = board[pair.to] = kPad;
    for (const Result& result : results_) {
      for (const Track& track : result.tracks) {
        if (!is_connected(track)) return "track with a gap";
        for (const Index cell : track.cells) {
          if (std::exchange(board[cell], static_cast<Content>(track.pair)) != kEmpty)
            return "tracks that cross";
        }
      }
    }
    if (board != board_) return "board";
    return tracks() + impossible() == pairs_.size() ? nullptr : "number of tracks";
  }

  std::size_t tracks() const {
    std::size_t sum = 0;
    for (const Result& result : results_) sum += result.tracks.size();
    return sum;
  }
  std::size_t impossible() const {
    std::size_t sum = 0;
    for (const Result& result : results_) sum += result.impossible;
    return sum;
  }

 private:
  /// The tracks that one thread found.
  struct alignas(128) Result {
    std::vector<Track> tracks;
    std::size_t impossible = 0;
  };

  template <class Thread>
  void route(Thread& thread, Router& router, std::size_t number, Result& result) {
    Content* const board = board_.data();
    const Pair pair = pairs_[number];
    const Index* const track = router.track();
    bool found = false;
    Index length = 0;
    thread.atomically([&](auto& transaction) {
      found = router.expand(transaction, board, pair);
      length = found ? router.trace(pair) : 0;
      for (Index i = 0; i < length; ++i) transaction.write(board[track[i]], static_cast<Content>(number));
    });
    if (found) {
      result.tracks.push_back({number, {track, track + length}});
    } else {
      ++result.impossible;
    }
  }

  bool is_connected(const Track& track) const {
    const Pair pair = pairs_[track.pair];
    Index last = pair.to;
    for (const Index cell : track.cells)
      if (!geometry_.are_neighbours(std::exchange(last, cell), cell)) return false;
    return geometry_.are_neighbours(last, pair.from);
  }

  const Geometry geometry_;
  const std::vector<Pair> pairs_;
  std::vector<Content> board_;
  std::vector<std::unique_ptr<Router>> routers_;
  std::vector<Result> results_;
  alignas(128) std::size_t next_pair_ = 0;
};

template <class Sections>
int run(const Options& options) {
  const auto shared = std::make_unique<Sections>();
  const auto board = std::make_unique<Board>(options);
  sections::run_sections(*shared, options.team,
                         [&](auto& thread, unsigned index, TeamBarrier&) { board->work(thread, index); });
  if (sections::is_wrong(board->complaint())) return 1;
  std::printf("tracks: %zu\nwithout a track: %zu\n", board->tracks(), board->impossible());
  return 0;
}

}  // namespace workloads::lee
