// SPDX-License-Identifier: Apache-2.0
// How a thread of STAMP's bayes (bayes.h) looks for the best change of the edges to one variable.
//
// Searches take the transaction of the section. They read lists of parents, of all descendants or of one
// parent's parents, and the likelihoods of the variables; for each candidate, many nodes of the ADtree.
// best_reverse() also takes an edge out and puts it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stamp/bayes_adtree.h"
#include "stamp/bayes_network.h"

namespace workloads::bayes {

/// A score is the logarithm of how likely the records are, less a penalty for each parent.
struct Scoring {
  double records;
  double parent;  // the penalty
  double insert_factor;
  std::size_t most_parents;  // of a variable

  double of(double likelihood, std::int64_t parents) const {
    return records * likelihood - parent * static_cast<double>(parents);
  }
  /// Returns how much a score rises if likelihoods rise from `before` to `now`.
  double gain(double now, double before) const { return records * (now - before); }
};

/// The best change of a kind so far: the edge's other variable, and how much the score rises. At first it
/// is the variable itself, which means no change.
struct Best {
  Id from;
  double gain;

  void take(Id other_from, double other_gain) {
    if (other_gain <= gain) return;
    from = other_from;
    gain = other_gain;
  }
};

/// Searches for one thread, whose memory it has.
class Search {
 public:
  /// `local`: how well the parents of each variable explain it.
  Search(const AdTree& tree, const Scoring& scoring, Network& network, const float* local)
      : scoring_(scoring),
        network_(network),
        local_(local),
        likelihood_(tree, network.size()),
        walk_(network.size()),
        parents_(new Id[network.size()]()),
        others_(new Id[network.size()]()) {}

  Walk& walk() { return walk_; }

  double likelihood_alone(Id id) { return likelihood_.of(id, nullptr, 0); }

  /// Notes the parents of a variable, for likelihood_of_noted().
  template <class Transaction>
  void note_parents(Transaction& transaction, Id id) {
    number_ = list_parents(transaction, id, parents_.get());
  }
  double likelihood_of_noted(Id id) { return likelihood_.of(id, parents_.get(), number_); }

  /// Returns the best first parent of a variable, before threads change the network.
  Best best_first(Id to) {
    Best best{to, kLeastGain};
    for (Id from = 0; from < network_.size(); ++from) {
      if (from == to) continue;
      best.take(from, scoring_.gain(likelihood_.of(to, &from, 1), double{local_[to]}) - scoring_.parent);
    }
    return best;
  }

  template <class Transaction>
  Best best_insert(Transaction& transaction, Id to) {
    Best best{to, kLeastGain};
    note_parents(transaction, to);
    if (number_ >= scoring_.most_parents) return best;
    network_.find_descendants(transaction, to, walk_);
    const double before = double{transaction.read(local_[to])};
    const double penalty = scoring_.parent * scoring_.insert_factor * static_cast<double>(number_ + 1);
    for (Id from = 0; from < network_.size(); ++from) {
      if (walk_.has_seen(from) || is_noted(from)) continue;
      parents_[number_] = from;
      best.take(from, scoring_.gain(likelihood_.of(to, parents_.get(), number_ + 1), before) - penalty);
    }
    return best;
  }

  template <class Transaction>
  Best best_remove(Transaction& transaction, Id to) {
    Best best{to, kLeastGain};
    note_parents(transaction, to);
    const double before = double{transaction.read(local_[to])};
    for (std::size_t i = 0; i < number_; ++i)
      best.take(parents_[i], scoring_.gain(likelihood_without(to, i), before) + scoring_.parent);
    return best;
  }

  template <class Transaction>
  Best best_reverse(Transaction& transaction, Id to) {
    Best best{to, kLeastGain};
    note_parents(transaction, to);
    const double before_to = double{transaction.read(local_[to])};
    for (std::size_t i = 0; i < number_; ++i) {
      const Id from = parents_[i];
      const std::size_t others = list_parents(transaction, from, others_.get());
      if (others >= scoring_.most_parents) continue;
      others_[others] = to;
      const double now = likelihood_without(to, i) + likelihood_.of(from, others_.get(), others + 1);
      best.take(from, scoring_.gain(now, before_to + double{transaction.read(local_[from])}));
    }
    if (best.from != to && network_.has_other_path(transaction, best.from, to, walk_)) return {to, 0};
    return best;
  }

 private:
  static constexpr double kLeastGain = 0.01;  // far above the rounding of `local`

  template <class Transaction>
  std::size_t list_parents(Transaction& transaction, Id id, Id* ids) {
    return network_.list_parents(transaction, id, ids, scoring_.most_parents);
  }

  bool is_noted(Id id) const {
    for (std::size_t i = 0; i < number_; ++i) {
      if (parents_[i] == id) return true;
    }
    return false;
  }

  /// Returns the likelihood of `to` with all noted parents but one.
  double likelihood_without(Id to, std::size_t i) {
    const Id left_out = parents_[i];
    parents_[i] = parents_[number_ - 1];
    const double likelihood = likelihood_.of(to, parents_.get(), number_ - 1);
    parents_[i] = left_out;
    return likelihood;
  }

  const Scoring scoring_;
  Network& network_;
  const float* const local_;
  Likelihood likelihood_;
  Walk walk_;
  const std::unique_ptr<Id[]> parents_, others_;
  std::size_t number_ = 0;  // of parents_
};

}  // namespace workloads::bayes
