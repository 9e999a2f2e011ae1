// SPDX-License-Identifier: Apache-2.0
// CLOMP-TM: threads deposit values in the zones of an unstructured mesh. Written from the descriptions in the
// TSX paper (section 4.1) and the TxSampler paper (section 7.2, Table 1).
//
// A mesh has parts, a part has zones, and a thread owns a block of parts. Each zone is wired to some scatter
// zones, drawn before the run. In a time step a thread visits each of its zones and, for each scatter zone,
// reads that zone's coordinate, computes an amount, and adds it to that zone's value.
//
//   none            no synchronisation: the bound, correct for one thread only
//   small-atomic    one atomic addition an update
//   small-critical  one mutex for all, taken for each update
//   large-critical  one mutex for all, taken for all updates of a zone
//   small-tm        as small-critical, with an elision::mutex of libelision-api
//   large-tm        as large-critical, with an elision::mutex
//
// A small section reads and writes one line of a scatter zone; its amount is computed outside. A large one
// also reads the wires and computes the amounts: it reads the visited zone and writes a line for each scatter
// zone.
//
//   adjacent     the zones that follow in the mesh: only threads at the border of two blocks conflict
//   first-parts  the same, but counted from the first part: all threads write there, at the same zones if
//                they keep step
//   random       drawn from the whole mesh: rare conflicts, many cache misses
//
// Defaults: 6144 zones of 256 bytes in 32 parts, from the arguments "x32 d6144 256" of HTMBench's runs. 256
// bytes keep zones on lines of their own, so there is no false sharing; with 32, the least, two zones share a
// line. Zones of 256 bytes use a quarter of L1's sets: in mode random, sections with 60 scatter zones often
// exceed it.
//
// All amounts are multiples of 2^-10 and at most 1, so sums are exact in any order up to 2^43 deposits. After
// the run each zone must have exactly what was deposited there: else "WRONG residue", or "LOST" under none,
// and exit code 1.
#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "command_line.h"
#include "elision/elision.hpp"
#include "support.h"

namespace {

using workloads::CheapRandom;
using workloads::now_ns;

constexpr unsigned kLeastZoneBytes = 32;

struct Options {
  std::string variant = "large-tm";
  std::string mode = "adjacent";
  unsigned threads = 1;
  std::uint32_t parts = 32;
  std::uint32_t zones = 192;  // of a part
  std::uint32_t scatters = 3;
  unsigned zone_bytes = 256;
  unsigned repeats = 10;
  unsigned warmup = 1;
  std::uint64_t seed = 1;
  bool no_pin = false;
};

struct Zone {
  double source;      // what the zone deposits, before the computation
  double coordinate;  // a small integer
  double value = 0;   // what was deposited there
};
static_assert(sizeof(Zone) <= kLeastZoneBytes);

/// Zones at equal distances, each with its wires. Locks have lines of their own.
class Mesh {
 public:
  explicit Mesh(const Options& options);

  std::uint32_t zones() const { return zones_; }
  Zone& zone(std::uint32_t index) const {
    return *std::launder(reinterpret_cast<Zone*>(memory_.get() + index * stride_));
  }
  /// The scatter zones of a zone.
  std::span<const std::uint32_t> wires(std::uint32_t zone) const {
    return {wires_.data() + std::size_t{zone} * scatters_, scatters_};
  }

  alignas(128) std::mutex critical;
  alignas(128) elision::mutex elided;

 private:
  static constexpr std::align_val_t kAlignment{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };

  void wire(const Options& options, CheapRandom& random);

