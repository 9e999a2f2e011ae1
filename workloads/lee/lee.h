// SPDX-License-Identifier: Apache-2.0
// Lee-TM: tracks between pads of a circuit board with two layers, by Lee's algorithm. Written from its
// paper (Ansari et al., ICA3PP 2008), with a board of random pads.
//
// Sections: a thread takes a pair of pads from the queue, shortest first. The section for its track expands
// from one pad over the board until it meets the other, goes back along falling costs, and writes the cells
// of the track. Unlike STAMP's labyrinth it copies no board: it reads the cells that the expansion reaches,
// and conflicts with tracks through them. Costs are in memory of the thread, which the section writes too.
//
// Check: tracks connect their pads, do not cross, and are all that is on the board; no way is left between
// pads without a track.
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

#include "lee/pads.h"
#include "sections/run.h"
#include "support.h"

namespace workloads::lee {

inline constexpr const char* kDescription = "Lee-TM: tracks of a circuit board by Lee's algorithm";

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
    // Cells only fill up, so a pair that has a way at the end had one when a thread looked for it.
    for (const Result& result : results_)
      for (const std::size_t pair : result.without_track)
        if (has_way(pairs_[pair])) return "pair without a track";
    return tracks() + impossible() == pairs_.size() ? nullptr : "number of tracks";
  }

  std::size_t tracks() const {
    std::size_t sum = 0;
    for (const Result& result : results_) sum += result.tracks.size();
    return sum;
  }
  std::size_t impossible() const {
    std::size_t sum = 0;
    for (const Result& result : results_) sum += result.without_track.size();
    return sum;
  }

 private:
  /// What one thread found.
  struct alignas(128) Result {
    std::vector<Track> tracks;
    std::vector<std::size_t> without_track;  // pairs
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
      result.without_track.push_back(number);
    }
  }

  bool is_connected(const Track& track) const {
    const Pair pair = pairs_[track.pair];
    Index last = pair.to;
    for (const Index cell : track.cells)
      if (!geometry_.are_neighbours(std::exchange(last, cell), cell)) return false;
    return geometry_.are_neighbours(last, pair.from);
  }

  /// Whether empty cells lead from one pad to the other.
  bool has_way(const Pair& pair) const {
    std::vector<bool> reached(board_.size());
    std::vector<Index> waiting = {pair.from};
    while (!waiting.empty() && !reached[pair.to]) {
      const Index cell = waiting.back();
      waiting.pop_back();
      geometry_.visit_neighbours(cell, [&](Index next, unsigned) {
        if (reached[next] || (next != pair.to && board_[next] != kEmpty)) return;
        reached[next] = true;
        waiting.push_back(next);
      });
    }
    return reached[pair.to];
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
