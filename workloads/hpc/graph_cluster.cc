// SPDX-License-Identifier: Apache-2.0
// graphCluster (TSX paper, sections 5.1 and 5.2, Listing 1): threads divide a graph into clusters of limited
// size so that few edges lead from one cluster to another. Written from the paper's description and that of
// SSCA2's kernel 4.
//
// A thread takes each vertex of its block that is in no cluster yet as a seed, and adds vertices around it,
// nearest first, up to the limit. For each edge that it follows, it observes the vertex at the edge's end
// in a section: a free vertex joins the cluster; for a vertex of the same cluster the section counts a
// link, for a vertex of another cluster a cut edge. Then vertices leave the cluster, the last one first, if
// most of their edges lead elsewhere and no other vertex was reached through them.
//
//   none         no synchronisation: a vertex may be taken twice
//   baseline     an OpenMP lock for each vertex: a thread tries it, and waits if it is held (Listing 1)
//   elided       the same with elision::mutex: two attempts to begin a transaction if the lock is held
//   lockset      the vertex's elision::mutex alone, without a try: one transaction (5.2.1)
//   tsx-init     the same under one mutex for all, as in the paper
//   tsx-coarsen  --granularity observations in a transaction, with what lies between them
//   tsx-adapt    the same by an elision::coarsener that adapts
//
// A section reads and writes 16 bytes of one vertex. As SSCA2's generator does, the program draws the
// graph: cliques of up to --clique vertices with random numbers, and edges between cliques. The original's
// graph has 2^19 vertices.
//
// At the end the clusters must have the vertices that threads added and did not remove, must be connected
// and within the limit, and must have all cut edges that threads saw: else "WRONG ..." and exit code 1.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpc/application.h"
#include "hpc/openmp_lock.h"
#include "hpc/sections.h"

namespace {

using workloads::CheapRandom;
using workloads::CommandLine;
using workloads::Share;
using workloads::hpc::Thread;

constexpr std::uint32_t kFree = 0;  // in no cluster; cluster n has the seed n - 1

struct Vertex {
  std::uint32_t cluster = kFree;
  std::uint32_t links = 0;  // edges of its cluster that lead to it
  std::uint32_t cut = 0;    // edges of other clusters that lead to it
  std::uint32_t unused = 0;
};

enum class Seen { kJoined, kLinked, kCut };

/// Loads and then stores, so another thread's addition in between is lost.
void increment(std::uint32_t& number) {
  volatile std::uint32_t& value = number;
  value = value + 1;
}

/// The work of a section.
Seen observe(Vertex& vertex, std::uint32_t cluster) {
  if (vertex.cluster == kFree) {
    vertex.cluster = cluster;
    vertex.links = 0;
    return Seen::kJoined;
  }
  const bool is_own = vertex.cluster == cluster;
  increment(is_own ? vertex.links : vertex.cut);
  return is_own ? Seen::kLinked : Seen::kCut;
}

/// All edges in both directions, sorted by the vertex at which they begin.
struct Graph {
  std::vector<std::uint32_t> first;  // of each vertex; and at the end the number of edges
  std::vector<std::uint32_t> ends;
  std::span<const std::uint32_t> neighbours(std::uint32_t vertex) const {
    return std::span(ends).subspan(first[vertex], first[vertex + 1] - first[vertex]);
  }
};

/// A cluster that grows, and a thread's sums.
struct alignas(128) Grower {
  struct Member {
    std::uint32_t vertex, from;  // `from`: through which member it was reached
    std::uint32_t through = 0;   // members that were reached through it
  };
  std::vector<Member> members;
  std::uint64_t vertices = 0, cut = 0;
};

class GraphCluster {
 public:
  struct Options : workloads::hpc::Options {
    std::uint32_t vertices = 4096, clique = 16, limit = 16;
    unsigned outside = 2;
  };
  static constexpr const char* kName = "graph_cluster";
  static constexpr const char* kDescription = "SSCA2's kernel 4: clusters of a graph";
  static constexpr const char* kUnit = "edges";

