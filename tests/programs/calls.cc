// SPDX-License-Identifier: Apache-2.0
// Calls of functions that a part of a run may begin and end at.
//
//   calls CALLS PAIRS
//
// main calls phase() CALLS times, which does PAIRS atomic increments. Then a second thread and main call
// in_threads() CALLS times each; then a transaction calls phase(); then functions that share a name follow,
// and functions of libraries, one of which is loaded only then.
#include <dlfcn.h>
#include <immintrin.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {
volatile long counter;
}

namespace work {
[[gnu::noinline]] void step(long pairs) {
  for (long i = 0; i < pairs; ++i) __sync_fetch_and_add(&counter, 1);
}
[[gnu::noinline]] void step(int pairs) {
  for (int i = 0; i < 2 * pairs; ++i) __sync_fetch_and_add(&counter, 1);
}
template <class T>
[[gnu::noinline]] T only(T pairs) {
  for (T i = 0; i < pairs; ++i) __sync_fetch_and_add(&counter, 1);
  return pairs;
}
}  // namespace work

extern "C" {
[[gnu::noinline]] void phase(long pairs) {
  for (long i = 0; i < pairs; ++i) {
    asm volatile(".globl within_phase\nwithin_phase:" : : : "memory");
    __sync_fetch_and_add(&counter, 1);
  }
}
[[gnu::noinline]] void in_threads(long pairs) {
  for (long i = 0; i < pairs; ++i) __sync_fetch_and_add(&counter, 1);
}
}

[[gnu::target("rtm")]] static void phase_in_transaction() {
  while (_xbegin() != _XBEGIN_STARTED) continue;
  phase(1);
  _xend();
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const long calls = std::atol(argv[1]), pairs = std::atol(argv[2]);
  for (long i = 0; i < calls; ++i) phase(pairs);
  const auto many = [&] {
    for (long i = 0; i < calls; ++i) in_threads(pairs);
  };
  std::thread other(many);
  many();
  other.join();
  phase_in_transaction();
  phase(pairs);
  work::step(pairs);
  work::step(static_cast<int>(pairs));
  work::only(pairs);
  (void)getpgrp();
  void* const library = dlopen("libm.so.6", RTLD_NOW);
  void* const cube_root = dlsym(library, "cbrt");
  if (cube_root == nullptr) return 1;
  const double root = reinterpret_cast<double (*)(double)>(cube_root)(27);
  work::only(pairs);
  std::printf("%ld %g\n", static_cast<long>(counter), root);
  return 0;
}
