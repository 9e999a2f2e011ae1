// SPDX-License-Identifier: Apache-2.0
#include "runtime/openmp_team.h"

#include "runtime/entry_points.h"
#include "runtime/openmp_runtime.h"

namespace elision::runtime {
namespace {

constinit thread_local Member this_member{};
constinit OpenMpFunction<int()> omp_get_num_threads{"omp_get_num_threads"};
constinit OpenMpFunction<int()> omp_get_level{"omp_get_level"};

}  // namespace

Membership::Membership(Team& team, unsigned runtime) : before_(this_member) {
  this_member = {&team, runtime, static_cast<unsigned>(omp_get_num_threads.in(runtime)()),
                 omp_get_level.in(runtime)()};
}

Membership::~Membership() {
  entry_points.end_transactions();
  this_member = before_;
}

bool pass_team_barrier(unsigned runtime, const void* site) {
  if (entry_points.speculating() != 0) return true;
  const Member& member = this_member;
  if (member.team == nullptr || member.size < 2 || runtime != member.runtime ||
      omp_get_level.in(runtime)() != member.level)
    return false;
  return entry_points.team_wait(&member.team->barrier, member.size, site) == 0;
}

void team_gets_tasks() {
  if (this_member.team != nullptr) entry_points.team_moves(&this_member.team->barrier);
}

}  // namespace elision::runtime
