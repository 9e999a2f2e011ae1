// SPDX-License-Identifier: Apache-2.0
// Random access streams: invariants hold throughout, the filter changes no result, the same steps give the
// same run.
#include <ostream>
#include <string>
#include <vector>

#include "base/property_for_test.h"
#include "machine/test_machine.h"

namespace elision::machine::testing {
namespace {

/// Starts a commit and finishes it, with no access in between.
Cycles commit(Model& model, CpuId cpu, Cycles now) {
  model.begin_commit(cpu, now);
  const Cycles when = model.hold_written_lines(cpu);
  model.finish_commit(cpu);
  return when;
}

struct StormOptions {
  bool fill = true;           // use the filter
  unsigned lines = 3000;      // private and shared lines together, over all sets
  unsigned crowded_sets = 0;  // if not 0: lines fall into so few sets that L1 and L2 overflow
  std::uint64_t check_every = 5000;
};

/// The next step of the CPU that is first. The CPU's state decides between some of the possibilities.
struct Step {
  unsigned action;  // of 1000: begins, ends, atomics, stores, loads
  unsigned place;   // of 10: lines of the CPU's own, lines that all share, any lines
  std::uint64_t line;
  bool late;  // the address is ready only later
  unsigned pause_cycles;
};

Step draw(Random& random) {
  return {static_cast<unsigned>(random.below(1000)), static_cast<unsigned>(random.below(10)),
          random.below(1u << 30), random.below(4) == 0, static_cast<unsigned>(random.below(30))};
}

/// Small caches, so that everything is evicted often.
Description storm_description(unsigned cores, unsigned threads_per_core) {
  Description d = exact_description(cores, threads_per_core);
  d.prefetch = {true, true, true, 20, true};
  d.transactions.read_filter_log2 = 9;
  d.tlb.data_entries = 16;
  d.tlb.data_ways = 4;
  d.tlb.shared_latency_cycles = 7;
  d.tlb.walk_cycles = 31;
  d.l2 = {64, 8, 12};
  d.l3 = {640, 20, 50};
  d.jitter = {10, 10};
  d.coherence.hot_window_cycles = 2000;
  d.transactions.spurious_aborts_per_million = 1000;
  return d;
}

/// Runs CPUs in the order of their clocks, each doing its steps as the engine would, and returns everything
/// observable as text.
class Storm {
 public:
  Storm(const Description& description, std::uint64_t seed, const StormOptions& options)
      : machine_(description, seed), options_(options), clock_(description.topology.cpus()) {}

  std::string run(const std::vector<Step>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      one(steps[i]);
      if (i % options_.check_every == 0) check();
    }
    check();
    write_counts();
    return log_;
  }

  std::uint64_t local_accesses() const { return local_accesses_; }

 private:
  void one(const Step& step) {
    while (machine_.model().next_arrival() <= Cycles(clock_[next_cpu()]))
      note_aborts([&] { machine_.model().arrive(); });
    const unsigned cpu = next_cpu();
    note_aborts([&] { act(cpu, step); });
  }
  /// The engine's part of the aborts that `action` causes: sets the victim's clock to the time of the
  /// conflict.
  template <class Action>
  void note_aborts(Action action) {
    const std::size_t aborts = machine_.aborts().size();
    action();
    for (std::size_t i = aborts; i < machine_.aborts().size(); ++i) {
      const AbortRecord& record = machine_.aborts()[i];
      clock_[record.victim] = record.resume;
      note("abort", record.victim, record.line.value, static_cast<unsigned>(record.cause));
    }
  }
  void check() {
    const char* problem = machine_.model().check_invariants();
    RC_ASSERT(std::string(problem == nullptr ? "" : problem) == "");
  }
  void write_counts() {
    for (unsigned cpu = 0; cpu < clock_.size(); ++cpu) {
      const CpuCounts& counts = machine_.counts(cpu);
      note("clock", cpu, clock_[cpu], machine_.model().drain_time(CpuId(cpu), Cycles(0)).value);
      const auto* words = reinterpret_cast<const std::uint64_t*>(&counts);
      for (std::size_t i = 0; i < sizeof(counts) / sizeof(*words); ++i) note("count", cpu, i, words[i]);
    }
  }

  unsigned next_cpu() const {
    unsigned first = 0;
    for (unsigned cpu = 1; cpu < clock_.size(); ++cpu) {
      if (clock_[cpu] < clock_[first]) first = cpu;
    }
    return first;
  }

