// SPDX-License-Identifier: Apache-2.0
// Run by the corpus for oneTBB: parallel algorithms, concurrent containers, its mutexes including the elided
// one.
#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_queue.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

template <class Mutex>
long counted() {
  Mutex mutex;
  long count = 0;
  tbb::parallel_for(0, 2000, [&](int) {
    typename Mutex::scoped_lock lock(mutex);
    ++count;
  });
  return count;
}

int main(int, char** words) {
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                            std::strtoul(words[1], nullptr, 10));
  std::vector<unsigned> numbers(20000);
  unsigned draw = 1;
  for (unsigned& number : numbers) number = draw = draw * 1664525u + 1013904223u;
  tbb::parallel_sort(numbers.begin(), numbers.end());
  const auto sum = tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, numbers.size()), 0ul,
      [&](const auto& range, unsigned long total) {
        for (std::size_t i = range.begin(); i < range.end(); ++i) total += numbers[i] * i;
        return total;
      },
      [](unsigned long a, unsigned long b) { return a + b; });
  tbb::concurrent_hash_map<int, long> map;
  tbb::parallel_for(0, 5000, [&](int i) {
    decltype(map)::accessor entry;
    map.insert(entry, i % 37);
    entry->second += i;
  });
  long total = 0;
  for (const auto& [key, value] : map) total += key * value;
  int next = 0;
  long piped = 0;
  tbb::parallel_pipeline(
      4,
      tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
        if (next == 500) control.stop();
        return next++;
      }) & tbb::make_filter<int, long>(tbb::filter_mode::parallel, [](int i) {
        return long{i} * i;
      }) & tbb::make_filter<long, void>(tbb::filter_mode::serial_out_of_order, [&](long i) { piped += i; }));
  std::printf("%u %u %lu %ld %ld %ld %ld %ld\n", numbers[0], numbers[19999], sum, total, piped,
              counted<tbb::speculative_spin_mutex>(), counted<tbb::queuing_mutex>(),
              counted<tbb::spin_rw_mutex>());
}
