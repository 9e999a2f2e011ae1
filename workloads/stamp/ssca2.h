// SPDX-License-Identifier: Apache-2.0
// SSCA2 (STAMP): kernel 1 of a benchmark of graphs, which makes arrays of neighbours from a list of edges.
// Written from STAMP's description (Cao Minh et al., IISWC 2008) and the benchmark's. Weights of edges are
// left out, because no section touches them; the input is made before the clock starts.
//
// Sections: one for each edge that has no reverse. It adds the edge to its end's list of implied edges, which
// reads one in-degree and writes it and one slot; when the list has filled a block, it also allocates the
// next one and writes a pointer to it. Besides, each thread has three sections that add to totals: highest
// vertex, number of out-edges, number of implied edges.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "support.h"

namespace workloads::ssca2 {

inline constexpr const char* kDescription = "STAMP's SSCA2, kernel 1: arrays of a graph's neighbours";

struct Options {
  sections::TeamOptions team;
  unsigned scale = 13;
  double inter_clique = 1.0, one_way = 1.0;
  unsigned most_parallel = 3;
};

inline void add_options(CommandLine& line, Options& options) {
  line.add("-s,--scale", options.scale, "binary logarithm of the number of vertices").within(1, 24);
  line.add("-i,--inter-clique", options.inter_clique,
           "probability of an edge to the next vertex's clique; at distance 2, 4, ... half of the one before")
      .within_real(0, 1);
  line.add("-u,--one-way", options.one_way, "probability that an edge has no reverse").within_real(0, 1);
  line.add("-p,--most-parallel", options.most_parallel, "edges from one vertex to another").within(1, 1024);
}

inline std::string complaint(const Options&) { return {}; }

using Vertex = std::uint64_t;

struct Edge {
  Vertex from, to;
  auto operator<=>(const Edge&) const = default;
};

/// Cliques of random sizes, and edges between them that get rarer with distance. Vertices have random
/// numbers. Edges are sorted.
class Input {
 public:
  explicit Input(const Options& options)
      : vertices(Vertex{1} << options.scale),
        cluster(std::size_t{1} << (options.scale / 3)),
        options_(options),
        random_(options.team.seed) {
    form_cliques();
    name_vertices();
    for (std::size_t clique = 0; clique + 1 < first_.size(); ++clique) join_members(clique);
    for (Vertex vertex = 0; vertex < vertices; ++vertex) join_cliques(vertex);
    std::sort(edges.begin(), edges.end());
  }

  const Vertex vertices;
  const std::size_t cluster;  // most vertices of a clique
  std::vector<Edge> edges;

 private:
  std::uint32_t below(std::uint64_t bound) { return random_.below(static_cast<std::uint32_t>(bound)); }
  bool happens(double probability) { return below(1u << 24) < probability * (1u << 24); }

  /// Members of a clique follow each other, from first_[clique] on.
  void form_cliques() {
    for (Vertex vertex = 0; vertex < vertices;) {
      first_.push_back(vertex);
      const Vertex end = std::min<Vertex>(vertices, vertex + 1 + below(cluster));
      clique_.resize(end, first_.size() - 1);
      vertex = end;
    }
    first_.push_back(vertices);
  }

  void name_vertices() {
    names_.resize(vertices);
    std::iota(names_.begin(), names_.end(), Vertex{0});
    for (Vertex left = vertices; left > 1; --left) std::swap(names_[left - 1], names_[below(left)]);
  }

  void join_members(std::size_t clique) {
    for (Vertex one = first_[clique]; one < first_[clique + 1]; ++one) {
      for (Vertex other = one + 1; other < first_[clique + 1]; ++other) join(one, other);
    }
  }

  void join_cliques(Vertex vertex) {
    double probability = options_.inter_clique;
    for (Vertex distance = 1; distance < vertices; distance *= 2, probability /= 2) {
      if (!happens(probability)) continue;
      const std::size_t clique = clique_[(vertex + distance) % vertices];
      if (clique == clique_[vertex]) continue;
      join(vertex, first_[clique] + below(first_[clique + 1] - first_[clique]));
    }
  }

  /// Edges one way, which is drawn, or both ways.
  void join(Vertex one, Vertex other) {
    const bool both = !happens(options_.one_way), forward = both || below(2) == 0;
    if (forward) add(names_[one], names_[other]);
    if (both || !forward) add(names_[other], names_[one]);
  }

  void add(Vertex from, Vertex to) {
    edges.insert(edges.end(), 1 + below(options_.most_parallel), Edge{from, to});
  }