  void act(unsigned cpu, const Step& step) {
    const unsigned dice = step.action;
    Model& model = machine_.model();
    const CpuId id(cpu);
    std::uint64_t& now = clock_[cpu];
    if (dice < 12 && !model.in_transaction(id)) {
      now = model.begin(id, Cycles(now), dice < 4).value;
    } else if (dice < 24 && model.in_transaction(id)) {
      const bool fails = model.always_abort(id) || model.spurious_abort_due(id, Cycles(now));
      now = (fails ? model.abort(id, Cycles(now), HardwareAbort::kSpurious) : commit(model, id, Cycles(now)))
                .value;
      note("end", cpu, fails, now);
    } else {
      const AccessKind kind = dice < 60    ? AccessKind::kAtomic
                              : dice < 300 ? AccessKind::kStore
                                           : AccessKind::kLoad;
      access(cpu, line_of(cpu, step), kind, step.late);
    }
    now += step.pause_cycles;
  }

  std::uint64_t line_of(unsigned cpu, const Step& step) const {
    // Half of the accesses go to a few lines of the CPU's own, a tenth to lines that all share.
    std::uint64_t line = step.place < 5   ? 100'000 + cpu * 10'000 + step.line % 300
                         : step.place < 6 ? 1'000 + step.line % 20
                                          : 200'000 + step.line % options_.lines;
    if (options_.crowded_sets != 0) line = line * 64 + line % options_.crowded_sets;
    return line;
  }

  void access(unsigned cpu, std::uint64_t line, AccessKind kind, bool late) {
    if (options_.fill && kind != AccessKind::kAtomic && machine_.fast_path(cpu, line, kind, false)) return;
    Request request = TestMachine::request(cpu, line, kind, clock_[cpu]);
    request.open = options_.fill;
    request.most = Reach::kL1;
    if (machine_.model().access(request).verdict == Reply::Verdict::kDone) return;
    if (late) request.address_ready = Cycles(clock_[cpu] + 40);
    request.most = Reach::kCore;
    const std::uint64_t others = seen_by_others(cpu);
    Reply reply = machine_.model().access(request);
    RC_ASSERT(seen_by_others(cpu) == others);
    if (reply.verdict == Reply::Verdict::kNeedsOrder) {
      request.most = Reach::kMachine;
      reply = machine_.model().access(request);
      RC_ASSERT(reply.reach == Reach::kMachine);
    } else {
      ++local_accesses_;
      RC_ASSERT(reply.verdict == Reply::Verdict::kDone);
      RC_ASSERT(reply.reach == Reach::kCore);
    }
    clock_[cpu] = reply.clock.value;
    if (reply.verdict != Reply::Verdict::kWait) {
      note("access", cpu, line,
           reply.data_ready.value * 4 + static_cast<unsigned>(reply.verdict) +
               (reply.first_write_in_transaction ? 2 : 0));
    }
  }

  /// A checksum of everything that other cores and the directory notice.
  std::uint64_t seen_by_others(unsigned cpu) {
    std::uint64_t sum = 0;
    for (unsigned other = 0; other < clock_.size(); ++other) {
      const CpuCounts& counts = machine_.counts(other);
      sum = sum * 31 + counts.invalidations_received;
      if (other == cpu)
        sum = sum * 31 + counts.cache_to_cache + counts.upgrades + counts.l2_misses + counts.l3_misses;
    }
    return sum * 31 + machine_.aborts().size();
  }

  void note(const char* what, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    log_ += what;
    for (std::uint64_t number : {a, b, c}) (log_ += ' ') += std::to_string(number);
    log_ += '\n';
  }

