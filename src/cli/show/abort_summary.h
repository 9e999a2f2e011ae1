// SPDX-License-Identifier: Apache-2.0
// What performance events tell about aborts, for reports in any format: the sentences, and where, why and in
// which sections transactions aborted. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace elision::cli::experiment {

/// Aborts at one instruction, for one cause, by the same calls, in the sections that begin at one place.
struct AbortSource {
  std::string cause{};
  profile::Place place{};                   // text_of() names it
  std::vector<profile::Place> inside{};     // calls in the transaction that led there, innermost first
  std::optional<profile::Place> section{};  // nothing: not known
  double samples = 0, aborts = 0, cycles = 0;
  double share = 0;  // of what AbortSummary::shares_of names
};

struct AbortSummary {
  std::string heading{};               // how many aborts and commits: a sentence
  std::string shares_of{};             // "the cycles that aborted transactions took"
  std::vector<AbortSource> sources{};  // most cycles first
  std::string trust{};                 // how far to trust the shares: a sentence
};

/// `events`: without AbortEvents::missing. Rows of them that read alike are one source.
/// `other_samples`: of loads and stores, which may abort transactions, too.
AbortSummary summary_of(const profile::AbortEvents& events, double other_samples = 0);
/// The number of these in a profile.
double samples_of_accesses(const profile::Profile& profile);

/// "push()", an address, or "many places".
std::string name_of(const profile::Place& place);
/// "push() (queue.cc:12)".
std::string text_of(const profile::Place& place);
/// The source's place and what called it: "push() (queue.cc:12), called by work() (main.cc:7)".
std::string path_of(const AbortSource& source);

}  // namespace elision::cli::experiment
