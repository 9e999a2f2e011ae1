// SPDX-License-Identifier: Apache-2.0
// The engine of a cache server, with its clients in the same process: memcached 1.4.5, whose two coarse
// locks the AAHTM paper elides (section IV-A2), and 1.4.36, whose locks are fine. Written from published
// descriptions of both versions: layout of items, slab classes, lists and table, and the work of each
// critical section.
//
// A thread repeats: as a client, it draws and writes a request; as the server, it parses the request, works
// on the cache and writes the reply; as the client, it checks the reply. Only the work on the cache is in
// sections (locks.h, cache.h). Nothing takes the place of the kernel's work on a connection, unless
// --network gives it a number of steps of congruence.h.
//
// The program fills the cache before the run. A get must return a whole value that some set of this key
// wrote. At the end the statistics must equal the clients' requests, lists and table must agree, and no
// item may have references (check.h): else "WRONG ..." and exit code 1.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cache_server/cache.h"
#include "cache_server/check.h"
#include "cache_server/client.h"
#include "cache_server/locks.h"
#include "cache_server/server.h"
#include "command_line.h"
#include "support.h"
#include "timed_sections.h"

namespace workloads::cache_server {
namespace {

struct Options {
  std::string locks = "coarse";
  unsigned threads = 1;
  Traffic traffic{.keys = 10000, .value_bytes = 128, .reads = 90};
  std::uint64_t memory_megabytes = 64;  // memcached's
  std::uint32_t age = 0;
  std::uint64_t network_steps = 0;
  RunLength length;
  std::uint64_t warmup = 100;  // requests per thread
  std::uint64_t seed = 1;
};

struct Counts {
  std::uint64_t gets = 0, sets = 0, refused = 0;  // warm-up included
  bool is_wrong = false;                          // a wrong reply, or omitted work
};
using ThreadResult = workloads::ThreadResult<Counts>;

template <class Locks>
class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        cache_({options.memory_megabytes << 20, options.traffic.keys, options.threads}),
        statistics_(options.threads + 1),
        sections_(options.threads, options.length) {}

  int run() {
    fill();
    std::vector<ThreadResult> results(options_.threads);
    const std::uint64_t run_ns =
        sections_.run(results, [this](unsigned thread, ThreadResult& result) { work(thread, result); });
    report(results, run_ns);
    const char* const wrong = complaint(results);
    if (wrong != nullptr) std::printf("WRONG %s\n", wrong);
    return wrong == nullptr ? 0 : 1;
  }

 private:
  /// Sets each key once, with a client and a server thread that the run does not use.
  void fill() {
    Buffer request(options_.traffic.value_bytes), reply(options_.traffic.value_bytes);
    Client client(options_.traffic, options_.threads, options_.seed);
    ServerThread server(cache_, statistics_[options_.threads], 0);
    for (std::uint32_t key = 0; key < options_.traffic.keys; ++key) {
      client.set(key, request);
      server.serve(request.text(), reply);
    }
    cache_.set_time(kStart + options_.age);
  }

  void work(unsigned thread, ThreadResult& result) {
    pin_to(thread);
    Buffer request(options_.traffic.value_bytes), reply(options_.traffic.value_bytes);
    Client client(options_.traffic, thread, options_.seed * 1000003u + thread);
    ServerThread server(cache_, statistics_[thread], options_.network_steps);
    const auto section = [&] {
      client.ask(request);
      server.serve(request.text(), reply);
      if (!client.accepts(reply.text())) result.is_wrong = true;
    };
    for (std::uint64_t i = 0; i < options_.warmup; ++i) section();
    sections_.repeat(thread, result, section);
    if (!server.is_network_right()) result.is_wrong = true;
    result.gets = client.gets();
    result.sets = client.sets();
    result.refused = client.refused();
  }

  void report(const std::vector<ThreadResult>& results, std::uint64_t run_ns) const {
    std::uint64_t requests = 0, hits = 0;
    for (const ThreadResult& result : results) requests += result.sections;
    for (const ThreadStatistics& statistics : statistics_) hits += statistics.hits;
    print_throughput("requests", requests, run_ns);
    std::printf("hits: %" PRIu64 "\nevictions: %" PRIu64 "\n", hits, cache_.statistics().evicted);
  }

  /// Returns the first error, or null if all is right.
  const char* complaint(const std::vector<ThreadResult>& results) {
    Sets sets;
    std::uint64_t stored = statistics_[options_.threads].sets;
    for (unsigned thread = 0; thread < options_.threads; ++thread) {
      const ThreadResult& result = results[thread];
      const ThreadStatistics& statistics = statistics_[thread];
      if (result.is_wrong) return "reply: not to its request";
      if (statistics.gets != result.gets || statistics.hits + statistics.misses != result.gets)
        return "statistics: not the gets of a client";
      if (statistics.sets != result.sets - result.refused) return "statistics: not the sets of a client";
      stored += statistics.sets;
      sets.push_back(result.sets);
    }
    sets.push_back(options_.traffic.keys);
    return Check<Locks>(cache_, options_.traffic, sets).complaint(stored);
  }

  const Options options_;
  Cache<Locks> cache_;
  std::vector<ThreadStatistics> statistics_;
  TimedSections sections_;
};

template <class Locks>
int run(const Options& options) {
  return std::make_unique<Bench<Locks>>(options)->run();
}

void add_options(CommandLine& line, Options& options) {
  line.add("--locks", options.locks, "of memcached 1.4.5 or 1.4.36").one_of({"coarse", "fine"});
  line.add("--threads", options.threads, "of the server").within(1, 1024);
  line.add("--keys", options.traffic.keys, "all are set before the run").within(1, 1 << 28);
  line.add("--value-bytes", options.traffic.value_bytes, "a multiple of 8").within(24, 8192);
  line.add("--reads", options.traffic.reads, "percent of the requests that get").within(0, 100);
  line.add("--memory", options.memory_megabytes, "megabytes of items, then old ones are evicted")
      .within(1, 1 << 16);
  line.add("--age", options.age, "of all items when the run begins, in seconds; from 61 on, gets move them")
      .within(0, 1 << 20);
  line.add("--network", options.network_steps, "for the kernel's work on a request and its reply")
      .within(0, 1 << 30);
  const Option seconds =
      line.add("--seconds", options.length.seconds, "length of the counted window").within_real(0, 1e6);
  line.add("--requests", options.length.sections, "run this many requests in total instead")
      .excludes(seconds);
  line.add("--warmup", options.warmup, "uncounted requests of each thread");
  line.add("--seed", options.seed);
}

int program(int argc, char** argv) {
  Options options;
  CommandLine line("cache_server", "A cache server with its clients, under coarse or fine locks");
  add_options(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  if (options.traffic.value_bytes % kWord != 0) return line.refuse("--value-bytes: not a multiple of 8");
  return options.locks == "fine" ? run<Fine>(options) : run<Coarse>(options);
}

}  // namespace
}  // namespace workloads::cache_server

int main(int argc, char** argv) { return workloads::cache_server::program(argc, argv); }
