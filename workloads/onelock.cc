// SPDX-License-Identifier: Apache-2.0
// One shared structure under one lock, with a choice of both: the gain of elision depends on how often
// sections access the same lines.
//
//   --structure  counters  an array of counters, each on a line of its own; a section increments one
//                map       std::map; a section inserts a key, erases one or looks one up
//                hash      std::unordered_map, the same
//   --lock       pthread, tbb or ck (alternative_locks.h); tbb and ck if the program was built with them
//   --reads      percent of the sections that only read
//
// At the end the sum of the counters, or the number and the sum of the keys, must match the sections'
// changes. As in arraybench, a thread draws outside of the lock and runs warm-up sections before the run
// (timed_sections.h).
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "alternative_locks.h"
#include "command_line.h"
#include "support.h"
#include "timed_sections.h"

namespace {

using workloads::CheapRandom;

struct Options {
  std::string structure = "counters";
  std::string lock = "pthread";
  unsigned threads = 1;
  unsigned reads = 0;
  std::uint32_t size = 4096;  // counters, or keys at the start
  workloads::RunLength length;
  std::uint64_t warmup = 100;  // sections per thread
  std::uint64_t seed = 1;
  double limit = 0;  // seconds; 0: none
};

/// The change made by sections, summed over all threads modulo 2^64.
struct Change {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  void add(const Change& other) {
    count += other.count;
    sum += other.sum;
  }
  bool operator==(const Change&) const = default;
};

/// The operation of a section, drawn before it begins.
struct Step {
  enum class Kind { kRead, kAdd, kRemove } kind;
  std::uint32_t key;
};

class Counters {
 public:
  explicit Counters(std::uint32_t size) : lines_(size) {}

  std::uint32_t keys() const { return static_cast<std::uint32_t>(lines_.size()); }

  /// In the section: a load and then a store. An overlapping section in between loses an update.
  Change apply(Step step) {
    volatile std::uint64_t& counter = lines_[step.key].counter;
    const std::uint64_t value = counter;
    if (step.kind == Step::Kind::kRead) return {};
    counter = value + 1;
    return {1, 0};
  }

  /// The sum of all counters.
  Change contents() const {
    Change found;
    for (const Line& line : lines_) found.count += line.counter;
    return found;
  }

 private:
  struct alignas(64) Line {
    std::uint64_t counter = 0;
  };
  std::vector<Line> lines_;
};

template <class Container>
class Keys {
 public:
  /// Half of the keys are present, so that insertions and removals stay in balance.
  explicit Keys(std::uint32_t size) : keys_(2 * size) {
    if constexpr (requires { container_.reserve(keys_); }) container_.reserve(keys_);  // no section rehashes
    for (std::uint32_t key = 0; key < keys_; key += 2) container_.emplace(key, key);
  }

  std::uint32_t keys() const { return keys_; }

  Change apply(Step step) {
    const std::uint64_t key = step.key;
    switch (step.kind) {
      case Step::Kind::kAdd:
        return container_.emplace(key, key).second ? Change{1, key} : Change{};
      case Step::Kind::kRemove:
        return container_.erase(key) == 1 ? Change{0 - std::uint64_t{1}, 0 - key} : Change{};
      case Step::Kind::kRead:
        break;
    }
    const auto found = container_.find(key);
    return {0, found == container_.end() ? 0 : found->second - key};  // no change if the value is right
  }

  Change contents() const {
    Change found;
    for (const auto& [key, value] : container_) found.add({1, value});
    if (found.count != container_.size()) found.sum = ~found.sum;
    return found;
  }

 private:
  std::uint32_t keys_;
  Container container_;
};

using MapOfKeys = Keys<std::map<std::uint64_t, std::uint64_t>>;
using HashOfKeys = Keys<std::unordered_map<std::uint64_t, std::uint64_t>>;

/// What all threads share. The lock has lines of its own.
template <class Structure, class Lock>
struct Bench {
  explicit Bench(const Options& given)
      : options(given), structure(given.size), sections(given.threads, given.length) {}

  Options options;
  alignas(128) Structure structure;
  alignas(128) Lock lock;
  workloads::TimedSections sections;
};

struct Changes {
  Change change;  // warm-up included
};
using ThreadResult = workloads::ThreadResult<Changes>;

template <class Structure, class Lock>
class Worker {
 public:
  Worker(Bench<Structure, Lock>& bench, unsigned index, ThreadResult& result)
      : bench_(bench), result_(result), index_(index), random_(bench.options.seed * 1000003u + index) {}

