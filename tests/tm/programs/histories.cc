// SPDX-License-Identifier: Apache-2.0
// histories [SEED [STRIDE [TRANSACTIONS]]]: random transactions that write unique values. What they read
// must fit one order of all of them that keeps each thread's own order (serializability).
//
// A transaction reads a variable before it writes it. So the values of a variable form one chain, and the
// order is a graph: a transaction follows the one whose value it read, and precedes the one that replaced
// that value.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <vector>

#include "program.h"

namespace {

constexpr int kThreads = 4, kVariables = 24, kMostAccesses = 8;
long variables[kVariables * 64];  // STRIDE numbers apart

struct Access {
  int variable;
  bool writes;
  long seen, written;
};

struct Transaction {
  Access accesses[kMostAccesses];
  int count;
  long delay;  // loops after each access: transactions overlap
  bool leaves_hardware;
};

[[gnu::transaction_pure, gnu::noinline]] void leave_hardware_if(bool leaves) {
  if (!leaves) return;
  long result = SYS_gettid;
  asm volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
}

[[gnu::transaction_pure, gnu::noinline]] void pass_time(long loops) {
  for (long i = 0; i < loops; ++i) asm volatile("" : : : "memory");
}

class Draws {
 public:
  explicit Draws(unsigned long seed) : state_(seed * 0x9e3779b97f4a7c15UL + 1) {}
  int below(unsigned long limit) {
    state_ = state_ * 6364136223846793005UL + 1442695040888963407UL;
    return static_cast<int>((state_ >> 33) % limit);
  }

 private:
  unsigned long state_;
};

Transaction draw(Draws& draws, long& next_value) {
  Transaction result{};
  result.leaves_hardware = draws.below(3) == 0;
  result.delay = draws.below(200);
  const int count = 1 + draws.below(kMostAccesses);
  for (int i = 0; i < count; ++i) {
    const int variable = draws.below(kVariables);
    const auto* const end = result.accesses + result.count;
    if (std::any_of(static_cast<const Access*>(result.accesses), end,
                    [&](const Access& access) { return access.variable == variable; }))
      continue;
    const bool writes = draws.below(3) == 0;
    result.accesses[result.count++] = {variable, writes, 0, writes ? next_value++ : 0};
  }
  return result;
}

void run(Transaction& transaction, int stride) {
  long seen[kMostAccesses];
  const int count = transaction.count;
  const long delay = transaction.delay;
  const bool leaves = transaction.leaves_hardware;
  __transaction_atomic {
    for (int i = 0; i < count; ++i) {
      long* const place = &variables[transaction.accesses[i].variable * stride];
      if (i == 1) leave_hardware_if(leaves);
      seen[i] = *place;
      if (transaction.accesses[i].writes) *place = transaction.accesses[i].written;
      pass_time(delay);
    }
  }
  for (int i = 0; i < count; ++i) transaction.accesses[i].seen = seen[i];
}

[[noreturn]] void wrong(const char* what) {
  std::printf("WRONG %s\n", what);
  std::exit(1);
}

using Graph = std::vector<std::vector<int>>;

/// Who wrote each value and who replaced it. The initial value is the negated number of the variable.
struct Values {
  std::unordered_map<long, int> writer, replacer;
};

Values values_of(const std::vector<Transaction>& all) {
  Values values;
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    for (int j = 0; j < all[i].count; ++j) {
      const Access& access = all[i].accesses[j];
      if (!access.writes) continue;
      values.writer[access.written] = i;
      if (!values.replacer.emplace(access.seen, i).second)
        wrong("two transactions replaced one value: an update is lost");
    }
  }
  return values;
}

Graph graph_of(const std::vector<Transaction>& all, const Values& values, int in_thread) {
  Graph graph(all.size());
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    if (i % in_thread != 0) graph[i - 1].push_back(i);
    for (int j = 0; j < all[i].count; ++j) {
      const Access& access = all[i].accesses[j];
      const auto writer = values.writer.find(access.seen);
      if (writer == values.writer.end() && access.seen != -access.variable)
        wrong("a value was read that nobody wrote");
      if (writer != values.writer.end()) graph[writer->second].push_back(i);
      const auto replacer = values.replacer.find(access.seen);
      if (replacer != values.replacer.end() && replacer->second != i) graph[i].push_back(replacer->second);
    }
  }
  return graph;
}

/// Removes transactions that nothing precedes, until none is left.
bool has_cycle(const Graph& graph) {
  std::vector<int> before(graph.size()), ready;
  for (const auto& after : graph)
    for (int next : after) ++before[next];
  for (int i = 0; i < static_cast<int>(graph.size()); ++i)
    if (before[i] == 0) ready.push_back(i);
  std::size_t removed = 0;
  for (; !ready.empty(); ++removed) {
    const int done = ready.back();
    ready.pop_back();
    for (int next : graph[done])
      if (--before[next] == 0) ready.push_back(next);
  }
  return removed != graph.size();
}

}  // namespace

int main(int argc, char** argv) {
  const long seed = argc > 1 ? std::atol(argv[1]) : 1;
  const int stride = argc > 2 ? std::atoi(argv[2]) : 40, in_thread = argc > 3 ? std::atoi(argv[3]) : 500;
  if (stride < 1 || stride > 64 || in_thread < 1) return 2;
  std::vector<Transaction> all;
  long next_value = 1;
  Draws draws(static_cast<unsigned long>(seed));
  for (int i = 0; i < kThreads * in_thread; ++i) all.push_back(draw(draws, next_value));
  for (int i = 0; i < kVariables; ++i) variables[i * stride] = -i;
  std::atomic<int> arrived{0};
  tm_test::run_threads(kThreads, [&](int number) {
    arrived.fetch_add(1);
    while (arrived.load() != kThreads)
      sched_yield();  // awake when all are there, so that they begin together
    for (int i = 0; i < in_thread; ++i) run(all[static_cast<std::size_t>(number * in_thread + i)], stride);
  });
  const Values values = values_of(all);
  if (has_cycle(graph_of(all, values, in_thread)))
    wrong("no order of the transactions explains what they read");
  std::printf("histories: %zu transactions, serializable\n", all.size());
}
