// SPDX-License-Identifier: Apache-2.0
// Bayes (STAMP): learns the structure of a Bayesian network from records, by hill climbing. Written from
// STAMP's description (Cao Minh et al., IISWC 2008).
//
// A random network of binary variables generates the records, whose counts go into an ADtree before threads
// start. At first, each variable gets a task to insert the parent that explains it best. A thread takes
// the task with the best score, changes the network, and looks for the next change of an edge to the same
// variable: an insertion, a removal or a reversal. A thread ends when the list of tasks is empty.
//
// Sections: adding a thread's part of the first likelihoods; a task onto the list, which is sorted; the
// first task from it; a change, with the search for a cycle that it would make; then, for each variable
// that has other parents now, the list of its parents, and its likelihood; the number of all parents; the
// likelihood of all variables. Last, one section each for the best insertion, removal and reversal: it
// reads the lists of a variable and its descendants and, for each candidate, many nodes of the ADtree. They
// are long, and read more than they write.
//
// As in the original, a task may be out of date when it is taken: it was the best for an older network. So
// the learned network depends on the order of sections. Unlike the original, a first task must raise the
// score as any other; a section that changes the network checks --edges once more, and a reversal respects
// it.
#pragma once

#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "stamp/bayes_adtree.h"
#include "stamp/bayes_learner.h"
#include "stamp/bayes_network.h"
#include "stamp/bayes_search.h"
#include "support.h"

namespace workloads::bayes {

inline constexpr const char* kDescription = "STAMP's bayes: the structure of a Bayesian network, learned";

struct Options {
  sections::TeamOptions team;
  unsigned variables = 32, records = 1024, parents = 2, percent = 20, insert_penalty = 2, edges = 2;
};

inline void add_options(CommandLine& line, Options& options) {
  line.add("-v,--variables", options.variables, "of the network").within(2, 128);
  line.add("-r,--records", options.records, "that the network generates").within(1, 1 << 20);
  line.add("-n,--parents", options.parents, "most parents of a variable that generates").within(0, 16);
  line.add("-p,--percent", options.percent, "chance of each of these parents").within(0, 100);
  line.add("-i,--insert-penalty", options.insert_penalty, "factor of the penalty for a further parent")
      .within(1, 1000);
  line.add("-e,--edges", options.edges, "most parents of a variable that are learned").within(1, 16);
}

inline std::string complaint(const Options&) { return {}; }

/// The records and the network that generated them.
class Input {
 public:
  explicit Input(const Options& options)
      : records(options.records, options.variables), random_(options.team.seed), network_(options.variables) {
    sections::Plain plain;
    Walk walk(options.variables);
    for (Id to = 0; to < options.variables; ++to) {
      for (unsigned i = 0; i < options.parents; ++i) {
        if (random_.below(100) >= options.percent) continue;
        const Id from = random_.below(options.variables);
        if (from == to || network_.has_edge(plain, from, to)) continue;
        if (!network_.has_path(plain, to, from, walk)) network_.insert_edge(plain, from, to);
      }
    }
    for (const Id id : network_.in_order()) draw(id);
  }
  ~Input() { network_.clear(); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  Network& network() { return network_; }

  Records records;

 private:
  /// Draws a variable's values. Each combination of its parents' values has another probability.
  void draw(Id id) {
    sections::Plain plain;
    std::vector<Id> parents(network_.number_of_parents(plain, id));
    network_.list_parents(plain, id, parents.data(), parents.size());
    std::vector<std::uint32_t> percent(std::size_t{1} << parents.size());
    for (std::uint32_t& one : percent) one = random_.below(101);
    for (std::size_t record = 0; record < records.size(); ++record) {
      std::size_t values = 0;
      for (const Id parent : parents) values = values * 2 + (records.value(record, parent) != 0 ? 1 : 0);
      records.value(record, id) = random_.below(100) < percent[values] ? 1 : 0;
    }
  }

  CheapRandom random_;
  Network network_;
};

/// Scores networks from the records themselves, without the tree.
class Judge {
 public:
  Judge(const Records& records, const Scoring& scoring) : records_(records), scoring_(scoring) {}

  double score_of_nothing() const {
    double sum = 0;
    for (Id id = 0; id < records_.variables(); ++id) sum += local(id, {});
    return scoring_.of(sum, 0);
  }

  double score(Network& network) const {
    double sum = 0;
    std::int64_t parents = 0;
    for (Id id = 0; id < network.size(); ++id) {
      sum += local(id, parents_of(network, id));
      parents += static_cast<std::int64_t>(parents_of(network, id).size());
    }
    return scoring_.of(sum, parents);
  }