  alignas(128) const std::uint32_t zones_, scatters_;
  const std::size_t stride_;
  std::unique_ptr<std::byte[], Free> memory_;
  std::vector<std::uint32_t> wires_;
};

Mesh::Mesh(const Options& options)
    : zones_(options.parts * options.zones),
      scatters_(options.scatters),
      stride_(options.zone_bytes),
      memory_(static_cast<std::byte*>(::operator new(zones_* stride_, kAlignment))) {
  CheapRandom random(options.seed);
  for (std::uint32_t zone = 0; zone < zones_; ++zone) {
    new (memory_.get() + zone * stride_)
        Zone{.source = (1 + random.below(64)) / 1024.0, .coordinate = static_cast<double>(random.below(16))};
  }
  wire(options, random);
}

void Mesh::wire(const Options& options, CheapRandom& random) {
  wires_.reserve(std::size_t{zones_} * scatters_);
  for (std::uint32_t zone = 0; zone < zones_; ++zone) {
    const std::uint32_t before = options.mode == "first-parts" ? zone % options.zones : zone;
    for (std::uint32_t i = 1; i <= scatters_; ++i)
      wires_.push_back(options.mode == "random" ? random.below(zones_) : (before + i) % zones_);
  }
}

/// A product of two small integers, of which the first is divided by 1024: exact, and at most 1.
double amount(const Zone& from, const Zone& to) {
  return from.source * (1 + std::abs(from.coordinate - to.coordinate));
}

/// A load and then a store. Another thread's deposit in between is lost.
void deposit(Zone& zone, double amount) {
  volatile double& value = zone.value;
  value = value + amount;
}

// ---- One zone's updates.

template <void (*kUpdate)(Mesh&, Zone&, double)>
void one_by_one(Mesh& mesh, std::uint32_t zone) {
  const Zone& from = mesh.zone(zone);
  for (const std::uint32_t wire : mesh.wires(zone)) {
    Zone& to = mesh.zone(wire);
    kUpdate(mesh, to, amount(from, to));
  }
}

void update_plainly(Mesh&, Zone& zone, double amount) { deposit(zone, amount); }

using Bits [[gnu::may_alias]] = std::uint64_t;

/// As OpenMP's atomic: a loop over a compare-and-exchange. GCC's atomic_ref<double> would also spill.
void update_atomically(Mesh&, Zone& zone, double amount) {
  Bits* const value = reinterpret_cast<Bits*>(&zone.value);
  std::uint64_t seen = __atomic_load_n(value, __ATOMIC_RELAXED), sum = 0;
  do {
    sum = std::bit_cast<std::uint64_t>(std::bit_cast<double>(seen) + amount);
  } while (!__atomic_compare_exchange_n(value, &seen, sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

template <auto kLock>
void update_locked(Mesh& mesh, Zone& zone, double amount) {
  const std::lock_guard lock(mesh.*kLock);
  deposit(zone, amount);
}

template <auto kLock>
void together(Mesh& mesh, std::uint32_t zone) {
  const std::lock_guard lock(mesh.*kLock);
  one_by_one<update_plainly>(mesh, zone);
}

struct Block {
  std::uint32_t begin, end;  // zones
};

template <void (*kVisit)(Mesh&, std::uint32_t)>
void step(Mesh& mesh, Block block) {
  for (std::uint32_t zone = block.begin; zone < block.end; ++zone) kVisit(mesh, zone);
}

struct Variant {
  const char* name;
  void (*step)(Mesh& mesh, Block block);
};

constexpr Variant kVariants[] = {
    {"none", step<one_by_one<update_plainly>>},
    {"small-atomic", step<one_by_one<update_atomically>>},
    {"small-critical", step<one_by_one<update_locked<&Mesh::critical>>>},
    {"large-critical", step<together<&Mesh::critical>>},
    {"small-tm", step<one_by_one<update_locked<&Mesh::elided>>>},
    {"large-tm", step<together<&Mesh::elided>>},
};

std::vector<std::string> variant_names() {
  std::vector<std::string> names;
  for (const Variant& variant : kVariants) names.emplace_back(variant.name);
  return names;
}

// ---- The run.

struct Result {
  std::uint64_t start_ns = 0, end_ns = 0;
  elision_counts before{}, after{};
};

/// A thread's time steps. Deposits commute, so no thread waits for another between steps.
void work(Mesh& mesh, const Options& options, Block block, pthread_barrier_t& barrier, Result& result) {
  const auto run = std::ranges::find(kVariants, options.variant, &Variant::name)->step;
  for (unsigned i = 0; i < options.warmup; ++i) run(mesh, block);
  pthread_barrier_wait(&barrier);
  result.before = elision::thread_counts();
  result.start_ns = now_ns();
  for (unsigned i = 0; i < options.repeats; ++i) run(mesh, block);
  result.end_ns = now_ns();
  result.after = elision::thread_counts();
}

std::vector<Result> run_threads(Mesh& mesh, const Options& options) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, options.threads);
  const auto first_zone = [&](unsigned thread) {
    return static_cast<std::uint32_t>(std::uint64_t{options.parts} * thread / options.threads) *
           options.zones;
  };
  std::vector<Result> results(options.threads);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] {
      if (!options.no_pin) workloads::pin_to(i);
      Result result;
      work(mesh, options, {first_zone(i), first_zone(i + 1)}, barrier, result);
      results[i] = result;
    });
  }
  for (std::thread& thread : threads) thread.join();
  pthread_barrier_destroy(&barrier);
  return results;
}

