// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/activity_looks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "abi/call_paths.h"
#include "abi/counters_reader.h"
#include "base/usable_cpus.h"
#include "cli/experiment/lock_profile.h"
#include "cli/experiment/path_reader.h"
#include "cli/experiment/proc_file.h"
#include "profile/account.h"
#include "profile/names.h"

namespace elision::cli::experiment {
namespace {

using profile::State;

/// The scheduler's letter for a thread: R, S, D ...; 0: the thread is gone.
char state_letter(std::uint32_t process, std::uint32_t thread) {
  const std::string text = proc_text(process, "task/" + std::to_string(thread) + "/stat");
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : 0;
}

unsigned count_threads(std::uint32_t process) {
  std::error_code error;
  unsigned count = 0;
  const std::filesystem::path folder = "/proc/" + std::to_string(process) + "/task";
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    ++count;
  return count;
}

/// The file that the process executes; empty if that cannot be told.
std::filesystem::path executable_of(std::uint32_t process) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", error);
}

/// What a thread does that sleeps in the kernel or does not.
State state_of(const abi::SeenActivity& seen, bool sleeps) {
  const State state = profile::state_of(seen);
  return sleeps && state == State::kOutside ? State::kBlocked : state;
}

/// The outermost lock that the thread holds or, if it holds none, the one where it is or was last.
std::uint64_t outermost(const abi::ThreadActivity& activity, const abi::SeenActivity& seen,
                        const abi::HeldLocks& held) {
  if (held.count != 0) return held.lock[0];
  return seen.lock != 0 ? seen.lock : activity.entries[0].lock();
}

bool is_same(const abi::ThreadActivity& a, const abi::ThreadActivity& b) {
  const auto same_entry = [](const abi::ActivityEntry& x, const abi::ActivityEntry& y) {
    return x.word == y.word && x.site == y.site;
  };
  return a.position == b.position && a.taken_elsewhere == b.taken_elsewhere &&
         std::equal(std::begin(a.entries), std::end(a.entries), std::begin(b.entries), same_entry);
}

/// What a thread does, and how many of its attempts at a lock have ended.
struct Moment {
  abi::ThreadActivity activity;
  struct {
    std::uint64_t commits = 0, aborts = 0;
  } ends;
};

/// Where a thread's counts are in its slot, as they were found when `used` places of its slot were in use.
struct SlotEntries {
  std::uint32_t used = 0;
  std::map<std::uint64_t, std::vector<off_t>> places;  // by lock
};

off_t start_of_slot(std::uint32_t slot) {
  return static_cast<off_t>(abi::kCountersHeaderBytes + slot * abi::kCounterSlotBytes);
}

constexpr std::chrono::seconds kBetweenCopies{1};  // of the counters of a process that is attached to

}  // namespace

