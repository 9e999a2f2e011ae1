// SPDX-License-Identifier: Apache-2.0
// CLOMP-TM: threads deposit values in the zones of an unstructured mesh. Written from the descriptions in the
// TSX paper (section 4.1) and the TxSampler paper (section 7.2, Table 1).
//
// A mesh has parts, a part has zones, and a thread owns a block of parts. Each zone is wired to some scatter
// zones, drawn before the run. In a time step a thread visits each of its zones and, for each scatter zone,
// reads that zone's coordinate, computes an amount, and adds it to that zone's value.
//
//   none            no synchronisation: an upper bound, correct for one thread only
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
#include <algorithm>
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
#include <vector>

#include "atomic_add.h"
#include "command_line.h"
#include "elision/elision.hpp"
#include "support.h"
#include "team.h"

namespace {

using workloads::CheapRandom;

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

void update_atomically(Mesh&, Zone& zone, double amount) { workloads::atomic_add(zone.value, amount); }

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
  std::uint64_t commits = 0, fallbacks = 0;
};

/// Threads do their time steps, and `results` gets a row for each. Returns the nanoseconds. Deposits commute,
/// so no thread waits for another between steps.
std::uint64_t run_threads(Mesh& mesh, const Options& options, std::vector<Result>& results) {
  const auto step = std::ranges::find(kVariants, options.variant, &Variant::name)->step;
  const auto first_zone = [&](unsigned thread) {
    return static_cast<std::uint32_t>(std::uint64_t{options.parts} * thread / options.threads) *
           options.zones;
  };
  const auto do_steps = [&](unsigned thread, unsigned number) {
    for (unsigned i = 0; i < number; ++i) step(mesh, {first_zone(thread), first_zone(thread + 1)});
  };
  const auto warm_up = [&](unsigned thread) {
    do_steps(thread, options.warmup);
    return elision::thread_counts();
  };
  return workloads::run_team(
      options.threads, !options.no_pin, warm_up,
      [&](unsigned thread, const elision_counts& before, workloads::TeamBarrier&) {
        do_steps(thread, options.repeats);
        const elision_counts after = elision::thread_counts();
        results[thread] = {after.commits - before.commits, after.fallbacks - before.fallbacks};
      });
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

int report(const Mesh& mesh, const Options& options, const std::vector<Result>& results,
           std::uint64_t run_ns) {
  std::uint64_t commits = 0, fallbacks = 0;
  for (const Result& result : results) {
    commits += result.commits;
    fallbacks += result.fallbacks;
  }
  std::printf("commits: %" PRIu64 "\nfallbacks: %" PRIu64 "\n", commits, fallbacks);
  workloads::print_throughput("updates", std::uint64_t{mesh.zones()} * options.scatters * options.repeats,
                              run_ns);
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
  if (const std::string wrong = complaint(options); !wrong.empty()) return line.refuse(wrong);
  const auto mesh = std::make_unique<Mesh>(options);
  std::vector<Result> results(options.threads);
  const std::uint64_t run_ns = run_threads(*mesh, options, results);
  return report(*mesh, options, results, run_ns);
}
