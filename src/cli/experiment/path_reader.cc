// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/path_reader.h"

#include <fcntl.h>
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

/// The files that a process has mapped, and its memory as long as it runs.
struct Code {
  Code(std::uint32_t process, const std::string& memory_map)
      : names(memory_map), unwinder(names, [process](std::uint64_t address, void* to, std::size_t bytes) {
          const iovec ours{to, bytes}, theirs{reinterpret_cast<void*>(address), bytes};
          return process_vm_readv(static_cast<pid_t>(process), &ours, 1, &theirs, 1, 0) ==
                 static_cast<ssize_t>(bytes);
        }) {}

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

  void add() {
    const std::optional<State> state = state_of(sample);
    name_thread();
    if (!state || !find_code()) return;
    profile::DwarfRegisters registers;
    std::copy(std::begin(sample.registers), std::end(sample.registers), registers.begin());
    const profile::StackBytes stack{sample.stack,
                                    std::min<std::size_t>(sample.stack_bytes, abi::PathSample::kStackBytes)};
    const std::vector<profile::CallStep> chain = code->unwinder.backtrace(registers, &stack, kMostCalls);
    profile::CallPaths& sums = sample.event == abi::PathEvent::kWait ? waits : cpu_time;
    const double weight = static_cast<double>(sample.weight);
    sums.add(*state, sample.lock, sample.thread_id, profile::places_outside_library(chain, code->names),
             sample.event == abi::PathEvent::kWait ? weight : weight * static_cast<double>(header.period_ns));
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

  /// False if no map can be had.
  bool find_code() {
    const std::uint64_t pc = sample.registers[abi::kDwarfRip];
    if (code && code->names.mapping_of(pc) != nullptr) return true;
    const std::string now = proc_text(header.process_id, "maps");
    if (!now.empty() && now != memory_map) {
      memory_map = now;
      code = std::make_unique<Code>(header.process_id, memory_map);
    }
    return code != nullptr;
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
  std::unique_ptr<Code> code;
  std::map<std::uint32_t, Name> names;  // by thread
  profile::CallPaths cpu_time;          // in nanoseconds
  profile::CallPaths waits;             // in ticks
  std::uint64_t skipped = 0;
};

PathReader::PathReader(const std::filesystem::path& file) : impl_(std::make_unique<Impl>(file)) {}
PathReader::~PathReader() = default;

void PathReader::take() { impl_->take(); }

const std::string& PathReader::memory_map() const { return impl_->memory_map; }

void PathReader::add_to(profile::Profile& profile, double ticks_per_second) const {
  profile::CallPaths all = impl_->cpu_time;
  if (ticks_per_second > 0) all.add_scaled(impl_->waits, 1e9 / ticks_per_second);
  all.add_to(profile);
  profile.paths_lost += static_cast<double>(impl_->header.lost + impl_->skipped);
  for (profile::Thread& thread : profile.threads)
    if (const auto name = impl_->names.find(thread.id); name != impl_->names.end())
      thread.name = name->second.text;
}

}  // namespace elision::cli::experiment
