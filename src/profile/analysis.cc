// SPDX-License-Identifier: Apache-2.0
#include "profile/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/units.h"
#include "profile/conflicts.h"
#include "profile/lock_sums.h"

namespace elision::profile {
namespace {

constexpr const char* kMoveWrites =
    "Move shared writes out of the sections: keep a counter per thread, update an atomic after the section, "
    "or split a container that all threads change.";

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string text_of(const Place& place) {
  const std::string name = place.name.empty() ? fmt::format("{:#x}", place.address) : place.name;
  return place.file.empty() ? name : fmt::format("{} ({}:{})", name, place.file, place.line);
}

/// The name of a lock without a symbol. Empty: nothing is known about the call site.
std::string taken_at(const Place& site) {
  if (!site.file.empty()) return fmt::format("taken at {}:{}", site.file, site.line);
  return site.name.empty() ? "" : fmt::format("taken in {}", site.name);
}

/// The same for a lock in all runs.
std::string key_of(const Lock& lock) {
  return lock.place.name.empty() ? taken_at(lock.site) : lock.place.name;
}

/// "accounts" of "accounts+0x6c0": the variable that the lock is, or is a part of. Empty: it is in none.
std::string variable_of(const Lock& lock) { return lock.place.name.substr(0, lock.place.name.find("+0x")); }

/// The variables with more locks than places where these are taken: arrays of objects that have a lock each.
/// The locks of a structure have a purpose each, and places of their own. A lock has one name in all runs, so
/// all of them decide together: one run may have seen few of the locks.
std::set<std::string> arrays_among(std::initializer_list<const std::vector<Lock>*> runs) {
  std::map<std::string, std::set<std::string>> names, places;
  for (const std::vector<Lock>* locks : runs) {
    for (const Lock& lock : *locks) {
      names[variable_of(lock)].insert(lock.place.name);
      places[variable_of(lock)].insert(taken_at(lock.site));
    }
  }
  std::set<std::string> arrays;
  for (const auto& [variable, locks_in_it] : names)
    if (!variable.empty() && locks_in_it.size() > places[variable].size()) arrays.insert(variable);
  return arrays;
}

void add_to(Lock& sum, const Lock& lock) {
  sum.objects += lock.objects;
  sum.most_waits_ns = std::max(sum.most_waits_ns, lock.most_waits_ns);
  if (lock.waits_inside_ns > sum.waits_inside_ns) sum.inside = lock.inside;
  sum.waits_inside_ns += lock.waits_inside_ns;
  add_numbers(sum, lock);
  sum.other_sites.insert(sum.other_sites.end(), lock.other_sites.begin(), lock.other_sites.end());
  sum.conflicts.insert(sum.conflicts.end(), lock.conflicts.begin(), lock.conflicts.end());
  sum.line_waits.insert(sum.line_waits.end(), lock.line_waits.begin(), lock.line_waits.end());
}

/// A program may have a lock for each of its objects: locks without a name that are taken at one place count
/// as one, and so do those in one of the `arrays`.
Profile with_locks_by_place(Profile profile, const std::set<std::string>& arrays) {
  std::vector<Lock> locks = std::move(profile.locks);
  profile.locks.clear();
  std::map<std::string, std::size_t> at;
  for (Lock& lock : locks) {
    lock.most_waits_ns = lock.waits_ns;
    const bool is_element = arrays.contains(variable_of(lock));
    if (is_element) lock.place.name = variable_of(lock);
    const std::string key = is_element || lock.place.name.empty() ? key_of(lock) : "";
    const auto known = key.empty() ? at.end() : at.find(key);
    if (known != at.end()) {
      add_to(profile.locks[known->second], lock);
      continue;
    }
    if (!key.empty()) at[key] = profile.locks.size();
    profile.locks.push_back(std::move(lock));
  }
  for (Lock& lock : profile.locks)
    lock.conflicts = by_place(std::move(lock.conflicts), lock.conflicts_seen.count);
  std::stable_sort(profile.locks.begin(), profile.locks.end(),
                   [](const Lock& a, const Lock& b) { return a.waits_ns > b.waits_ns; });
  return profile;
}

double aborts_of(const Lock& lock) {
  return std::accumulate(lock.aborts.begin(), lock.aborts.end(), 0.0,
                         [](double sum, const auto& cause) { return sum + cause.second; });
}

double aborts_by(const Lock& lock, const char* cause) {
  const auto found = lock.aborts.find(cause);
  return found != lock.aborts.end() ? found->second : 0;
}

/// Aborts because the lock was held say nothing about the section.
double telling_aborts_of(const Lock& lock) { return aborts_of(lock) - aborts_by(lock, "lock-busy"); }

/// The lock with most waiting in `profile` that `is_same` accepts; null: none.
template <class IsSame>
const Lock* first_lock(const Profile& profile, IsSame is_same) {
  const auto found = std::find_if(profile.locks.begin(), profile.locks.end(), is_same);
  return found != profile.locks.end() ? &*found : nullptr;
}

bool is_among(const std::vector<Place>& sites, const std::string& key) {
  return !key.empty() &&
         std::any_of(sites.begin(), sites.end(), [&](const Place& site) { return taken_at(site) == key; });
}

/// The lock of another run that is `lock`. On the virtual machine, runs with one seed have it at one address,
/// mostly. Elsewhere it has the same name. Without a name, it is taken at the same places; that with most
/// time may be another one.
const Lock* find(const Profile& profile, const Lock& lock, bool by_address) {
  const std::string key = key_of(lock);
  const Lock* found =
      by_address && lock.objects == 1
          ? first_lock(profile, [&](const Lock& other) { return other.place.address == lock.place.address; })
          : nullptr;
  if (found == nullptr && !key.empty())
    found = first_lock(profile, [&](const Lock& other) { return key_of(other) == key; });
  if (found != nullptr || !lock.place.name.empty()) return found;
  found = first_lock(profile, [&](const Lock& other) {
    return other.place.name.empty() && is_among(other.other_sites, key);
  });
  if (found != nullptr) return found;
  return first_lock(profile, [&](const Lock& other) {
    return other.place.name.empty() && is_among(lock.other_sites, key_of(other));
  });
}

/// The conflict with the highest `weight`; null: none has any.
template <class Weight>
const Conflict* heaviest(const Lock& lock, Weight weight) {
  const auto most =
      std::max_element(lock.conflicts.begin(), lock.conflicts.end(),
                       [&](const Conflict& a, const Conflict& b) { return weight(a) < weight(b); });
  return most != lock.conflicts.end() && weight(*most) > 0 ? &*most : nullptr;
}

std::string text_of_data(const Lock& lock, const Conflict& conflict) {
  return data_text(conflict.data.name, conflict.data.address, conflict.places,
                   lock.objects == 1 ? lock.place.address : 0);
}

/// ", most often at counter: add (a.c:3) against get (a.c:9)". Empty: no conflict has any weight.
template <class Weight>
std::string most_at(const Lock& lock, Weight weight) {
  const Conflict* const most = heaviest(lock, weight);
  if (most == nullptr) return "";
  return fmt::format(", most often at {}: {} against {}", text_of_data(lock, *most), text_of(most->victim),
                     text_of(most->other));
}

/// Most conflicts are between a write to data beside the lock and a transaction that has read the lock, as
/// every one does.
Finding of_data_at_lock(const std::string& name, const Lock& lock) {
  const Conflict* const most =
      heaviest(lock, [](const Conflict& conflict) { return conflict.at_lock ? conflict.counts.apart : 0; });
  if (most == nullptr)  // not among the most frequent ones
    return {
        Cause::kDataAtLock, name,
        fmt::format("Sections under {} write data in the cache line of the lock: each such write ends all "
                    "other transactions under that lock.",
                    name),
        fmt::format("Give {} a cache line without other data (alignas(64)).", name)};
  const std::string data = text_of_data(lock, *most);
  return {
      Cause::kDataAtLock, name,
      fmt::format("Sections under {} write {}, which is in the cache line of the lock: each such write "
                  "ends all other transactions under that lock, also those that do not use {}.",
                  name, data, data),
      fmt::format("Move {} out of the cache line of its lock (alignas(64)), and compare again: if sections "
                  "read it too, that conflict stays.",
                  data)};
}

/// Only a virtual machine tells which accesses conflict. `taken`: threads that took the lock may have ended
/// most of these attempts.
Finding of_unknown_conflicts(const std::string& name, bool taken) {
  return {Cause::kTrueSharing, name,
          taken ? fmt::format(
                      "Attempts to elide {} end by conflicts: sections write the same data or data in one "
                      "cache line, or other threads take the lock. Only a virtual machine tells these "
                      "apart.",
                      name)
                : fmt::format("Sections under {} conflict: they write the same data or, which only a virtual "
                              "machine tells apart, data in one cache line.",
                              name),
          kMoveWrites};
}

/// Sections that write different data.
Finding of_different_data(const std::string& name, const Lock& lock) {
  const ConflictCounts& seen = lock.conflicts_seen;
  if (lock.conflicts_apart_at_lock > kMainCauseShare * (seen.apart + seen.prefetched))
    return of_data_at_lock(name, lock);
  const std::string advice = " If a library lays them out, use one object per thread or another library.";
  const std::string prefetched = fmt::format(
      "{} of the conflicts are with prefetches: a CPU that uses a line fetches others near it, "
      "and takes them from transactions that have written them",
      percent(share(seen.prefetched, seen.count)));
  if (sharing_of(seen) == Sharing::kPrefetch)
    return {
        Cause::kPrefetch, name,
        fmt::format("Sections under {} write different cache lines. {}{}.", name, prefetched,
                    most_at(lock, [](const Conflict& conflict) { return conflict.counts.prefetched; })),
        "Keep the data that different threads write two cache lines apart (alignas(128)). That does not help "
        "where threads walk through memory, or choose elements of one array at random." +
            advice};
  Finding finding = {
      Cause::kFalseSharing, name,
      fmt::format("Sections under {} use different data in one cache line{}.", name,
                  most_at(lock, [](const Conflict& conflict) { return conflict.counts.apart; })),
      (lock.objects > 1
           ? "Give each object that has one of these locks cache lines of its own (alignas(64)), "
             "and the data that different threads write too."
           : "Give the data that different threads write a cache line each (alignas(64)).") +
          advice};
  if (share(seen.prefetched, seen.count) >= kManyPrefetched) finding.sentence += " " + prefetched + ".";
  return finding;
}

/// Whether code is of the C library's allocator, or of C++'s. glibc's functions may be known by their file.
bool allocates(const Place& code) {
  static const std::set<std::string> kFunctions = {
      "malloc",         "calloc",           "realloc",           "free",
      "_int_malloc",    "_int_free",        "_int_realloc",      "unlink_chunk",
      "operator new()", "operator new[]()", "operator delete()", "operator delete[]()"};
  return code.file == "malloc.c" || code.file == "arena.c" || kFunctions.contains(code.name);
}

/// Sections that conflict in the allocator should not allocate, whatever the allocator shares.
std::string change_of_conflicts(const Lock& lock, const std::string& change) {
  const Conflict* const most = heaviest(lock, [](const Conflict& conflict) { return conflict.counts.count; });
  if (most == nullptr || !(allocates(most->victim) || allocates(most->other))) return change;
  return "Move allocation out of the sections, or use an allocator that keeps memory for each thread.";
}

Finding of_conflicts(const std::string& name, const Lock& lock) {
  const Sharing sharing = sharing_of(lock.conflicts_seen);
  if (sharing == Sharing::kSameLine || sharing == Sharing::kPrefetch) return of_different_data(name, lock);
  if (sharing == Sharing::kUnknown)
    return {Cause::kTrueSharing, name,
            fmt::format("Sections under {} conflict: they write the same data or data in one cache line. The "
                        "accesses of most conflicts are not known.",
                        name),
            kMoveWrites};
  const auto weight = [](const Conflict& conflict) { return conflict.counts.same(); };
  Finding finding = {
      Cause::kTrueSharing, name,
      fmt::format("Sections under {} conflict on the same data{}.", name, most_at(lock, weight)),
      kMoveWrites};
  const Conflict* const most = heaviest(lock, weight);
  const double beside = share(lock.conflicts_apart_at_lock, lock.conflicts_seen.count);
  if (most != nullptr && most->at_lock) {
    finding.sentence +=
        " These data share the lock's cache line. A write to them ends every transaction under the lock.";
  } else if (beside >= kManyBesideLock) {
    finding.sentence += fmt::format(
        " A further {} of the conflicts are with other data in the lock's cache line.", percent(beside));
  } else {
    return finding;
  }
  finding.change += " Move what remains out of the cache line of the lock.";
  return finding;
}

Finding of_conflicts_with_change(const std::string& name, const Lock& lock) {
  Finding finding = of_conflicts(name, lock);
  finding.change = change_of_conflicts(lock, finding.change);
  return finding;
}

/// Where transactions wait for lines most, if it is most of all: in one variable, at one line of source.
/// Null: there is no such place.
const LineWait* main_line_wait(const Lock& lock) {
  const auto place_of = [](const LineWait& wait) {
    const std::string variable = wait.data.name.substr(0, wait.data.name.find("+0x"));
    return std::pair(variable.empty() ? fmt::format("{}", wait.data.address) : variable, text_of(wait.site));
  };
  std::map<std::pair<std::string, std::string>, double> sums;
  for (const LineWait& wait : lock.line_waits) sums[place_of(wait)] += wait.ns;
  for (const LineWait& wait : lock.line_waits)  // the longest one of its place comes first
    if (sums[place_of(wait)] >= kMainCauseShare * lock.line_waits_ns) return &wait;
  return nullptr;
}

/// Transactions wait for lines that others use instead of aborting these: such sections are as serial as with
/// the lock.
Finding of_turns(const std::string& name, const Lock& lock, const std::string& design,
                 const std::string& commits) {
  const LineWait* const main = main_line_wait(lock);
  return {Cause::kContendedLine, name,
          fmt::format("Under {}, sections of {} take turns, as with a lock: {} of their transactions commit, "
                      "but {} of their time passes in waits for cache lines that other transactions write{}.",
                      design, name, commits, percent(std::min(1.0, share(lock.line_waits_ns, lock.holds_ns))),
                      main == nullptr ? ""
                                      : fmt::format(", most of it for {} in {}",
                                                    data_text(main->data.name, main->data.address, 1,
                                                              lock.objects == 1 ? lock.place.address : 0),
                                                    text_of(main->site))),
          kMoveWrites};
}

bool nearly_all_commit(const Lock& elided) {
  return elided.commits >= (1 - kRareAbortShare) * elided.attempts;
}

double time_at(const Lock& lock) { return lock.waits_ns + lock.holds_ns + lock.aborted_ns; }

/// Whether another lock of the run, at which much of the time passes, loses attempts.
bool others_lose(const Profile& run, const Lock& elided) {
  const double all = std::accumulate(run.locks.begin(), run.locks.end(), 0.0,
                                     [](double sum, const Lock& lock) { return sum + time_at(lock); });
  return std::any_of(run.locks.begin(), run.locks.end(), [&](const Lock& lock) {
    return &lock != &elided && !nearly_all_commit(lock) && time_at(lock) >= kSmallestLockShare * all;
  });
}

/// Whether transactions cost more than they save: nothing else makes the program slower.
/// `hold_ns`: how long a section lasts without elision.
bool costs_more(const Lock& elided, const ElidedRun& run, double hold_ns) {
  const bool slower = run.speedup < kClearlySlower && run.highest_speedup && *run.highest_speedup < 1;
  const bool is_short = hold_ns > 0 && hold_ns <= kShortSectionNs &&
                        share(elided.holds_ns, elided.acquisitions) <= hold_ns + kShortSectionNs;
  return slower && is_short && nearly_all_commit(elided) && !others_lose(run.profile, elided);
}

/// What ends the attempts to elide a lock.
struct Reasons {
  double met_free = 0;  // attempts that met a free lock
  double telling = 0;   // aborts of all transactions, except for a held lock
  double aborted = 0;   // of met_free
  double capacity = 0, faults = 0, interrupts = 0, other = 0;
  double on_data = 0;    // conflicts on what sections access; from samples: all that may be
  double by_taking = 0;  // conflicts with threads that take the lock; from samples: all that may be
};

unsigned other_threads(const ElidedRun& run) { return std::max(run.profile.most_threads, 1U) - 1; }

double other_aborts_of(const Lock& lock) {
  return telling_aborts_of(lock) - aborts_by(lock, "capacity") - aborts_by(lock, "conflict");
}

/// The part that `aborts` are of the aborts for other reasons.
double share_of_other(const Profile& run, double aborts) {
  const double other =
      std::accumulate(run.locks.begin(), run.locks.end(), 0.0,
                      [](double sum, const Lock& lock) { return sum + other_aborts_of(lock); });
  return std::min(1.0, share(aborts, other));
}

Reasons reasons_of(const Lock& elided, const ElidedRun& run) {
  Reasons reasons;
  const double conflicts = aborts_by(elided, "conflict");
  reasons.met_free = elided.attempts - aborts_by(elided, "lock-busy");
  reasons.telling = telling_aborts_of(elided);
  // Aborts of speculations while waiting are among them, but not among the attempts.
  reasons.aborted = std::min(reasons.telling, reasons.met_free - elided.commits);
  reasons.capacity = aborts_by(elided, "capacity");
  const double other = other_aborts_of(elided);
  reasons.faults = other * share_of_other(run.profile, run.profile.faulted);
  // No section causes interrupts. A long transaction meets them, one that waits for data too.
  reasons.interrupts = other * share_of_other(run.profile, run.profile.interrupted);
  reasons.other = std::max(other - reasons.faults - reasons.interrupts, 0.0);
  reasons.on_data = run.profile.exact ? elided.conflicts_seen.count : conflicts;
  // A thread that takes the lock ends at most one attempt of each other thread.
  const bool may_end_most = elided.fallbacks * other_threads(run) >= kMainCauseShare * conflicts;
  if (run.profile.exact) {
    reasons.by_taking = std::max(conflicts - reasons.on_data, 0.0);
  } else if (may_end_most) {
    reasons.by_taking = conflicts;
  }
  return reasons;
}

/// Whether most attempts end because sections cannot commit, or because threads therefore take the lock.
bool cannot_commit(const Reasons& reasons, const Lock& elided, const ElidedRun& run) {
  const double count = std::max({reasons.capacity, reasons.other, reasons.faults});
  if (count < kFewestAborts) return false;
  // Conflicts end most attempts of a section before it gets to what it cannot do at all.
  if (elided.commits < kRareCommitShare * elided.acquisitions && count >= kDecidedShare * elided.fallbacks)
    return true;
  if (run.profile.exact)
    return count >= reasons.on_data && count * other_threads(run) >= kMainCauseShare * reasons.by_taking;
  const bool leads_to_fallbacks = count >= kMainCauseShare * run.tries * elided.fallbacks;
  return count >= reasons.on_data || (reasons.by_taking > 0 && leads_to_fallbacks);
}

/// ", and interrupts end most of the others", if one reason ends most of the attempts that abort; else empty.
std::string main_reason_of(const Reasons& reasons) {
  const std::pair<double, const char*> kReasons[] = {{reasons.interrupts, "interrupts"},
                                                     {reasons.capacity, "overflows of the cache"},
                                                     {reasons.faults, "page faults"},
                                                     {reasons.on_data + reasons.by_taking, "conflicts"}};
  for (const auto& [count, words] : kReasons)
    if (count > kMainCauseShare * reasons.aborted)
      return fmt::format(", and {} end most of the others", words);
  return "";
}

Finding of_rare_conflicts(const std::string& name, const Reasons& reasons, const Lock& elided,
                          const ElidedRun& run, double hold_ns) {
  const bool often_busy = reasons.met_free < (1 - kRareAbortShare) * elided.attempts;
  const double commit_share = std::min(1.0, share(elided.commits, reasons.met_free));
  if (elided.line_waits_ns > 0 && elided.line_waits_ns >= kTurnsShare * elided.holds_ns)
    return of_turns(name, elided, run.design, percent(commit_share));
  const std::string rare =
      fmt::format("Under {}, sections of {} rarely conflict: {} of their transactions{} commit{}", run.design,
                  name, percent(commit_share), often_busy ? " that met a free lock" : "",
                  commit_share < 1 - kRareAbortShare ? main_reason_of(reasons) : "");
  if (!costs_more(elided, run, hold_ns)) return {Cause::kRareConflicts, name, rare + ".", ""};
  return {Cause::kShortSections, name,
          fmt::format("{}. But they last {:.0f} ns each, and to begin and to commit a transaction costs more "
                      "than it saves.",
                      rare, hold_ns),
          ""};
}

/// Aborts that are fewer than those for conflicts may lead to these.
Finding of_sections_that_cannot_commit(const std::string& name, const Reasons& reasons) {
  struct Kind {
    double count;
    Cause cause;
    const char *what, *kind_of_abort, *change;
  };
  const Kind kinds[] = {
      {reasons.capacity, Cause::kTooLong, "are too long for a transaction", " are for capacity",
       "Split the sections, or the lock, so that each touches fewer cache lines."},
      {reasons.faults, Cause::kFirstTouch, "touch memory for the first time", " are page faults",
       "Touch new memory before the sections, or use memory again that was freed."},
      {reasons.other, Cause::kSystemCalls, "make system calls or use instructions that no transaction may",
       "", "Move input, output, and allocation of large blocks out of the sections."},
  };
  const Kind& most = *std::max_element(std::begin(kinds), std::end(kinds),
                                       [](const Kind& a, const Kind& b) { return a.count < b.count; });
  return {most.cause, name,
          fmt::format("Sections under {} {}: {} of the aborts{}{}.", name, most.what,
                      percent(share(most.count, reasons.telling)), most.kind_of_abort,
                      reasons.by_taking > most.count
                          ? ", and each thread that then takes the lock ends attempts of others"
                          : ""),
          most.change};
}

/// What ends the attempts to elide `lock`; `elided`: the lock under such a design.
/// `hold_ns`: how long a section lasts without elision.
Finding of_attempts(const std::string& name, const Lock& elided, const ElidedRun& run, double hold_ns) {
  const Reasons reasons = reasons_of(elided, run);
  // Interrupts that end a few attempts say nothing about the section.
  const double by_sections = reasons.aborted - std::min(reasons.aborted, reasons.interrupts);
  const bool rarely_abort =
      share(std::max(by_sections, reasons.interrupts), reasons.met_free) < kRareAbortShare;
  // Nearly all sections commit after some attempts that no conflict ended.
  const bool commit_in_the_end = elided.commits >= (1 - kRareAbortShare) * elided.acquisitions &&
                                 reasons.on_data + reasons.by_taking < kRareAbortShare * reasons.met_free &&
                                 reasons.interrupts < kRareAbortShare * reasons.met_free;
  if (reasons.met_free > 0 && (rarely_abort || commit_in_the_end))
    return of_rare_conflicts(name, reasons, elided, run, hold_ns);
  if (cannot_commit(reasons, elided, run)) return of_sections_that_cannot_commit(name, reasons);
  const bool conflicts = reasons.on_data >= kFewestAborts;
  if (conflicts && !run.profile.exact) return of_unknown_conflicts(name, reasons.by_taking > 0);
  const bool often = reasons.on_data >= kRareAbortShare * reasons.met_free;
  // To take a lock and to release it ends at most two attempts of each other thread.
  const bool more_than_taking = reasons.by_taking > 2 * elided.fallbacks * other_threads(run);
  if (conflicts && (often || reasons.on_data >= reasons.by_taking || more_than_taking))
    return of_conflicts_with_change(name, elided);
  return {
      Cause::kLockTaken, name,
      fmt::format("Attempts to elide {} end because other threads take it, not by what its sections access.",
                  name),
      ""};
}

Finding of_held_lock(const Lock& lock, const Profile& plain, const ElidedRun* elided) {
  const std::string name = name_of(lock);
  const Lock* const attempted =
      elided != nullptr ? find(elided->profile, lock, plain.exact && elided->profile.exact) : nullptr;
  const bool make_calls = lock.system_calls >= lock.acquisitions / 2 && lock.acquisitions > 0;
  const bool commit = attempted != nullptr && attempted->commits >= attempted->acquisitions / 2;
  if (attempted != nullptr && attempted->attempts > 0 && (!make_calls || commit))
    return of_attempts(name, *attempted, *elided, share(lock.holds_ns, lock.acquisitions));
  if (make_calls)
    return {Cause::kSystemCalls, name,
            fmt::format("Sections under {} make system calls: {:.1f} a section.", name,
                        lock.system_calls / lock.acquisitions),
            "Move input, output, and allocation of large blocks out of the sections."};
  const double held = share(lock.holds_ns / static_cast<double>(lock.objects), plain.parallel_ns);
  return {Cause::kHeldLong, name,
          fmt::format("Threads hold {}{} for {} of the time in which two or more are alive.",
                      lock.objects == 1 ? "" : "each of ", name, percent(std::min(1.0, held))),
          ""};
}

/// A lock whose holders wait for another one is not the first to change.
Finding of_lock(const Lock& lock, const Profile& plain, const ElidedRun* elided) {
  Finding finding = of_held_lock(lock, plain, elided);
  const double inside = share(lock.waits_inside_ns, lock.holds_ns);
  const Lock* const inner =
      first_lock(plain, [&](const Lock& other) { return other.place.address == lock.inside; });
  if (inside < kMainCauseShare || inner == nullptr) return finding;
  finding.sentence += fmt::format(
      " While threads hold {}, they wait for {} in {} of the time: that lock is to be changed first.",
      name_of(lock), name_of(*inner), percent(std::min(1.0, inside)));
  return finding;
}

/// Adds the locks for which threads hardly wait without elision, but at which much time is lost with it.
void add_losing_locks(const Profile& plain, const ElidedRun& elided, std::vector<Finding>& findings) {
  for (const Lock& lock : plain.locks) {
    const Lock* const attempted = find(elided.profile, lock, plain.exact && elided.profile.exact);
    const bool is_known =
        std::any_of(findings.begin(), findings.end(),
                    [name = name_of(lock)](const Finding& finding) { return finding.lock == name; });
    if (attempted == nullptr || is_known) continue;
    if (share(attempted->aborted_ns, working_ns(elided.profile)) < kSmallestLostShare) continue;
    findings.push_back(of_lock(lock, plain, &elided));
  }
}

/// "93 % of it for queue_lock, one of 5 locks".
std::string who_waits(const Profile& plain) {
  const double waits = std::accumulate(plain.locks.begin(), plain.locks.end(), 0.0,
                                       [](double sum, const Lock& lock) { return sum + lock.waits_ns; });
  const auto objects = std::accumulate(plain.locks.begin(), plain.locks.end(), std::size_t{0},
                                       [](std::size_t sum, const Lock& lock) { return sum + lock.objects; });
  const Lock& first = plain.locks.front();
  const std::string who =
      plain.locks.size() == 1
          ? fmt::format("all of it for {}", name_of(first))
          : fmt::format("{} of it for {}, {} of {} locks", percent(share(first.waits_ns, waits)),
                        name_of(first), first.objects == 1 ? "one" : "which are some", objects);
  const double by_one = share(first.most_waits_ns, first.waits_ns);
  return first.objects == 1 || by_one < kMainCauseShare
             ? who
             : fmt::format("{}; {} of that for one of these", who, percent(by_one));
}

/// Locks that have a cache line in common with other locks, if taking them may cost a part of the time.
std::optional<Finding> of_shared_lines(const Profile& plain) {
  std::map<std::uint64_t, std::vector<const Lock*>> lines;
  double all = 0, shared = 0;
  std::size_t count = 0, locks = 0;
  for (const Lock& lock : plain.locks) {
    if (lock.acquisitions == 0) continue;
    lines[lock.place.address / kLineBytes].push_back(&lock);
    all += lock.acquisitions;
    ++locks;
  }
  for (const auto& [line, in_it] : lines) {
    if (in_it.size() < 2) continue;
    count += in_it.size();
    for (const Lock* lock : in_it) shared += lock->acquisitions;
  }
  if (shared < kMainCauseShare * all || shared * kLockTransferNs < kSmallestWaitShare * working_ns(plain))
    return std::nullopt;
  return Finding{
      Cause::kLocksShareLine, "",
      fmt::format(
          "{} of {} locks share their cache line with another lock: a thread that takes one takes the "
          "line from threads that use the other.",
          count, locks),
      "Give each of these locks a cache line of its own (alignas(64)), with the data that it guards."};
}

}  // namespace

std::string percent(double share, const char* less_than, const char* more_than) {
  if (share > 0 && share < 0.01) return fmt::format("{}1 %", less_than);
  if (share > 0.99 && share < 1) return fmt::format("{}99 %", more_than);
  return fmt::format("{:.0f} %", 100 * share);
}

const char* code_of(Cause cause) {
  switch (cause) {
    case Cause::kRareConflicts:
      return "rare-conflicts";
    case Cause::kTrueSharing:
      return "true-sharing";
    case Cause::kFalseSharing:
      return "false-sharing";
    case Cause::kTooLong:
      return "too-long";
    case Cause::kSystemCalls:
      return "system-calls";
    case Cause::kFirstTouch:
      return "first-touch";
    case Cause::kOversubscribed:
      return "oversubscribed";
    case Cause::kMostlySerial:
      return "mostly-serial";
    case Cause::kOtherWork:
      return "other-work";
    case Cause::kMostlyBlocked:
      return "mostly-blocked";
    case Cause::kPrefetch:
      return "prefetch";
    case Cause::kDataAtLock:
      return "data-at-lock";
    case Cause::kShortSections:
      return "short-sections";
    case Cause::kLockTaken:
      return "lock-taken";
    case Cause::kLocksShareLine:
      return "locks-share-line";
    case Cause::kOneThread:
      return "one-thread";
    case Cause::kContendedLine:
      return "contended-line";
    case Cause::kHeldLong:
      return "held-long";
  }
  return "";
}

std::string name_of(const Lock& lock) {
  if (!lock.place.name.empty())
    return lock.objects == 1 ? lock.place.name
                             : fmt::format("the {} locks in {}", lock.objects, lock.place.name);
  if (const std::string taken = taken_at(lock.site); !taken.empty())
    return lock.objects == 1 ? "the lock " + taken : fmt::format("the {} locks {}", lock.objects, taken);
  return fmt::format("the lock at {:#x}", lock.place.address);
}

bool is_sufficient(const Profile& profile) {
  return profile.thread_ns() > 0 && (profile.exact || profile.samples >= kFewestSamples);
}

double working_ns(const Profile& profile) {
  return profile.thread_ns() - time_in(profile.times, State::kBlocked);
}

double wait_share(const Profile& profile) { return share(lost_ns(profile.times), working_ns(profile)); }

namespace {

/// The design's condition variables may be what gains, where waits for locks are too few.
std::string of_conditions(const ElidedRun* elided, double wait_share_of_all) {
  if (elided == nullptr || elided->speedup < kClearlyFaster) return "";
  if (1 - 1 / elided->speedup <= 2 * wait_share_of_all) return "";
  return fmt::format(
      " {} gains more than the waiting for locks: it has condition variables of its own (compare with "
      "--condition glibc).",
      elided->design);
}

Diagnosis diagnose_merged(const Profile& plain, const ElidedRun* elided,
                          std::optional<Finding> shared_lines) {
  Diagnosis diagnosis;
  diagnosis.wait_share = wait_share(plain);
  const double of_all = diagnosis.wait_share * share(working_ns(plain), plain.thread_ns());
  diagnosis.locks_matter =
      diagnosis.wait_share >= kSmallestWaitShare && of_all >= kSmallestWaitShareOfAll && !plain.locks.empty();
  const double parallel = share(plain.parallel_ns, plain.wall_ns);
  if (parallel < kShortParallelShare)
    diagnosis.findings.push_back({Cause::kMostlySerial, "",
                                  fmt::format("Only {} of the run has two or more threads; the times are of "
                                              "that part.",
                                              percent(parallel)),
                                  fmt::format("Speed up the part with one thread first: it is {} of the run.",
                                              percent(1 - parallel))});
  const double blocked = share(time_in(plain.times, State::kBlocked), plain.thread_ns());
  if (blocked >= kBlockedShare)
    diagnosis.findings.push_back(
        {Cause::kMostlyBlocked, "",
         fmt::format(
             "Threads are blocked outside of locks for {} of their time: they wait for conditions, barriers, "
             "other threads or the kernel.{}",
             percent(blocked), of_conditions(elided, of_all)),
         ""});
  if (!diagnosis.locks_matter) {
    diagnosis.sentence =
        elided != nullptr && elided->speedup >= kClearlyFaster && elided->lowest_speedup.value_or(1) >= 1
            ? fmt::format(
                  "Threads wait for locks in only {} of their time. What {} gains beyond that is no waiting "
                  "that is "
                  "seen: taking free locks costs time too, and threads that spin on trylock count as "
                  "outside.",
                  percent(of_all), elided->design)
            : fmt::format(
                  "Locks do not matter here: threads wait for them in {} of their time, so shorter waits "
                  "can gain little.",
                  percent(of_all));
    const double with_work = share(working_ns(plain), plain.parallel_ns);
    if (plain.most_threads <= 2 && with_work <= kMostOfOneThread)
      diagnosis.findings.push_back(
          {Cause::kOneThread, "", "One thread at a time has work, so none waits for another.",
           "Compare it with as many threads as in production: one thread shows what a lock "
           "costs, not how long others wait for it."});
    if (elided != nullptr) add_losing_locks(plain, *elided, diagnosis.findings);
    // What is in the way of elision alone does not matter either. The layout of data costs time without it.
    std::erase_if(diagnosis.findings, [](const Finding& finding) {
      return !finding.lock.empty() && finding.cause != Cause::kFalseSharing &&
             finding.cause != Cause::kDataAtLock;
    });
    if (shared_lines) diagnosis.findings.push_back(*shared_lines);
    return diagnosis;
  }
  const std::string of_all_text = percent(of_all), of_working = percent(diagnosis.wait_share);
  diagnosis.sentence = fmt::format(
      "Threads wait for locks in {} of their time{}, {}.", of_all_text,
      of_all_text == of_working ? "" : fmt::format(" ({} of that in which they are not blocked)", of_working),
      who_waits(plain));
  // Threads that sleep at a lock need no CPU. Samples do not tell these from those that spin.
  const double asleep = plain.exact ? plain.parked_ns : time_in(plain.times, State::kWaiting);
  const double busy = share(working_ns(plain) - asleep, plain.parallel_ns);
  if (plain.cpus != 0 && busy >= plain.cpus + kFewestMoreThreads)
    diagnosis.findings.push_back({Cause::kOversubscribed, "",
                                  fmt::format("On average, {:.0f} threads need a CPU, and there are {}: a "
                                              "thread that loses its CPU in a section "
                                              "makes the others wait.",
                                              busy, plain.cpus),
                                  "Use no more threads than CPUs."});
  double waits = 0;
  for (const Lock& lock : plain.locks) waits += lock.waits_ns;
  for (const Lock& lock : plain.locks) {
    if (lock.waits_ns < kSmallestLockShare * waits || lock.waits_ns == 0) break;
    diagnosis.findings.push_back(of_lock(lock, plain, elided));
  }
  if (elided != nullptr) add_losing_locks(plain, *elided, diagnosis.findings);
  if (shared_lines) diagnosis.findings.push_back(*shared_lines);
  return diagnosis;
}

}  // namespace

Diagnosis diagnose(const Profile& plain, const ElidedRun* elided) {
  if (elided == nullptr)
    return diagnose_merged(with_locks_by_place(plain, arrays_among({&plain.locks})), nullptr,
                           of_shared_lines(plain));
  const std::set<std::string> arrays = arrays_among({&plain.locks, &elided->profile.locks});
  const Profile profile = with_locks_by_place(elided->profile, arrays);
  const ElidedRun run{profile,         elided->design,          elided->tries,
                      elided->speedup, elided->highest_speedup, elided->lowest_speedup};
  return diagnose_merged(with_locks_by_place(plain, arrays), &run, of_shared_lines(plain));
}

}  // namespace elision::profile
