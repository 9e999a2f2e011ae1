// SPDX-License-Identifier: Apache-2.0
// A key-value store like LevelDB, and threads that read random keys, as db_bench's ReadRandom. Written from
// the TxSampler paper (section 8.2).
//
//   original  a read has two sections. The first one takes references to the memtable, the full memtable
//             and the version; the second one gives them back. Threads search outside of sections
//   split     each reference is taken, and given back, in a section of its own
//
// With --writes some of the operations write. Each thread writes its own keys. A write adds to the
// memtable; from time to time it makes a table of a full memtable.
//
// Each read must find a value of its key, and the last one if the thread itself writes that key. At the end
// every key must have its last value, and every object one reference: else "WRONG ..." or "LOST ..." and
// exit code 1.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "case_studies/case_study.h"
#include "case_studies/store/store.h"
#include "command_line.h"
#include "support.h"
#include "team.h"

namespace {

using workloads::CheapRandom;
using workloads::store::Store;

struct Options {
  workloads::CaseOptions common;
  std::uint32_t keys = 10000;
  std::uint32_t memtable = 4000;
  std::uint32_t operations = 20000;
  unsigned writes = 0;  // percent
};

/// The store, and the last value of each key, which only the thread that writes the key uses.
class World {
 public:
  explicit World(const Options& options)
      : options_(options),
        store_(options.memtable, options.common.variant == "split"),
        last_(options.keys),
        wrong_(options.common.threads) {
    CheapRandom random(options.common.seed);
    for (std::uint32_t i = 0; i < options.keys; ++i) store_.load(i, next_value(i));
    for (std::uint32_t i = 0; i < options.keys; ++i) {
      const std::uint32_t key = random.below(options.keys);
      store_.load(key, next_value(key));
    }
  }

  void work(unsigned thread, CheapRandom& random) {
    const unsigned threads = options_.common.threads;
    const auto [begin, end] = workloads::share_of(options_.operations, thread, threads);
    std::uint64_t wrong = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t key = random.below(options_.keys);
      const bool is_own = key % threads == thread;
      if (random.below(100) < options_.writes) {
        const std::uint32_t own = own_key(key, thread);
        store_.put(own, next_value(own));
      } else {
        wrong += reads_right(key, is_own) ? 0 : 1;
      }
    }
    wrong_[thread] = wrong;
  }

  std::string complaint() {
    std::uint64_t wrong = 0;
    for (const std::uint64_t of_thread : wrong_) wrong += of_thread;
    if (wrong != 0) return "WRONG values in " + std::to_string(wrong) + " reads";
    std::string text = store_.complaint();
    for (std::uint32_t key = 0; text.empty() && key < options_.keys; ++key)
      if (!reads_right(key, true)) text = "WRONG value of key " + std::to_string(key);
    return text;
  }

  std::uint64_t tables_made() const { return store_.tables_made(); }

 private:
  /// Returns a key near `key` that this thread writes.
  std::uint32_t own_key(std::uint32_t key, unsigned thread) const {
    const std::uint32_t own = key - key % options_.common.threads + thread;
    return own < options_.keys ? own : thread;
  }

  /// The upper half of a value is its key. The lower half is the number of writes of that key.
  std::uint64_t next_value(std::uint32_t key) { return std::uint64_t{key} << 32 | ++last_[key]; }

  bool reads_right(std::uint32_t key, bool is_own) {
    std::uint64_t value = 0;
    if (!store_.get(key, value) || value >> 32 != key) return false;
    return !is_own || static_cast<std::uint32_t>(value) == last_[key];
  }

  const Options options_;
  Store store_;
  std::vector<std::uint32_t> last_;
  std::vector<std::uint64_t> wrong_;
};

void add_options(workloads::CommandLine& line, Options& options) {
  workloads::add_case_options(line, options.common, {"original", "split"});
  line.add("--keys", options.keys, "at least one a thread").within(256, 1 << 24);
  line.add("--memtable", options.memtable, "records of a full memtable").within(1, 1 << 24);
  line.add("--operations", options.operations, "of all threads together").within(1, 1 << 30);
  line.add("--writes", options.writes, "percent of the operations").within(0, 100);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("store", "A key-value store like LevelDB");
  add_options(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  const auto world = std::make_unique<World>(options);
  const std::uint64_t run_ns = workloads::run_team(
      options.common.threads, !options.common.no_pin,
      [&](unsigned thread) { return CheapRandom(options.common.seed * 1000003u + thread); },
      [&](unsigned thread, CheapRandom& random, workloads::TeamBarrier&) { world->work(thread, random); });
  workloads::print_throughput("operations", options.operations, run_ns);
  std::printf("tables made: %llu\n", static_cast<unsigned long long>(world->tables_made()));
  return workloads::exit_code(world->complaint());
}