// ---- The result.

/// What all steps deposited in each zone.
std::vector<double> deposited(const Mesh& mesh, const Options& options) {
  std::vector<double> sums(mesh.zones());
  for (std::uint32_t zone = 0; zone < mesh.zones(); ++zone)
    for (const std::uint32_t wire : mesh.wires(zone)) sums[wire] += amount(mesh.zone(zone), mesh.zone(wire));
  for (double& sum : sums) sum *= options.warmup + options.repeats;
  return sums;
}

/// Returns the exit code.
int check(const Mesh& mesh, const Options& options) {
  double expected = 0, found = 0;
  std::uint32_t wrong = 0;
  const std::vector<double> sums = deposited(mesh, options);
  for (std::uint32_t zone = 0; zone < mesh.zones(); ++zone) {
    expected += sums[zone];
    found += mesh.zone(zone).value;
    wrong += mesh.zone(zone).value != sums[zone] ? 1 : 0;
  }
  if (wrong == 0 && found == expected) return 0;
  std::printf("%s: %.10f of %.10f deposited, %" PRIu32 " zones are wrong\n",
              options.variant == "none" ? "LOST" : "WRONG residue", expected - found, expected, wrong);
  return 1;
}

int report(const Mesh& mesh, const Options& options, const std::vector<Result>& results) {
  std::uint64_t start = UINT64_MAX, end = 0, commits = 0, fallbacks = 0;
  for (const Result& result : results) {
    start = std::min(start, result.start_ns);
    end = std::max(end, result.end_ns);
    commits += result.after.commits - result.before.commits;
    fallbacks += result.after.fallbacks - result.before.fallbacks;
  }
  const std::uint64_t updates = std::uint64_t{mesh.zones()} * options.scatters * options.repeats;
  const double seconds = static_cast<double>(end - start) / 1e9;
  std::printf("commits: %" PRIu64 "\n", commits);
  std::printf("fallbacks: %" PRIu64 "\n", fallbacks);
  std::printf("updates: %" PRIu64 "\n", updates);
  std::printf("seconds: %.6f\n", seconds);
  std::printf("throughput: %.1f updates/s\n", static_cast<double>(updates) / seconds);
  return check(mesh, options);
}

void add_options(workloads::CommandLine& line, Options& options) {
  line.add("--variant", options.variant).one_of(variant_names());
  line.add("--mode", options.mode, "where the scatter zones of a zone are")
      .one_of({"adjacent", "first-parts", "random"});
  line.add("--threads", options.threads).within(1, 1024);
  line.add("--parts", options.parts, "of the mesh, at least one a thread").within(1, 1 << 12);
  line.add("--zones", options.zones, "of a part").within(1, 1 << 12);
  line.add("--scatters", options.scatters, "scatter zones of a zone").within(1, 1024);
  line.add("--zone-bytes", options.zone_bytes, "size of a zone, a multiple of 8")
      .within(kLeastZoneBytes, 4096);
  line.add("--repeats", options.repeats, "time steps").within(1, 1 << 20);
  line.add("--warmup", options.warmup, "uncounted time steps of each thread").within(0, 1 << 20);
  line.add("--seed", options.seed);
  line.add_flag("--no-pin", options.no_pin, "threads may move between CPUs");
}

/// Empty if the options fit together.
std::string complaint(const Options& options) {
  if (options.parts < options.threads) return "--parts: fewer than --threads";
  if (options.zone_bytes % alignof(Zone) != 0) return "--zone-bytes: not a multiple of 8";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("clomp", "CLOMP-TM: deposits in the zones of an unstructured mesh");
  add_options(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  if (const std::string wrong = complaint(options); !wrong.empty()) {
    std::fprintf(stderr, "clomp: %s\n", wrong.c_str());
    return 2;
  }
  const auto mesh = std::make_unique<Mesh>(options);
  return report(*mesh, options, run_threads(*mesh, options));
}