  const Options& options_;
  CheapRandom random_;
  std::vector<Vertex> first_, names_;
  std::vector<std::size_t> clique_;
};

/// Of each vertex a list: `degree` vertices from `begin` on, all lists in one array.
struct Lists {
  explicit Lists(Vertex vertices) : degrees(vertices), begins(vertices) {}
  std::vector<Vertex> degrees, begins, array;
};

/// Part of a block. Its first slot links to the block before it, the others are sources of edges.
union Slot {
  Slot* older;
  Vertex source;
};

struct Totals {
  alignas(128) Vertex vertices = 0;
  alignas(128) Vertex out_edges = 0;
  alignas(128) Vertex implied_edges = 0;
};

class Graph {
 public:
  Graph(const Input& input, const Options& options)
      : input_(input),
        cluster_(input.cluster),
        threads_(options.team.threads),
        out_(input.vertices),
        in_(input.vertices),
        sums_(threads_),
        first_blocks_(input.vertices * cluster_),
        last_blocks_(input.vertices) {}
  ~Graph() {
    for (Slot* block : last_blocks_) {
      while (block != nullptr) std::free(std::exchange(block, block->older));
    }
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// What each thread does.
  template <class Thread>
  void work(Thread& thread, unsigned index, TeamBarrier& barrier) {
    count_vertices(thread, index);
    barrier.wait();
    const Share share = share_of(totals_.vertices, index, threads_);
    count_out_edges(share);
    place_lists(thread, index, share, out_, totals_.out_edges, barrier);
    for (Vertex vertex = share.begin; vertex < share.end; ++vertex) list_out_edges(vertex);
    barrier.wait();
    for (Vertex vertex = share.begin; vertex < share.end; ++vertex) imply_edges(thread, vertex);
    barrier.wait();
    place_lists(thread, index, share, in_, totals_.implied_edges, barrier);
    for (Vertex vertex = share.begin; vertex < share.end; ++vertex) list_implied_edges(vertex);
  }

  /// Says what is wrong with the arrays, or returns null.
  const char* complaint() const {
    std::vector<Edge> edges = input_.edges, reversed, implied;
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    for (const Edge& edge : edges) reversed.push_back({edge.to, edge.from});
    std::sort(reversed.begin(), reversed.end());
    std::set_difference(reversed.begin(), reversed.end(), edges.begin(), edges.end(),
                        std::back_inserter(implied));
    if (totals_.vertices != highest_vertex(input_.edges.begin(), input_.edges.end()) + 1) return "vertices";
    if (totals_.out_edges != edges.size() || all_of(out_) != edges) return "out-edges";
    if (totals_.implied_edges != implied.size() || all_of(in_) != implied) return "implied edges";
    return nullptr;
  }

  const Totals& totals() const { return totals_; }

  /// Does not depend on the order of any list.
  std::uint64_t digest() const {
    std::uint64_t sum = 0;
    for (const Edge& edge : all_of(in_)) {
      const std::uint64_t mixed = (edge.from << 32 | edge.to) * 0x9e3779b97f4a7c15ull;
      sum += (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ull;
    }
    return sum;
  }

 private:
  template <class Iterator>
  static Vertex highest_vertex(Iterator begin, Iterator end) {
    Vertex highest = 0;
    for (; begin != end; ++begin) highest = std::max({highest, begin->from, begin->to});
    return highest;
  }

  template <class Thread>
  void count_vertices(Thread& thread, unsigned index) {
    const Share share = share_of(input_.edges.size(), index, threads_);
    const Edge* const edges = input_.edges.data();
    const Vertex vertices = highest_vertex(edges + share.begin, edges + share.end) + 1;
    thread.atomically([&](auto& transaction) {
      if (transaction.read(totals_.vertices) < vertices) transaction.write(totals_.vertices, vertices);
    });
  }

  /// The first of the edges from `vertex` or a higher one.
  const Edge* edges_from(Vertex vertex) const {
    const Edge* const begin = input_.edges.data();
    return std::lower_bound(begin, begin + input_.edges.size(), Edge{vertex, 0});
  }

  /// Parallel edges count as one.
  void count_out_edges(const Share& share) {
    const Edge* const end = edges_from(share.end);
    for (const Edge* edge = edges_from(share.begin); edge != end; ++edge) {
      if (edge + 1 == end || edge[0] != edge[1]) ++out_.degrees[edge->from];
    }
  }

  /// Computes where the lists of a thread's vertices begin, from their degrees. Ends with a barrier.
  template <class Thread>
  void place_lists(Thread& thread, unsigned index, const Share& share, Lists& lists, Vertex& total,
                   TeamBarrier& barrier) {
    Vertex sum = 0;
    for (Vertex vertex = share.begin; vertex < share.end; ++vertex) sum += lists.degrees[vertex];
    sums_[index] = sum;
    thread.atomically([&](auto& transaction) { transaction.write(total, transaction.read(total) + sum); });
    barrier.wait();
    if (index == 0) lists.array.resize(std::accumulate(sums_.begin(), sums_.end(), Vertex{0}));
    Vertex begin = std::accumulate(sums_.begin(), sums_.begin() + index, Vertex{0});
    for (Vertex vertex = share.begin; vertex < share.end; ++vertex) {
      lists.begins[vertex] = begin;
      begin += lists.degrees[vertex];
    }
    barrier.wait();
  }

  void list_out_edges(Vertex vertex) {
    const Edge* edge = edges_from(vertex);
    for (Vertex i = 0; i < out_.degrees[vertex]; ++i) {
      const Vertex to = edge->to;
      out_.array[out_.begins[vertex] + i] = to;
      if (i + 1 == out_.degrees[vertex]) break;
      while (edge->to == to) ++edge;
    }
  }

  bool has_out_edge(Vertex from, Vertex to) const {
    const Vertex begin = out_.begins[from], end = begin + out_.degrees[from];
    for (Vertex i = begin; i < end; ++i) {
      if (out_.array[i] == to) return true;
    }
    return false;
  }

  template <class Thread>
  void imply_edges(Thread& thread, Vertex from) {
    const Vertex begin = out_.begins[from], end = begin + out_.degrees[from];
    for (Vertex i = begin; i < end; ++i) {
      if (!has_out_edge(out_.array[i], from)) imply_edge(thread, from, out_.array[i]);
    }
  }

  template <class Thread>
  void imply_edge(Thread& thread, Vertex from, Vertex to) {
    Vertex& degree = in_.degrees[to];
    Vertex* const first_block = &first_blocks_[to * cluster_];
    Slot*& last_block = last_blocks_[to];
    const std::size_t cluster = cluster_;
    thread.atomically([&](auto& transaction) {
      const Vertex before = transaction.read(degree);
      transaction.write(degree, before + 1);
      if (before < cluster) {
        transaction.write(first_block[before], from);
      } else if (before % cluster != 0) {
        transaction.write(transaction.read(last_block)[1 + before % cluster].source, from);
      } else {
        Slot* const block = transaction.template make_array<Slot>(cluster + 1);
        block[0].older = transaction.read(last_block);
        block[1].source = from;
        transaction.write(last_block, block);
      }
    });
  }

  /// Copies a vertex's blocks to its list. If a block is missing, zeros stay in its place, which the check
  /// notices.
  void list_implied_edges(Vertex vertex) {
    Vertex left = in_.degrees[vertex];
    Vertex* const list = in_.array.data() + in_.begins[vertex];
    for (const Slot* block = last_blocks_[vertex]; left > cluster_ && block != nullptr;
         block = block->older) {
      const Vertex begin = (left - 1) / cluster_ * cluster_;
      for (Vertex i = begin; i < left; ++i) list[i] = block[1 + i - begin].source;
      left = begin;
    }
    for (Vertex i = 0; i < std::min<Vertex>(left, cluster_); ++i)
      list[i] = first_blocks_[vertex * cluster_ + i];
  }

  /// Returns a pair of each vertex with each entry of its list, sorted.
  std::vector<Edge> all_of(const Lists& lists) const {
    std::vector<Edge> all;
    for (Vertex vertex = 0; vertex < totals_.vertices; ++vertex) {
      for (Vertex i = 0; i < lists.degrees[vertex]; ++i)
        all.push_back({vertex, lists.array[lists.begins[vertex] + i]});
      std::sort(all.end() - static_cast<std::ptrdiff_t>(lists.degrees[vertex]), all.end());
    }
    return all;
  }

  const Input& input_;
  const std::size_t cluster_;
  const unsigned threads_;
  Lists out_, in_;
  std::vector<Vertex> sums_;  // of degrees of each thread's vertices
  std::vector<Vertex> first_blocks_;
  std::vector<Slot*> last_blocks_;  // of lists that are longer than one block
  Totals totals_;
};

template <class Sections>
int run(const Options& options) {
  const Input input(options);
  const auto shared = std::make_unique<Sections>();
  Graph graph(input, options);
  sections::run_sections(*shared, options.team, [&](auto& thread, unsigned index, TeamBarrier& barrier) {
    graph.work(thread, index, barrier);
  });
  if (sections::is_wrong(graph.complaint())) return 1;
  const Totals& totals = graph.totals();
  std::printf("edges: %zu\nout-edges: %" PRIu64 "\nimplied edges: %" PRIu64 "\ndigest: %016" PRIx64 "\n",
              input.edges.size(), totals.out_edges, totals.implied_edges, graph.digest());
  return 0;
}

}  // namespace workloads::ssca2
