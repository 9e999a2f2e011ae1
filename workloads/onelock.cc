// SPDX-License-Identifier: Apache-2.0
// One shared structure under one lock, and a choice of locks: what elision gains depends on how often
// sections touch the same lines, which differs from structure to structure.
//
//   --structure  counters  an array of counters, each on a line of its own; a section increments one
//                map       std::map; a section inserts a key, erases one or looks one up
//                hash      std::unordered_map, the same
//   --lock       pthread, tbb or ck (alternative_locks.h); tbb and ck as far as the libraries were there
//                to build with
//   --reads      percent of the sections that only read
//
// At the end everything is counted: the counters' sum, or the keys and their sum, must be what the sections
// did. Like arraybench it draws outside of the lock, runs warm-up sections, begins together, and ends
// together (--seconds) or when the common number of sections is used up (--sections).
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "alternative_locks.h"
#include "command_line.h"
#include "support.h"

namespace {

using workloads::CheapRandom;
using workloads::now_ns;

struct Options {
  std::string structure = "counters";
  std::string lock = "pthread";
  unsigned threads = 1;
  unsigned reads = 0;
  std::uint32_t size = 4096;  // counters, or keys that are there at the start
  double seconds = 1.0;
  std::uint64_t sections = 0;  // in total; 0: run by time
  std::uint64_t warmup = 100;  // sections a thread
  std::uint64_t seed = 1;
  double limit = 0;  // seconds; 0: none
};

/// What sections changed, to be summed up over all threads; modulo 2^64.
struct Change {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  void add(const Change& other) {
    count += other.count;
    sum += other.sum;
  }
  bool operator==(const Change&) const = default;
};

/// What a section will do, drawn before it begins.
struct Step {
  enum class Kind { kRead, kAdd, kRemove } kind;
  std::uint32_t key;
};

class Counters {
 public:
  explicit Counters(std::uint32_t size) : lines_(size) {}

  std::uint32_t keys() const { return static_cast<std::uint32_t>(lines_.size()); }

  /// In the section. A load, then a store: between the two a section that is not excluded can do damage.
  Change apply(Step step) {
    volatile std::uint64_t& counter = lines_[step.key].counter;
    const std::uint64_t value = counter;
    if (step.kind == Step::Kind::kRead) return {};
    counter = value + 1;
    return {1, 0};
  }

  /// Everything that is in it.
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
  /// Every other key is there: adding and removing stay in balance.
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
    return {0,
            found == container_.end() ? 0 : found->second - key};  // no change, unless the value is another's
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
  explicit Bench(const Options& given) : options(given), structure(given.size) {
    pthread_barrier_init(&barrier, nullptr, given.threads + 1);
  }

  Options options;
  alignas(128) Structure structure;
  alignas(128) Lock lock;
  alignas(128) pthread_barrier_t barrier;
  alignas(128) std::atomic<std::uint64_t> deadline_ns{0};
  alignas(128) std::atomic<bool> time_is_up{false};
  alignas(128) std::atomic<std::int64_t> sections_left{0};
};

struct alignas(128) ThreadResult {
  std::uint64_t sections = 0;  // counted window
  Change change;               // warm-up included
  std::uint64_t end_ns = 0;
};

template <class Structure, class Lock>
class Worker {
 public:
  Worker(Bench<Structure, Lock>& bench, unsigned index, ThreadResult& result)
      : bench_(bench),
        result_(result),
        keeps_time_(index == 0),
        random_(bench.options.seed * 1000003u + index) {}

  void run() {
    for (std::uint64_t i = 0; i < bench_.options.warmup; ++i) section();
    pthread_barrier_wait(&bench_.barrier);  // all are warm: the clock is set
    pthread_barrier_wait(&bench_.barrier);  // all begin
    while (goes_on()) {
      section();
      ++result_.sections;
    }
    result_.end_ns = now_ns();
  }

 private:
  /// Only the first thread looks at the clock, and only now and then.
  bool goes_on() {
    if (bench_.options.sections != 0) return bench_.sections_left.fetch_sub(1, std::memory_order_relaxed) > 0;
    if (keeps_time_ && result_.sections % kSectionsPerLook == 0 &&
        now_ns() >= bench_.deadline_ns.load(std::memory_order_relaxed)) {
      bench_.time_is_up.store(true, std::memory_order_relaxed);
    }
    return !bench_.time_is_up.load(std::memory_order_relaxed);
  }

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

  static constexpr std::uint64_t kSectionsPerLook = 8;

  Bench<Structure, Lock>& bench_;
  ThreadResult& result_;
  const bool keeps_time_;
  CheapRandom random_;
  [[no_unique_address]] typename Lock::PerThread own_;
};

/// Runs the threads; returns the length of the counted window in nanoseconds.
template <class Structure, class Lock>
std::uint64_t run_threads(Bench<Structure, Lock>& bench, std::vector<ThreadResult>& results) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < bench.options.threads; ++i) {
    threads.emplace_back([&bench, &results, i] {
      workloads::pin_to(i);
      Worker<Structure, Lock>(bench, i, results[i]).run();
    });
  }
  pthread_barrier_wait(&bench.barrier);
  bench.sections_left = static_cast<std::int64_t>(bench.options.sections);
  const std::uint64_t start = now_ns();
  bench.deadline_ns = start + static_cast<std::uint64_t>(bench.options.seconds * 1e9);
  pthread_barrier_wait(&bench.barrier);
  for (std::thread& thread : threads) thread.join();
  std::uint64_t end = start;
  for (const ThreadResult& result : results) end = std::max(end, result.end_ns);
  return end - start;
}

/// Prints the result; returns the exit code.
int report(const std::vector<ThreadResult>& results, std::uint64_t window_ns, Change expected, Change found) {
  std::uint64_t sections = 0;
  for (const ThreadResult& result : results) {
    sections += result.sections;
    expected.add(result.change);
  }
  const double seconds = static_cast<double>(window_ns) / 1e9;
  std::printf("sections: %" PRIu64 "\n", sections);
  std::printf("seconds: %.6f\n", seconds);
  std::printf("throughput: %.1f sections/s\n", static_cast<double>(sections) / seconds);
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
  const std::uint64_t window_ns = run_threads(*bench, results);
  return report(results, window_ns, at_start, bench->structure.contents());
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

void parse(CLI::App& app, Options& options) {
  app.add_option("--structure", options.structure)->check(CLI::IsMember({"counters", "map", "hash"}));
  app.add_option("--lock", options.lock)->check(CLI::IsMember(runs_by_lock()));
  app.add_option("--threads", options.threads)->check(CLI::Range(1u, 1024u));
  app.add_option("--reads", options.reads, "percent of the sections that only read")
      ->check(CLI::Range(0u, 100u));
  app.add_option("--size", options.size, "counters, or keys at the start")->check(CLI::Range(1u, 1u << 28));
  auto* seconds = app.add_option("--seconds", options.seconds, "length of the counted window");
  app.add_option("--sections", options.sections, "run this many sections in total instead")
      ->excludes(seconds);
  app.add_option("--warmup", options.warmup, "uncounted sections of each thread");
  app.add_option("--seed", options.seed);
  app.add_option("--limit", options.limit, "seconds after which the program gives up")
      ->check(CLI::Range(0.0, 1e6));
}

/// Gives up when the limit is reached, whatever the threads do then.
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
  CLI::App app{"One shared structure under one lock"};
  parse(app, options);
  if (const auto code = workloads::parse_words(app, "onelock", argc, argv)) return *code;
  if (options.limit > 0) set_limit(options.limit);
  return runs_by_lock().at(options.lock)(options);
}