  static std::vector<Id> parents_of(Network& network, Id id) {
    sections::Plain plain;
    std::vector<Id> parents(network.number_of_parents(plain, id));
    network.list_parents(plain, id, parents.data(), parents.size());
    return parents;
  }

  /// A variable's likelihood, as Likelihood has it.
  double local(Id id, const std::vector<Id>& parents) const {
    std::vector<double> with(std::size_t{2} << parents.size());
    for (std::size_t record = 0; record < records_.size(); ++record) {
      std::size_t values = 0;
      for (const Id parent : parents) values = values * 2 + (records_.value(record, parent) != 0 ? 1 : 0);
      with[values * 2 + (records_.value(record, id) != 0 ? 1 : 0)] += 1;
    }
    double sum = 0;
    for (std::size_t i = 0; i < with.size(); ++i) {
      if (with[i] > 0) sum += with[i] * std::log(with[i] / (with[i] + with[i ^ 1]));
    }
    return sum / static_cast<double>(records_.size());
  }

  /// Returns whether the tree and the records have the same counts, for random queries of up to `longest`
  /// variables.
  bool agrees(const AdTree& tree, std::size_t longest) const {
    CheapRandom random(records_.size());
    for (unsigned sample = 0; sample < kSamples; ++sample) {
      std::vector<Query> queries;
      const auto variables = static_cast<Id>(records_.variables());
      for (Id id = random.below(variables); id < variables && queries.size() < longest;
           id += 1 + random.below(variables))
        queries.push_back({id, random.below(2)});
      std::vector<const Query*> pointers;
      for (const Query& query : queries) pointers.push_back(&query);
      if (tree.count(pointers.data(), pointers.size()) != count(queries)) return false;
    }
    return true;
  }

 private:
  static constexpr unsigned kSamples = 100;

  std::int64_t count(const std::vector<Query>& queries) const {
    std::int64_t number = 0;
    for (std::size_t record = 0; record < records_.size(); ++record) {
      bool fits = true;
      for (const Query& query : queries)
        fits = fits && records_.value(record, static_cast<Id>(query.variable)) == query.value;
      number += fits ? 1 : 0;
    }
    return number;
  }

  const Records& records_;
  const Scoring& scoring_;
};

/// Returns the first error in the result, or null if all is right. With one thread, likelihoods must also
/// be those of the network. With more threads, a likelihood may be that of parents which another thread has
/// changed since.
inline const char* complaint(Learner& learner, const Judge& judge, const Options& options) {
  Network& network = learner.network();
  if (learner.has_tasks()) return "list of tasks";
  if (!network.is_consistent()) return "edges";
  if (network.in_order().size() != network.size()) return "network with a cycle";
  std::int64_t edges = 0;
  double likelihood = 0;
  for (Id id = 0; id < network.size(); ++id) {
    const std::vector<Id> parents = Judge::parents_of(network, id);
    if (parents.size() > options.edges) return "number of a variable's parents";
    edges += static_cast<std::int64_t>(parents.size());
    likelihood += double{learner.local(id)};
    if (options.team.threads == 1 && std::fabs(judge.local(id, parents) - double{learner.local(id)}) > 1e-6)
      return "likelihood of a variable";
  }
  if (edges != learner.parents()) return "number of parents";
  if (std::fabs(likelihood - learner.likelihood()) > 1e-9) return "likelihood";
  return judge.score(network) < judge.score_of_nothing() - 1e-6 ? "score" : nullptr;
}

template <class Sections>
int run(const Options& options) {
  Input input(options);
  const std::size_t longest = options.edges + 1;
  const AdTree tree(input.records, longest);
  const double records = options.records;
  const Scoring scoring{records, 0.5 * std::log(records), static_cast<double>(options.insert_penalty),
                        options.edges};
  const auto shared = std::make_unique<Sections>();
  Learner learner(tree, options.variables, scoring, options.team.threads);
  sections::run_sections(*shared, options.team, [&](auto& thread, unsigned index, TeamBarrier& barrier) {
    learner.work(thread, index, barrier);
  });
  const Judge judge(input.records, scoring);
  if (sections::is_wrong(judge.agrees(tree, longest) ? nullptr : "counts")) return 1;
  if (sections::is_wrong(complaint(learner, judge, options))) return 1;
  std::printf("edges: %" PRId64 "\nscore: %.3f\nscore without edges: %.3f\nscore of the generator: %.3f\n",
              learner.parents(), judge.score(learner.network()), judge.score_of_nothing(),
              judge.score(input.network()));
  learner.network().clear();
  return 0;
}

}  // namespace workloads::bayes
