// SPDX-License-Identifier: Apache-2.0
// Made-up reasons, for tests of showing them.
#pragma once

#include "cli/judge/why.h"

namespace elision::cli::experiment {

/// Another value in every member.
inline Why distinct_why() {
  Why why;
  why.parallel_share = 0.875;
  why.time = {0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.375, 0.046875, 0.0625, 0.03125};
  LockReport lock;
  lock.place = {"table_lock", "table.c", 12};
  lock.title = "the 3 locks in table_lock";
  lock.naming = LockNaming::kSymbol;
  lock.sections = 1000;
  lock.contended_share = 0.5;
  lock.wait_seconds = 0.02;
  lock.mean_wait_seconds = 0.00004;
  lock.longest_wait_seconds = 0.003;
  lock.hold_seconds = 0.01;
  lock.mean_hold_seconds = 0.00001;
  lock.line_wait_seconds = 0.002;
  lock.attempts = 900;
  lock.commits = 800;
  lock.fallbacks = 200;
  lock.lost_seconds = 0.011;
  lock.waiting_seconds = 0.002;
  lock.aborted_seconds = 0.004;
  lock.overhead_seconds = 0.005;
  lock.aborts = {{"conflict", 7}};
  lock.conflicts = {{0x1040, "hits", 1, {60, 60}, {{{"lookup", "table.c", 31}, {"insert", "", 0}}}}};
  why.locks = {lock};
  why.lock_count = 257;
  return why;
}

inline profile::Diagnosis distinct_diagnosis() {
  return {true,
          0.38,
          "Threads wait 38 % of their time for locks.",
          {{profile::Cause::kTrueSharing, "table_lock", "Sections of table_lock write one counter.",
            "Give each thread a counter."}}};
}

}  // namespace elision::cli::experiment
