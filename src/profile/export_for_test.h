// SPDX-License-Identifier: Apache-2.0
// A small profile with call paths, for the tests of what writes them.
#pragma once

#include "profile/export_labels.h"

namespace elision::profile {

inline const Origin kOriginForTest = {"/bin/bank", "/bin/bank 4", "on a real CPU under pthread",
                                      "elision 1.2.3"};

/// Two threads, three functions, of which the third is inlined into the second, and the lock "queue;lock".
inline Profile profile_for_test() {
  Profile profile;
  profile.wall_ns = 9000;
  profile.locks.resize(1);
  profile.locks[0].place = {0x5000, "queue;lock"};
  profile.threads = {{.id = 12, .name = "worker"}, {.id = 11}};
  profile.frames = {{0x100, "main", "/src/bank.cc", 90},
                    {0x200, "transfer", "/src/bank.cc", 12},
                    {0x200, "add", "/src/account.h", 7},
                    {0x300, "transfer", "/src/bank.cc", 19}};
  profile.paths = {{State::kWaiting, 0, 0, {0, 1, 2}, 5000, 5},
                   {State::kOutside, Path::kNoLock, 0, {0, 3}, 2000, 2},
                   {State::kWaiting, 0, 1, {}, 1000, 1}};
  return profile;
}
inline PathTable table_for_test() { return paths_of_time(profile_for_test()); }

/// Two places of one section abort, one of them two calls deep; of a third nothing is known.
inline Profile aborts_for_test() {
  const Place section{0x200, "transfer", "/src/bank.cc", 12}, begin{0x100, "main", "/src/bank.cc", 90};
  Profile profile = profile_for_test();
  profile.abort_events = {.aborts = 100, .samples = 10, .lost = 3, .cycles = 9000};
  profile.abort_events->rows = {{.place = {0x410, "add", "/src/account.h", 7},
                                 .cause = "conflict",
                                 .callers = {section, begin},
                                 .inside = {{0x220, "transfer", "/src/bank.cc", 14}},
                                 .samples = 7,
                                 .aborts = 70,
                                 .cycles = 6000},
                                {.place = {0x230, "transfer", "/src/bank.cc", 15},
                                 .cause = "capacity",
                                 .callers = {section, begin},
                                 .samples = 2,
                                 .aborts = 20,
                                 .cycles = 2500},
                                {.cause = "a {} b", .samples = 1, .aborts = 10, .cycles = 500}};
  return profile;
}

}  // namespace elision::profile
