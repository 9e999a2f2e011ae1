// SPDX-License-Identifier: Apache-2.0
// The teams of OpenMP threads whose barriers are ours.
//
// A parallel region begins by GOMP_parallel or __kmpc_fork_call. We give these a function of ours in place of
// the region's. Every thread of the team calls it once, with a Team on the stack of the thread that began the
// region. During the call the thread is a Member. A region that begins in any other way has no Team, and its
// threads use only their runtime's barriers.
//
// Invariants:
//  1. Each time, all threads of a team use the same barrier, ours or the runtime's. They decide by what is
//     the same for all: whether there is a Team, its size, and the moved bit of its barrier.
//  2. A thread uses our barrier only if its Member belongs to the innermost parallel region: the runtime is
//     the member's, and the nesting level is that at which the member began. So regions that begin in other
//     ways (combined loops, sections, a region with a false `if`, another runtime) are safe.
//  3. A barrier of the runtime also runs tasks. When a thread of a team creates the first task, the team
//     moves to the runtime's barrier for good. The creator has not yet arrived at the barrier where the
//     others may wait (tasks contain no barriers), so no thread has passed that barrier. The waiters leave
//     ours and go to the runtime's, and later arrivals never use ours.
//  4. A Team outlives its members: the thread that began the region returns when all others are done.
//  5. Speculation ends at the end of the region at the latest.
#pragma once

#include "locks/barrier.h"

namespace elision::runtime {

struct Team {
  locks::BarrierState barrier{};
};

struct Member {
  Team* team = nullptr;
  unsigned runtime = 0;
  unsigned size = 0;
  int level = 0;
};

/// Makes the calling thread a member of `runtime`'s team while this lives.
class Membership {
 public:
  Membership(Team& team, unsigned runtime);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

 private:
  Member before_;
};

/// Waits at the team's barrier. False: the caller must use `runtime`'s barrier.
bool pass_team_barrier(unsigned runtime, const void* site);

/// The calling thread is about to create a task.
void team_gets_tasks();

}  // namespace elision::runtime
