// SPDX-License-Identifier: Apache-2.0
// OpenMP's barriers of libgomp and libomp, for designs whose waiters speculate; and the functions that begin
// a parallel region, from which we learn of its team (runtime/openmp_team.h has the rules).
//
// Under other designs all calls are passed on.
#include <cstdarg>
#include <cstdint>
#include <utility>

#include "preload/exported.h"
#include "runtime/entry_points.h"
#include "runtime/openmp_runtime.h"
#include "runtime/openmp_team.h"
#include "runtime/process.h"

namespace {

using elision::runtime::entry_points;
using elision::runtime::InRegionOf;
using elision::runtime::Membership;
using elision::runtime::OpenMpFunction;
using elision::runtime::pass_team_barrier;
using elision::runtime::Process;
using elision::runtime::Team;

bool ours() { return elision::runtime::owns(&Process::barriers); }

// ---- Parallel regions of libgomp.

struct Region {
  Team team;
  unsigned runtime;
  void (*body)(void*);
  void* data;
};

void run_region(void* argument) {
  Region& region = *static_cast<Region*>(argument);
  const InRegionOf in_region(region.runtime);
  const Membership membership(region.team, region.runtime);
  region.body(region.data);
}

// ---- Parallel regions of libomp. The body takes its arguments one by one. Their number is not known here,
// but in the System V ABI superfluous arguments do no harm.

using Microtask = void (*)(std::int32_t* thread, std::int32_t* thread_in_team, ...);
constexpr int kMostArguments = 1024;

struct Fork {
  Team team;
  unsigned runtime;
  Microtask body;
  int count;
  void** arguments;  // as many as arguments_passed()
};

constexpr int arguments_passed(int count) {
  int passed = 4;
  while (passed < count) passed *= 4;
  return passed;
}

template <std::size_t... kIndex>
void call_with(const Fork& fork, std::int32_t* thread, std::int32_t* thread_in_team,
               std::index_sequence<kIndex...>) {
  fork.body(thread, thread_in_team, fork.arguments[kIndex]...);
}

template <int kPassed = arguments_passed(0)>
void call_body(const Fork& fork, std::int32_t* thread, std::int32_t* thread_in_team) {
  if constexpr (kPassed < kMostArguments) {
    if (fork.count > kPassed) return call_body<kPassed * 4>(fork, thread, thread_in_team);
  }
  call_with(fork, thread, thread_in_team, std::make_index_sequence<kPassed>());
}

void run_fork(std::int32_t* thread, std::int32_t* thread_in_team, Fork* fork) {
  const InRegionOf in_region(fork->runtime);
  if (!ours()) return call_body(*fork, thread, thread_in_team);
  const Membership membership(fork->team, fork->runtime);
  call_body(*fork, thread, thread_in_team);
}

}  // namespace

ELISION_EXPORT void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  static constinit OpenMpFunction<void(void (*)(void*), void*, unsigned, unsigned)> original{"GOMP_parallel"};
  const unsigned runtime = original.runtime_at(ELISION_CALL_SITE);
  if (!ours()) return original.in(runtime)(body, data, threads, flags);
  entry_points.end_transactions();
  Region region{{}, runtime, body, data};
  original.in(runtime)(run_region, &region, threads, flags);
}

ELISION_EXPORT void __kmpc_fork_call(void* place, std::int32_t count, Microtask body, ...) {
  static constinit OpenMpFunction<void(void*, std::int32_t, Microtask, ...)> original{"__kmpc_fork_call"};
  const bool may_be_ours = ours();
  if (may_be_ours) entry_points.end_transactions();
  if (count > kMostArguments) __builtin_trap();
  const int passed = arguments_passed(count);
  auto** arguments = static_cast<void**>(__builtin_alloca(static_cast<std::size_t>(passed) * sizeof(void*)));
  va_list rest;
  va_start(rest, body);
  for (int i = 0; i < passed; ++i) arguments[i] = i < count ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  const unsigned runtime = original.runtime_at(ELISION_CALL_SITE);
  Fork fork{{}, runtime, body, count, arguments};
  original.in(runtime)(place, 1, reinterpret_cast<Microtask>(reinterpret_cast<void*>(run_fork)), &fork);
}

// ---- Barriers.

ELISION_EXPORT void GOMP_barrier() {
  static constinit OpenMpFunction<void()> original{"GOMP_barrier"};
  const unsigned runtime = original.runtime_at(ELISION_CALL_SITE);
  if (ours() && pass_team_barrier(runtime, ELISION_CALL_SITE)) return;
  entry_points.end_transactions();
  original.in(runtime)();
}

ELISION_EXPORT void __kmpc_barrier(void* place, std::int32_t thread) {
  static constinit OpenMpFunction<void(void*, std::int32_t)> original{"__kmpc_barrier"};
  const unsigned runtime = original.runtime_at(ELISION_CALL_SITE);
  if (ours() && pass_team_barrier(runtime, ELISION_CALL_SITE)) return;
  entry_points.end_transactions();
  original.in(runtime)(place, thread);
}