  static void add_options(CommandLine& line, Options& options) {
    line.add("--vertices", options.vertices, "of the graph").within(1, 1 << 24);
    line.add("--clique", options.clique, "most vertices of a clique").within(1, 1 << 10);
    line.add("--outside", options.outside, "edges from each vertex to any others").within(0, 64);
    line.add("--limit", options.limit, "most vertices of a cluster").within(1, 1 << 16);
  }
  static std::string complaint(const Options& options) {
    // The most edges of a vertex. The number of all edges has 32 bits.
    const std::uint64_t edges = options.clique - 1 + std::uint64_t{2} * options.outside;
    return edges * options.vertices > UINT32_MAX ? "--vertices: too many edges" : "";
  }
  static std::span<const workloads::hpc::Variant<GraphCluster>> variants();

  explicit GraphCluster(const Options& options);

  std::uint64_t units() const { return graph_.ends.size(); }
  std::string error(unsigned) const;

  template <class Sections>
  static void in_sections(GraphCluster& self, const Thread& thread) {
    self.clear(thread);
    Sections sections(thread);
    self.cluster_block(thread, [&](std::uint32_t, auto section) { sections.section(section); });
  }

  /// The loop of Listing 1.
  template <auto kLocks>
  static void tried_first(GraphCluster& self, const Thread& thread) {
    self.clear(thread);
    self.cluster_block(thread, [&](std::uint32_t vertex, auto section) {
      auto& lock = (self.*kLocks)[vertex];
      if (!lock.try_lock()) lock.lock();
      section();
      lock.unlock();
    });
  }

  static void in_one_transaction(GraphCluster& self, const Thread& thread) {
    self.clear(thread);
    self.cluster_block(thread, [&](std::uint32_t vertex, auto section) {
      const std::lock_guard lock(self.elided_[vertex]);
      section();
    });
  }

 private:
  void clear(const Thread& thread);

  /// Makes clusters of the seeds in the thread's block. `exclude(vertex, section)` runs a section on a
  /// vertex.
  template <class Exclude>
  void cluster_block(const Thread& thread, Exclude exclude) {
    Grower& grower = growers_[thread.index];
    const Share share = thread.share(vertices_.size());
    for (std::size_t seed = share.begin; seed < share.end; ++seed) {
      grow(grower, static_cast<std::uint32_t>(seed), exclude);
      prune(grower, exclude);
      grower.vertices += grower.members.size();
    }
  }
  template <class Exclude>
  void grow(Grower& grower, std::uint32_t seed, Exclude& exclude);
  template <class Exclude>
  void prune(Grower& grower, Exclude& exclude);

  std::string error_of(std::uint32_t seed, std::vector<bool>& is_reached) const;

