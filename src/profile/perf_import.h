// SPDX-License-Identifier: Apache-2.0
// Makes a profile of a file of `perf record`: call paths from its samples of time, and aborts from those of
// the CPU's events of transactions. What threads did at which locks perf does not know.
//
// Opens the programs and libraries that the file names, for names and unwinding rules.
#pragma once

#include "profile/perf_file.h"
#include "profile/profile.h"

namespace elision::profile {

enum class PerfMeaning { kNothing, kTime, kAborts, kCommits };
/// What an event of perf counts, by its number or by its name.
PerfMeaning meaning_of(const PerfFileEvent& event);

struct PerfImport {
  Profile profile;
  double time_samples = 0, abort_samples = 0;
  double other_samples = 0;    // of events that a profile has no place for
  double other_processes = 0;  // of `time_samples`: of processes besides the one with most
};
/// Call paths are those of the process with most samples of time, aborts those of all.
PerfImport import_perf(const PerfFile& file);

}  // namespace elision::profile