/// One process, or what it was before it executed another program.
struct ActivityLooks::Process {
  /// By the counter file at `path`.
  explicit Process(const std::filesystem::path& path)
      : file(open(path.c_str(), O_RDONLY | O_CLOEXEC)),
        paths(std::filesystem::path(path).replace_extension(abi::kPathsExtension)) {}
  /// By its memory. Counts are those since now, by copies in files that begin with `path`.
  Process(const std::filesystem::path& path, const AttachedProcess& process)
      : file(dup(process.memory())),
        counters_at(static_cast<off_t>(process.counters())),
        counters_copy(path),
        paths(std::filesystem::path(path).replace_extension(abi::kPathsExtension)) {
    copy_counters(abi::kCountersAtBegin);
  }
  ~Process() { retire(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool is_in_use() const { return file >= 0; }
  void retire() {
    if (!is_in_use()) return;
    paths.finish();
    close(file);
    file = -1;
  }
  bool read(void* to, std::size_t bytes, off_t at) const {
    return pread(file, to, bytes, counters_at + at) == static_cast<ssize_t>(bytes);
  }
  bool read_header(abi::CountersHeader& header) const {
    return is_in_use() && read(&header, sizeof header, 0) && header.magic == abi::kCountersMagic &&
           header.version == abi::kCountersVersion;
  }
  void copy_counters(const char* suffix) const;
  void identify(Clock::time_point now);
  void look(Clock::time_point now, Clock::duration step);
  void look_at_thread(std::uint32_t slot);
  const std::vector<off_t>& counts_at(std::uint32_t slot, std::uint64_t lock);
  bool read_moment(std::uint32_t slot, const std::vector<off_t>& places, Moment& moment);
  std::optional<bool> end_of_attempt(std::uint32_t slot, const std::vector<off_t>& places,
                                     const Moment& seen);

  int file;
  off_t counters_at = 0;                // in the file
  std::filesystem::path counters_copy;  // empty: `file` is the counter file
  Clock::time_point counters_copied{};
  std::uint32_t id = 0;  // 0: the file is not complete yet
  std::uint64_t started_ns = 0;
  std::filesystem::path executable;
  Clock::time_point first{};
  Clock::time_point last{};
  double parallel_ns = 0, thread_ns = 0;
  unsigned most_threads = 0;
  std::uint32_t next_slot = 1;  // where the next look begins
  LockSamples samples;
  PathReader paths;
  std::map<std::uint32_t, std::uint64_t> taken_before;  // by slot, at the last look
  std::map<std::uint32_t, SlotEntries> entries;         // by slot
  std::vector<char> slot_bytes;                         // of read_moment()
  std::string memory_map;
  std::size_t sites_at_map = 0;  // sites known when the map was read
};

/// Memory is gone when the process has ended, so the last copy counts.
void ActivityLooks::Process::copy_counters(const char* suffix) const {
  std::vector<char> bytes(abi::kCountersHeaderBytes);
  if (!is_in_use() || !read(bytes.data(), bytes.size(), 0)) return;
  bytes.resize(abi::counter_bytes_in_use(bytes.data()));
  if (!read(bytes.data(), bytes.size(), 0)) return;
  std::ofstream(counters_copy.string() + suffix, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void ActivityLooks::Process::identify(Clock::time_point now) {
  abi::CountersHeader header;
  if (id != 0 || !read_header(header)) return;
  id = header.process_id;
  started_ns = header.start_monotonic_ns;
  executable = executable_of(id);
  first = last = now;  // it may end before the first look
}

void ActivityLooks::Process::look(Clock::time_point now, Clock::duration step) {
  abi::CountersHeader header;
  if (id == 0 || !read_header(header)) return;
  const unsigned threads = count_threads(id);
  if (threads == 0 || executable_of(id) != executable) return retire();
  paths.take();
  if (!counters_copy.empty() && now - counters_copied >= kBetweenCopies) {
    copy_counters("");
    counters_copied = now;
  }
  last = now;
  most_threads = std::max(most_threads, threads);
  const std::uint32_t slots = std::min(header.next_slot, header.slot_count);
  if (threads >= 2) {
    const double step_ns = std::chrono::duration<double, std::nano>(step).count();
    parallel_ns += step_ns;
    const std::uint32_t in_use = slots > 1 ? slots - 1 : 0, looks = std::min(in_use, kMostThreadsALook);
    const std::uint64_t before = samples.count();
    samples.begin_look();
    for (std::uint32_t i = 0; i < looks; ++i) {
      if (next_slot >= slots) next_slot = 1;
      look_at_thread(next_slot++);
    }
    // The slots that were left out have as many threads alive, in proportion.
    if (looks != 0) thread_ns += step_ns * static_cast<double>(samples.count() - before) * in_use / looks;
  }
  // The map may grow while the program loads libraries: read it again when there are new sites.
  if (samples.sites() > sites_at_map || memory_map.empty()) {
    const std::string map = memory_map_of(id);
    if (!map.empty()) memory_map = map;
    sites_at_map = samples.sites();
  }
}

/// The places of a thread's counts for a lock, in its slot: one for each call site.
const std::vector<off_t>& ActivityLooks::Process::counts_at(std::uint32_t slot, std::uint64_t lock) {
  const off_t start = start_of_slot(slot);
  SlotEntries& known = entries[slot];
  std::uint32_t used = 0;
  (void)read(&used, sizeof used, start + static_cast<off_t>(offsetof(abi::CounterSlot, entries_used)));
  if (used != known.used) {
    const auto whole = std::make_unique<abi::CounterSlot>();
    known = {used, {}};
    if (read(whole.get(), sizeof *whole, start))
      for (const abi::CounterEntry& entry : whole->entries)
        if (entry.lock != 0)
          known.places[entry.lock].push_back(reinterpret_cast<const char*>(&entry) -
                                             reinterpret_cast<const char*>(whole.get()));
  }
  return known.places[lock];
}

/// A thread's activity and what has ended at a lock whose counts are at `places`, at one moment: the bytes
/// between them are read, too.
bool ActivityLooks::Process::read_moment(std::uint32_t slot, const std::vector<off_t>& places,
                                         Moment& moment) {
  constexpr auto kActivityAt = static_cast<off_t>(offsetof(abi::CounterSlot, activity));
  off_t end = kActivityAt + static_cast<off_t>(sizeof moment.activity);
  for (const off_t place : places) end = std::max(end, place + static_cast<off_t>(sizeof(abi::CounterEntry)));
  slot_bytes.resize(static_cast<std::size_t>(end - kActivityAt));
  if (!read(slot_bytes.data(), slot_bytes.size(), start_of_slot(slot) + kActivityAt)) return false;
  std::memcpy(static_cast<void*>(&moment.activity), slot_bytes.data(), sizeof moment.activity);
  moment.ends = {};
  for (const off_t place : places) {
    abi::CounterEntry entry;
    std::memcpy(&entry, slot_bytes.data() + (place - kActivityAt), sizeof entry);
    moment.ends.commits += entry.commits;
    for (const std::uint64_t aborts : entry.aborts) moment.ends.aborts += aborts;
  }
  return true;
}

/// Waits for the end of an attempt. Returns whether it aborted, by which count changes first, or nothing if
/// the attempt takes too long or more than one attempt has ended. Counts alone would not do: an aborted
/// attempt takes less time than a committed one.
std::optional<bool> ActivityLooks::Process::end_of_attempt(std::uint32_t slot,
                                                           const std::vector<off_t>& places,
                                                           const Moment& seen) {
  constexpr int kMostLooks = 64;  // 20 to 50 us
  Moment now;
  for (int looks = 0; looks < kMostLooks && read_moment(slot, places, now); ++looks) {
    const std::uint64_t commits = now.ends.commits - seen.ends.commits,
                        aborts = now.ends.aborts - seen.ends.aborts;
    if (commits + aborts > 1) return std::nullopt;
    if (commits + aborts == 1) return aborts == 1;
  }
  return std::nullopt;
}

/// One thread's state and lock, from its slot.
void ActivityLooks::Process::look_at_thread(std::uint32_t slot) {
  const off_t start = start_of_slot(slot);
  constexpr auto kActivityAt = static_cast<off_t>(offsetof(abi::CounterSlot, activity));
  std::uint32_t thread = 0;
  abi::ThreadActivity before;
  if (!read(&thread, sizeof thread, start) || !read(&before, sizeof before, start + kActivityAt) ||
      thread == 0)
    return;
  const char letter = state_letter(id, thread);
  if (letter == 0) return;
  const abi::SeenActivity seen_before = abi::seen_activity(before);
  const bool may_attempt = seen_before.activity == abi::Activity::kAttempt;
  static const std::vector<off_t> kNone;
  const std::vector<off_t>& places = may_attempt ? counts_at(slot, seen_before.lock) : kNone;
  Moment moment;
  if (!read_moment(slot, places, moment)) return;
  const abi::ThreadActivity& activity = moment.activity;
  // If its activity has changed since the first look, it has run, and sleeps at another place, if at all.
  const bool sleeps = letter != 'R' && is_same(activity, before);
  const abi::SeenActivity seen = abi::seen_activity(activity);
  const abi::HeldLocks held = abi::held_locks(activity);
  const State state = state_of(seen, sleeps);
  std::optional<bool> aborts;
  if (state == State::kAttempt && !places.empty() && seen.lock == seen_before.lock)
    aborts = end_of_attempt(slot, places, moment);
  samples.add(aborts.value_or(false) ? State::kAborted : state, seen, held,
              state != State::kAttempt || aborts.has_value());
  const std::uint64_t taken = abi::ThreadActivity::taken(activity.position);
  const auto [known, is_new] = taken_before.emplace(slot, taken);
  const bool at_lock = seen.activity != abi::Activity::kBlocked;  // not at a condition or barrier
  if (!is_new && taken > known->second)
    samples.add_taken(at_lock ? outermost(activity, seen, held) : 0, taken - known->second);
  known->second = taken;
}

ActivityLooks::ActivityLooks(std::filesystem::path directory) : directory_(std::move(directory)) {}
ActivityLooks::ActivityLooks(std::filesystem::path directory, const AttachedProcess& process)
    : directory_(std::move(directory)) {
  const std::filesystem::path path = directory_ / (std::string("0000") + abi::kCountersExtension);
  processes_.emplace(path, std::make_unique<Process>(path, process));
}
ActivityLooks::~ActivityLooks() = default;

void ActivityLooks::find_files() {
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory_, error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == abi::kCountersExtension && !processes_.contains(at->path()))
      processes_.emplace(at->path(), std::make_unique<Process>(at->path()));
}

/// Of several files of one process, the one that was begun last counts.
void ActivityLooks::retire_replaced() {
  std::map<std::uint32_t, Process*> newest;
  for (auto& [path, process] : processes_) {
    if (process->id == 0 || !process->is_in_use()) continue;
    const auto [known, is_new] = newest.emplace(process->id, process.get());
    if (is_new) continue;
    const bool is_later = process->started_ns >= known->second->started_ns;
    (is_later ? known->second : process.get())->retire();
    if (is_later) known->second = process.get();
  }
}

void ActivityLooks::look(Clock::time_point now, Clock::duration step) {
  find_files();
  for (auto& [path, process] : processes_) process->identify(now);
  retire_replaced();
  for (auto& [path, process] : processes_) process->look(now, step);
}

std::size_t ActivityLooks::files_in_use() const {
  return static_cast<std::size_t>(std::count_if(processes_.begin(), processes_.end(),
                                                [](const auto& one) { return one.second->is_in_use(); }));
}

ActivityLooks::Collected ActivityLooks::collect() {
  const auto busiest = std::max_element(
      processes_.begin(), processes_.end(),
      [](const auto& a, const auto& b) { return a.second->samples.count() < b.second->samples.count(); });
  if (busiest == processes_.end()) return {};
  Process& process = *busiest->second;
  process.paths.take();
  if (!process.counters_copy.empty()) process.copy_counters("");
  const LockCountsByAddress counts = counts_by_lock(busiest->first);
  profile::Profile profile = process.samples.profile(process.thread_ns, counts);
  profile.parallel_ns = process.parallel_ns;
  profile.wall_ns = std::chrono::duration<double, std::nano>(process.last - process.first).count();
  profile.most_threads = process.most_threads;
  profile.cpus = usable_cpus();
  const double ticks_per_second = native_ticks_per_second(read_counters(directory_));
  add_counts(profile, counts, ticks_per_second);
  process.paths.add_to(profile, ticks_per_second);
  add_thread_counts(profile, busiest->first);
  // The longer map has more of the files that the process has loaded.
  return {std::move(profile),
          std::max(process.memory_map, process.paths.memory_map(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); }),
          process.id, process.started_ns};
}

profile::Profile ActivityLooks::named(Collected collected, profile::DebugFiles debug_files) {
  profile::Names names(collected.memory_map, debug_files);
  names.add_made_code(perf_map_of(collected.process, collected.started_ns));
  name_places(collected.profile, names);
  return std::move(collected.profile);
}

}  // namespace elision::cli::experiment