  TestMachine machine_;
  StormOptions options_;
  std::vector<std::uint64_t> clock_;
  std::uint64_t local_accesses_ = 0;
  std::string log_;
};

struct Variant {
  const char* name;
  unsigned cores, threads;
  StormOptions options;
  void (*change)(Description&);
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

const Variant kVariants[] = {
    {"FourCores", 4, 1, {}, [](Description&) {}},
    {"OneCore", 1, 1, {}, [](Description&) {}},
    {"Siblings", 2, 2, {}, [](Description&) {}},
    {"Crowded", 3, 1, {.crowded_sets = 3}, [](Description&) {}},
    {"CrowdedSiblings", 2, 2, {.crowded_sets = 2}, [](Description&) {}},
    {"LostLines", 3, 2, {}, [](Description& d) { d.transactions.aborted_lines = AbortedLines::kLost; }},
    {"LinesKeptInL2", 3, 2, {}, [](Description& d) { d.transactions.aborted_lines = AbortedLines::kInL2; }},
    {"TravellingRequests",
     3,
     2,
     {.crowded_sets = 3},
     [](Description& d) { d.coherence.request_cycles = 40; }},
    {"NoConflicts", 3, 2, {}, [](Description& d) { d.conflict_detection = false; }},
    {"LoadsTakeModified", 4, 2, {}, [](Description& d) { d.coherence.loads_take_modified = true; }},
    {"BlindAlwaysAbort",
     3,
     2,
     {.crowded_sets = 6},
     [](Description& d) {
       d.always_abort = {ReadEviction::kNever, false};
     }},
    {"AlwaysAbortLosesWrites",
     3,
     2,
     {.crowded_sets = 6},
     [](Description& d) {
       d.always_abort = {ReadEviction::kL3, true, false};
     }},
    {"AlwaysAbortIgnoresConflicts",
     3,
     2,
     {.crowded_sets = 6},
     [](Description& d) {
       d.always_abort = {ReadEviction::kNever, false, false};
       d.transactions.aborted_lines = AbortedLines::kInL2;
     }},
    {"FragileAlwaysAbort",
     3,
     2,
     {.crowded_sets = 6},
     [](Description& d) {
       d.always_abort = {ReadEviction::kL1, true};
     }},
    {"LongWindow", 4, 1, {}, [](Description& d) { d.coherence.hot_window_cycles = 1'000'000; }},
    {"NoWindow", 4, 1, {}, [](Description& d) { d.coherence.hot_window_cycles = 0; }},
    {"SmallL1",
     4,
     1,
     {},
     [](Description& d) {
       d.l1d = {4, 4, 4};
     }},
    {"ManyCpus",
     80,
     1,
     {},
     [](Description& d) {
       d.l3 = {10240, 20, 50};
     }},
};

class StormTest : public ::testing::TestWithParam<Variant> {
 protected:
  static Description description() {
    Description d = storm_description(GetParam().cores, GetParam().threads);
    GetParam().change(d);
    return d;
  }
};

/// Seeds of the model's own random numbers.
rc::Gen<std::uint64_t> seeds() { return rc::gen::inRange<std::uint64_t>(1, 1000); }

/// The first `count` steps of a seed. A failure shrinks by its count: leaving steps out from the middle of
/// thousands would take longer than anybody waits.
std::vector<Step> steps_of(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<Step> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(draw(random));
  return all;
}

TEST_P(StormTest, InvariantsHold) {
  check_property(4, [] {
    StormOptions options = GetParam().options;
    options.check_every = 997;
    const std::uint64_t seed = *seeds(), step_seed = *seeds();
    Storm(description(), seed, options).run(steps_of(step_seed, *shrinking_from(30'000)));
  });
}

TEST_P(StormTest, FastPathChangesNothing) {
  check_property(4, [] {
    StormOptions slow = GetParam().options;
    slow.fill = false;
    const std::uint64_t seed = *seeds(), step_seed = *seeds();
    const std::vector<Step> all = steps_of(step_seed, *shrinking_from(60'000));
    // Not ==, which would print both texts.
    RC_ASSERT(!Storm(description(), seed, GetParam().options)
                   .run(all)
                   .compare(Storm(description(), seed, slow).run(all)));
  });
}

TEST_P(StormTest, SameStepsGiveSameRun) {
  check_property(1, [] {
    const auto storm = [](std::uint64_t seed) { return Storm(description(), seed, GetParam().options); };
    const std::vector<Step> some = steps_of(5, 30'000);
    Storm first = storm(5);
    const std::string run = first.run(some);
    const bool repeats = run == storm(5).run(some);
    const bool steps_matter = run != storm(5).run(steps_of(6, 30'000));
    const bool seed_matters = run != storm(6).run(some);
    RC_ASSERT(repeats);
    RC_ASSERT(steps_matter);
    RC_ASSERT(seed_matters);
    RC_ASSERT(first.local_accesses() > 0u);
  });
}

INSTANTIATE_TEST_SUITE_P(Machines, StormTest, ::testing::ValuesIn(kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace elision::machine::testing
