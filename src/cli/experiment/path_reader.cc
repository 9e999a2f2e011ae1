// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/path_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "abi/call_paths.h"
#include "cli/experiment/proc_file.h"
#include "profile/account.h"
#include "profile/call_paths.h"
#include "profile/names.h"
#include "profile/unwinder.h"

namespace elision::cli::experiment {
namespace {

using profile::State;

constexpr std::size_t kMostCalls = 128;

/// The state of a sample of CPU time. Nothing: waits are sampled on their own, asleep or not.
std::optional<State> state_of(const abi::PathSample& sample) {
  const auto activity = static_cast<abi::Activity>(sample.activity);
  if (sample.event == abi::PathEvent::kWait) return State::kWaiting;
  const State state = profile::state_of({activity, sample.lock, 0});
  if (state == State::kWaiting || state == State::kSpeculating) return std::nullopt;
  return state;
}

/// The files that a process has mapped, and its memory as long as it runs. `thread`: one of its threads.
struct Code {
  Code(const std::string& memory_map, const std::uint32_t& thread)
      : names(memory_map), unwinder(names, [&thread](std::uint64_t address, void* to, std::size_t bytes) {
          const iovec ours{to, bytes}, theirs{reinterpret_cast<void*>(address), bytes};
          return process_vm_readv(static_cast<pid_t>(thread), &ours, 1, &theirs, 1, 0) ==
                 static_cast<ssize_t>(bytes);
        }) {}

  bool knows(const profile::CallStep& step) const { return names.mapping_of(step.place()) != nullptr; }

  profile::Names names;
  profile::Unwinder unwinder;
};

}  // namespace

struct PathReader::Impl {
  explicit Impl(std::filesystem::path path_of_file) : path(std::move(path_of_file)) {}
  ~Impl() {
    if (file >= 0) close(file);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool read_header() {
    if (file < 0) file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    return file >= 0 && pread(file, &header, sizeof header, 0) == sizeof header &&
           header.magic == abi::kPathsMagic && header.version == abi::kPathsVersion;
  }

  /// The sample with this number; false: it is not complete.
  bool read_sample(std::uint64_t number) {
    const auto at =
        static_cast<off_t>(abi::kPathsHeaderBytes + number % abi::kPathSamples * abi::kPathSampleBytes);
    return pread(file, &sample, sizeof sample, at) == sizeof sample && sample.turn == number + 1;
  }

  void take() {
    map_is_fresh = false;
    if (!read_header()) return;
    const std::uint64_t first = header.taken, end = header.begun;
    std::uint64_t number = first;
    while (number < end && read_sample(number)) {
      add();
      ++number;
    }
    // A thread that ended while it wrote a sample leaves it incomplete. The others need its room.
    if (number == first && end - first >= abi::kPathSamples / 2) {
      ++number;
      ++skipped;
    }
    if (number != first) (void)!pwrite(file, &number, sizeof number, offsetof(abi::PathsHeader, taken));
  }

  void finish() {
    has_ended = true;
    take();
    if (file >= 0) close(file);
    file = -1;
    code.reset();
    std::error_code not_there;
    std::filesystem::remove(path, not_there);
  }

  void add() {
    const std::optional<State> state = state_of(sample);
    name_thread();
    if (!state) return;
    const std::optional<std::vector<profile::CallStep>> chain = follow();
    if (!chain) {
      ++skipped;
      return;
    }
    profile::CallPaths& sums = sample.event == abi::PathEvent::kWait ? waits : cpu_time;
    const double weight = static_cast<double>(sample.weight);
    sums.add(*state, sample.lock, sample.thread_id, profile::places_outside_library(*chain, code->names),
             sample.event == abi::PathEvent::kWait ? weight : weight * static_cast<double>(header.period_ns));
  }

  /// The calls that led to the sample. Nothing: there is no memory map.
  std::optional<std::vector<profile::CallStep>> follow() {
    if (code == nullptr) read_map();
    if (code == nullptr) return std::nullopt;
    profile::DwarfRegisters registers;
    std::copy(std::begin(sample.registers), std::end(sample.registers), registers.begin());
    const profile::StackBytes stack{sample.stack,
                                    std::min<std::size_t>(sample.stack_bytes, abi::PathSample::kStackBytes)};
    std::vector<profile::CallStep> chain = code->unwinder.backtrace(registers, &stack, kMostCalls);
    const auto known = [this](const profile::CallStep& step) { return code->knows(step); };
    // Libraries are loaded while the program runs. A chain ends in the first one that is not known.
    if (std::all_of(chain.begin(), chain.end(), known) || !read_map()) return chain;
    return code->unwinder.backtrace(registers, &stack, kMostCalls);
  }

  /// Threads are named after their start: looks again at the 2nd, 4th, 8th sample and so on.
  void name_thread() {
    Name& name = names[sample.thread_id];
    if ((name.samples & (name.samples + 1)) == 0) {
      std::string text = proc_text(header.process_id, "task/" + std::to_string(sample.thread_id) + "/comm");
      if (!text.empty() && text.back() == '\n') text.pop_back();
      if (!text.empty()) name.text = text;
    }
    ++name.samples;
  }

  /// True if the memory map has changed. It is read once a round of samples, and not when the process may be
  /// another program.
  bool read_map() {
    if (map_is_fresh || has_ended) return false;
    map_is_fresh = true;
    const std::string now =
        proc_text(header.process_id, "task/" + std::to_string(sample.thread_id) + "/maps");
    if (now.empty() || now == memory_map) return false;
    memory_map = now;
    code = std::make_unique<Code>(memory_map, sample.thread_id);
    return true;
  }

  struct Name {
    std::string text;
    std::uint64_t samples = 0;
  };

  const std::filesystem::path path;
  int file = -1;
  abi::PathsHeader header;
  abi::PathSample sample;
  std::string memory_map;
  bool map_is_fresh = false;  // read since take() began
  bool has_ended = false;
  std::unique_ptr<Code> code;
  std::map<std::uint32_t, Name> names;  // by thread
  profile::CallPaths cpu_time;          // in nanoseconds
  profile::CallPaths waits;             // in ticks
  std::uint64_t skipped = 0;
};

PathReader::PathReader(const std::filesystem::path& file) : impl_(std::make_unique<Impl>(file)) {}
PathReader::~PathReader() = default;

void PathReader::take() { impl_->take(); }

void PathReader::finish() { impl_->finish(); }

const std::string& PathReader::memory_map() const { return impl_->memory_map; }

/// Why samples of CPU time are missing; empty: they are not.
std::string PathReader::missing() const {
  if (impl_->header.magic == 0) return "";
  if (impl_->header.signal_in_use != 0)
    return "the program handles SIGURG itself, so only waits were sampled";
  if (const std::uint32_t threads = impl_->header.timers_missing; threads != 0)
    return fmt::format(
        "{} of its threads {} waits sampled alone, since they block SIGURG or the kernel made "
        "no timer",
        threads, threads == 1 ? "has" : "have");
  return "";
}

void PathReader::add_to(profile::Profile& profile, double ticks_per_second) const {
  profile.paths_missing = missing();
  profile::CallPaths all = impl_->cpu_time;
  if (ticks_per_second > 0) all.add_scaled(impl_->waits, 1e9 / ticks_per_second);
  all.add_to(profile);
  profile.paths_lost += static_cast<double>(impl_->header.lost + impl_->skipped);
  for (profile::Thread& thread : profile.threads)
    if (const auto name = impl_->names.find(thread.id); name != impl_->names.end())
      thread.name = name->second.text;
}

}  // namespace elision::cli::experiment