  void run() {
    for (std::uint64_t i = 0; i < bench_.options.warmup; ++i) section();
    bench_.sections.repeat(index_, result_, [this] { section(); });
  }

 private:
  Step draw() {
    const std::uint32_t chance = random_.below(200);
    const Step::Kind kind = chance < 2 * bench_.options.reads ? Step::Kind::kRead
                            : chance % 2 == 0                 ? Step::Kind::kAdd
                                                              : Step::Kind::kRemove;
    return {kind, random_.below(bench_.structure.keys())};
  }

  void section() {
    const Step step = draw();
    Change change;
    {
      const typename Lock::Guard guard(bench_.lock, own_);
      change = bench_.structure.apply(step);
    }
    result_.change.add(change);
  }

  Bench<Structure, Lock>& bench_;
  ThreadResult& result_;
  const unsigned index_;
  CheapRandom random_;
  [[no_unique_address]] typename Lock::PerThread own_;
};

/// Prints the result; returns the exit code.
int report(const std::vector<ThreadResult>& results, std::uint64_t run_ns, Change expected, Change found) {
  for (const ThreadResult& result : results) expected.add(result.change);
  workloads::print_throughput(results, run_ns);
  if (expected == found) return 0;
  std::printf("LOST updates: %" PRIu64 " with sum %" PRIu64 " expected, %" PRIu64 " with sum %" PRIu64
              " found\n",
              expected.count, expected.sum, found.count, found.sum);
  return 1;
}

template <class Structure, class Lock>
int run(const Options& options) {
  if (!Lock::is_usable()) {
    std::printf("lock '%s' needs RTM, which this CPU does not have\n", options.lock.c_str());
    return 77;
  }
  const auto bench = std::make_unique<Bench<Structure, Lock>>(options);
  const Change at_start = bench->structure.contents();
  std::vector<ThreadResult> results(options.threads);
  const std::uint64_t run_ns = bench->sections.run(results, [&bench](unsigned index, ThreadResult& result) {
    workloads::pin_to(index);
    Worker<Structure, Lock>(*bench, index, result).run();
  });
  return report(results, run_ns, at_start, bench->structure.contents());
}

template <class Lock>
int run_structure(const Options& options) {
  if (options.structure == "map") return run<MapOfKeys, Lock>(options);
  if (options.structure == "hash") return run<HashOfKeys, Lock>(options);
  return run<Counters, Lock>(options);
}

using Run = int (*)(const Options&);

/// The locks that this program was built with.
const std::map<std::string, Run>& runs_by_lock() {
  static const std::map<std::string, Run> kRuns = {
      {"pthread", run_structure<workloads::PthreadLock>},
#ifdef WORKLOADS_HAVE_TBB
      {"tbb", run_structure<workloads::TbbLock>},
#endif
#ifdef WORKLOADS_HAVE_CK
      {"ck", run_structure<workloads::CkLock>},
#endif
  };
  return kRuns;
}

std::vector<std::string> lock_names() {
  std::vector<std::string> names;
  for (const auto& [name, run] : runs_by_lock()) names.push_back(name);
  return names;
}

void parse(workloads::CommandLine& line, Options& options) {
  line.add("--structure", options.structure).one_of({"counters", "map", "hash"});
  line.add("--lock", options.lock).one_of(lock_names());
  line.add("--threads", options.threads).within(1, 1024);
  line.add("--reads", options.reads, "percent of the sections that only read").within(0, 100);
  line.add("--size", options.size, "counters, or keys at the start").within(1, 1 << 28);
  workloads::add_length(line, options.length);
  line.add("--warmup", options.warmup, "uncounted sections of each thread");
  line.add("--seed", options.seed);
  line.add("--limit", options.limit, "seconds after which the program gives up").within_real(0, 1e6);
}

/// Ends the program at the limit.
void set_limit(double seconds) {
  signal(SIGALRM, [](int) {
    constexpr char kMessage[] = "did not end within its limit\n";
    [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, kMessage, sizeof kMessage - 1);
    _exit(124);
  });
  const auto whole = static_cast<time_t>(seconds);
  const itimerval timer{
      .it_interval = {},
      .it_value = {whole, static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6)}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("onelock", "One shared structure under one lock");
  parse(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  if (options.limit > 0) set_limit(options.limit);
  return runs_by_lock().at(options.lock)(options);
}
