// SPDX-License-Identifier: Apache-2.0
// How long the rest of a comparison takes: an estimate that learns from the runs that have ended.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "cli/experiment/sample.h"

namespace elision::cli::experiment {

class RemainingTime {
 public:
  /// One more run is to do.
  void add(const Cell& cell) { ++group(cell).left; }

  /// A run that was to do has ended, after so many seconds.
  void end(const Cell& cell, double seconds);

  /// A run that was to do is left out.
  void leave_out(const Cell& cell) { --group(cell).left; }

  /// One run of `cell`: the mean of the ended runs of its design with its number of threads; without any, of
  /// all designs with this number; else of all designs with the next smaller number, as many times longer as
  /// there are more threads, since each may bring work of its own. 0 if no run has ended.
  double expected_seconds(const Cell& cell) const { return expected_seconds(key_of(cell)); }

  /// Of the runs to do, one after the other.
  double seconds_left() const;

 private:
  struct Mean {
    double seconds = 0;
    std::size_t runs = 0;
    void add(double more);
    std::optional<double> value() const;
  };
  struct Group {
    Mean mean;
    std::size_t left = 0;
  };
  using Threads = std::optional<unsigned>;
  using Key = std::pair<Threads, std::string>;  // number of threads, design

  static Key key_of(const Cell& cell) { return {cell.threads, cell.design}; }
  Group& group(const Cell& cell) { return groups_[key_of(cell)]; }
  double expected_seconds(const Key& key) const;

  std::map<Key, Group> groups_;
  std::map<Threads, Mean> with_threads_;
};

}  // namespace elision::cli::experiment
