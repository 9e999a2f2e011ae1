// SPDX-License-Identifier: Apache-2.0
// The teams of OpenMP threads, where their barriers are ours.
//
// How a team is known: its parallel region begins by GOMP_parallel or __kmpc_fork_call, which get a function
// of ours to run in place of the region's. That function is called once by every thread of the team, with a
// Team that lies on the stack of the thread that met the region; from there to its end the thread is a
// Member. A region that begins in any other way has no Team, and its threads use their runtime's barriers
// alone.
//
// Invariants:
//  1. All threads of a team pass by the same barrier, ours or the runtime's, each time. They decide by what
//     is the same for all: whether there is a Team, its size, and the moved bit of its barrier.
//  2. Member is about the innermost parallel region, or the thread uses the runtime's barrier: that has to be
//     the member's runtime, and its nesting level that at which the member began. So what begins a region in
//     its own way (combined loops, sections, a region with a false `if`, another runtime) does no harm.
//  3. A barrier of the runtime's also runs tasks. When a thread of a team creates the first, the team
//     moves to the runtime's barrier, for good. The creator has yet to arrive at the barrier that the
//     others wait at now (there are no barriers within tasks), so nobody has passed that one: they leave
//     ours and go to the runtime's, and those who come later never see ours.
//  4. A Team outlives its members: the thread that met the region comes back once all others are done
//     with it.
//  5. Speculation ends with the region at the latest.
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

/// Makes the calling thread a member for as long as this lives. `runtime`: whose team it is.
class Membership {
 public:
  Membership(Team& team, unsigned runtime);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

 private:
  Member before_;
};

/// A barrier of `runtime`. False: it is that one's affair.
bool pass_team_barrier(unsigned runtime, const void* site);

/// The calling thread is about to create a task.
void team_gets_tasks();

}  // namespace elision::runtime