  const Options options_;
  Graph graph_;
  std::vector<Vertex> vertices_;
  std::vector<workloads::hpc::OpenMpLock> locks_;  // of each vertex, as the original's array
  std::vector<elision::mutex> elided_;
  std::vector<Grower> growers_;  // of each thread
};

GraphCluster::GraphCluster(const Options& options)
    : options_(options),
      vertices_(options.vertices),
      locks_(options.vertices),
      elided_(options.vertices),
      growers_(options.threads) {
  CheapRandom random(options.seed);
  const std::uint32_t count = options.vertices;
  std::vector<std::uint32_t> number(count);
  for (std::uint32_t i = 0; i < count; ++i) number[i] = i;
  for (std::uint32_t i = count - 1; i > 0; --i) std::swap(number[i], number[random.below(i + 1)]);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  const auto connect = [&](std::uint32_t one, std::uint32_t other) {
    if (one == other) return;
    edges.emplace_back(number[one], number[other]);
    edges.emplace_back(number[other], number[one]);
  };
  for (std::uint32_t first = 0, end = 0; first < count; first = end) {
    end = std::min(count, first + 1 + random.below(options.clique));
    for (std::uint32_t one = first; one < end; ++one)
      for (std::uint32_t other = first; other < one; ++other) connect(one, other);
  }
  for (std::uint32_t one = 0; one < count; ++one)
    for (unsigned i = 0; i < options.outside; ++i) connect(one, random.below(count));
  std::ranges::sort(edges);
  for (const auto& [from, to] : edges) {
    while (graph_.first.size() <= from)
      graph_.first.push_back(static_cast<std::uint32_t>(graph_.ends.size()));
    graph_.ends.push_back(to);
  }
  graph_.first.resize(count + 1, static_cast<std::uint32_t>(graph_.ends.size()));
  for (Grower& grower : growers_) grower.members.reserve(options.limit);
}

/// Removes all clusters before a pass.
void GraphCluster::clear(const Thread& thread) {
  const Share share = thread.share(vertices_.size());
  thread.wait_for_all();
  for (std::size_t i = share.begin; i < share.end; ++i) vertices_[i] = {};
  growers_[thread.index].vertices = growers_[thread.index].cut = 0;
  thread.wait_for_all();
}

template <class Exclude>
void GraphCluster::grow(Grower& grower, std::uint32_t seed, Exclude& exclude) {
  auto& members = grower.members;
  members.clear();
  bool is_free = false;
  exclude(seed, [&] {
    is_free = vertices_[seed].cluster == kFree;
    if (is_free) (void)observe(vertices_[seed], seed + 1);
  });
  if (is_free) members.push_back({seed, 0});
  for (std::uint32_t at = 0; at < members.size(); ++at) {
    for (const std::uint32_t next : graph_.neighbours(members[at].vertex)) {
      if (members.size() == options_.limit) return;
      Seen seen = Seen::kCut;
      exclude(next, [&] { seen = observe(vertices_[next], seed + 1); });
      if (seen == Seen::kCut) ++grower.cut;
      if (seen != Seen::kJoined) continue;
      members.push_back({next, at});
      ++members[at].through;
    }
  }
}

/// The sections may not have counted all links of the last members, which are then more likely to leave.
template <class Exclude>
void GraphCluster::prune(Grower& grower, Exclude& exclude) {
  auto& members = grower.members;
  while (members.size() > 1) {
    const Grower::Member last = members.back();
    bool leaves = false;
    exclude(last.vertex, [&] {
      Vertex& vertex = vertices_[last.vertex];
      leaves = last.through == 0 && (vertex.links + 1) * 2 < graph_.neighbours(last.vertex).size();
      if (leaves) vertex.cluster = kFree;
    });
    if (!leaves) return;
    --members[last.from].through;
    members.pop_back();
  }
}

/// Returns the error of one cluster, or an empty text. Follows the edges within it.
std::string GraphCluster::error_of(std::uint32_t seed, std::vector<bool>& is_reached) const {
  std::vector<std::uint32_t> members = {seed};
  is_reached[seed] = true;
  for (std::size_t at = 0; at < members.size(); ++at) {
    for (const std::uint32_t next : graph_.neighbours(members[at])) {
      if (vertices_[next].cluster != seed + 1 || is_reached[next]) continue;
      is_reached[next] = true;
      members.push_back(next);
    }
  }
  return members.size() > options_.limit ? "cluster: " + std::to_string(members.size()) + " vertices" : "";
}

std::string GraphCluster::error(unsigned) const {
  std::vector<bool> is_reached(vertices_.size());
  for (std::uint32_t seed = 0; seed < vertices_.size(); ++seed) {
    if (vertices_[seed].cluster != seed + 1) continue;
    if (const std::string wrong = error_of(seed, is_reached); !wrong.empty()) return wrong;
  }
  std::uint64_t taken = 0, cut = 0, added = 0, seen = 0;
  for (std::uint32_t i = 0; i < vertices_.size(); ++i) {
    if (vertices_[i].cluster != kFree && !is_reached[i]) return "cluster: not connected";
    taken += vertices_[i].cluster != kFree ? 1 : 0;
    cut += vertices_[i].cut;
  }
  for (const Grower& grower : growers_) {
    added += grower.vertices;
    seen += grower.cut;
  }
  if (taken != added)
    return "clusters: " + std::to_string(taken) + " vertices, added: " + std::to_string(added);
  if (cut != seen) return "cut: " + std::to_string(cut) + " edges, seen: " + std::to_string(seen);
  return {};
}

std::span<const workloads::hpc::Variant<GraphCluster>> GraphCluster::variants() {
  static constexpr workloads::hpc::Variant<GraphCluster> kVariants[] = {
      {"none", in_sections<workloads::hpc::Unsynchronised>},
      {"baseline", tried_first<&GraphCluster::locks_>},
      {"elided", tried_first<&GraphCluster::elided_>},
      {"lockset", in_one_transaction},
      {"tsx-init", in_sections<workloads::hpc::OneByOne>},
      {"tsx-coarsen", in_sections<workloads::hpc::Coarsened>},
      {"tsx-adapt", in_sections<workloads::hpc::Adaptive>},
  };
  return kVariants;
}

}  // namespace

int main(int argc, char** argv) { return workloads::hpc::program<GraphCluster>(argc, argv); }
