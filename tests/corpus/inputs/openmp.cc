// SPDX-License-Identifier: Apache-2.0
// Run by the corpus for OpenMP: loops of every schedule, reductions, critical, atomic, barriers, sections,
// tasks, locks.
#include <omp.h>

#include <cstdio>
#include <vector>

static long fibonacci(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a) if (n > 10)
  a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 10)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

int main() {
  std::vector<double> v(5000);
#pragma omp parallel for schedule(static, 7)
  for (int i = 0; i < 5000; ++i) v[i] = i * 0.5;
  double sum = 0;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : sum)
  for (int i = 0; i < 5000; ++i) sum += v[i];
#pragma omp parallel for simd schedule(guided)
  for (int i = 0; i < 5000; ++i) v[i] = v[i] * v[i];
  long inside = 0, added = 0, locked = 0, sections = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel
  {
    for (int i = 0; i < 100; ++i) {
#pragma omp critical
      inside += i;
#pragma omp atomic
      added += i;
    }
#pragma omp barrier
    omp_set_lock(&lock);
    ++locked;
    omp_unset_lock(&lock);
#pragma omp sections reduction(+ : sections)
    {
#pragma omp section
      sections += 1;
#pragma omp section
      sections += 10;
    }
  }
  long result;
#pragma omp parallel
#pragma omp single
  result = fibonacci(16);
  const int n = omp_get_max_threads();
  std::printf("%d %.1f %.1f %ld %ld %ld %ld %ld\n", n, sum, v[4999], inside / n, added / n, locked - n,
              sections, result);
}
