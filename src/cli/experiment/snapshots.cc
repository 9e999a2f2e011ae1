// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/snapshots.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "abi/lock_variables.h"
#include "cli/experiment/preview.h"
#include "cli/experiment/program_runners.h"
#include "cli/experiment/time_limit.h"
#include "cli/host/environment.h"
#include "cli/host/install.h"
#include "cli/host/temp_directory.h"
#include "cli/host/usage_error.h"
#include "cli/options/designs.h"
#include "cli/options/region_options.h"

namespace elision::cli::experiment {
namespace {

/// Less is executed within a second.
constexpr std::uint64_t kWorthInstructions = 1'000'000'000;

/// Each has the memory of the program. The one that was used least recently ends first.
constexpr std::size_t kMostProcesses = 6;

/// Any of our designs will do: their free locks look alike.
constexpr const char* kDesignOfOurs = "tatas";

}  // namespace

std::optional<std::uint64_t> snapshot_at(const Plan& plan, std::optional<unsigned> threads) {
  const auto place = std::find(plan.thread_counts.begin(), plan.thread_counts.end(), threads);
  const auto number = static_cast<std::size_t>(place - plan.thread_counts.begin());
  if (!plan.model || !plan.shares_beginning || number >= plan.part.seen.size()) return std::nullopt;
  const std::uint64_t alone = plan.part.seen[number].alone;
  if (alone < kWorthInstructions) return std::nullopt;
  return alone - alone / 8 - kWarmUpInstructions;
}

class Snapshots::Process {
 public:
  Process(const Plan& plan, const Cell& cell, const std::string& design, std::uint64_t at)
      : socket_(directory_.path() / "snapshot") {
    ChildRequest request;
    request.file = own_binary();
    request.environment = copy_environment(environ);
    set_variable(request.environment, abi::row_of(abi::LockVariable::kCountersDir).name,
                 directory_.path().string());
    vm::RunRegion start;
    start.start = {vm::Trigger::Kind::kInstructions, at};
    Cell served = cell;
    served.design = design;
    served.seed = plan.first_seed;
    request.words = command_with(plan, served, as_words(start));
    request.words.insert(request.words.begin() + 2, {"--serve-snapshot", socket_.string()});
    request.program = plan.program();
    request.directory = directory_.path();
    request.timeout_seconds = kNoLimit;
    process_ = std::thread([this, request] {
      try {
        (void)run_child(request, end_);
      } catch (const UsageError&) {  // the runs then begin at the program's start, and report it
      }
      has_ended_ = true;
    });
    constexpr auto kInterval = std::chrono::milliseconds(1);
    while (!has_ended_ && !std::filesystem::exists(socket_)) std::this_thread::sleep_for(kInterval);
  }
  ~Process() {
    end_.raise();
    process_.join();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::filesystem::path& socket() const { return socket_; }

  /// Waits until the process serves copies, refuses to, or has ended, or until `stop` is raised. Until then
  /// nobody answers a connection. A server closes one that has no request.
  void await(const StopFlag& stop) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_.native().copy(address.sun_path, sizeof address.sun_path - 1);
    const int connection = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        shutdown(connection, SHUT_WR) == 0) {
      pollfd waits[] = {{connection, POLLIN, 0}, {stop.descriptor(), POLLIN, 0}};
      while (poll(waits, std::size(waits), -1) < 0 && errno == EINTR) continue;
    }
    close(connection);
  }

 private:
  const TempDirectory directory_;
  const std::filesystem::path socket_;
  const StopFlag end_;
  std::atomic<bool> has_ended_{false};
  std::thread process_;
};

Snapshots::Snapshots(const Plan& plan, const StopFlag& stop) : plan_(plan), stop_(stop) {}

Snapshots::~Snapshots() = default;

Snapshots::Key Snapshots::key_of(const Cell& cell) {
  return {cell.threads, cell.variation, leaves_rwlocks(cell.design)};
}

std::optional<Snapshots::Snapshot> Snapshots::of(const Cell& cell) {
  const auto process = process_of(cell);
  if (process == nullptr) return std::nullopt;
  process->await(stop_);
  return Snapshot{process->socket(), process};
}

std::shared_ptr<const Snapshots::Process> Snapshots::process_of(const Cell& cell) {
  if (cell.previews || cell.design.empty() || is_elided_by_glibc(cell.design)) return nullptr;
  const auto at = snapshot_at(plan_, cell.threads);
  if (!at) return nullptr;
  constexpr std::size_t kMostPathBytes = 60;  // of a folder for temporary files; a socket's name has 107
  if (std::filesystem::temp_directory_path().native().size() > kMostPathBytes) return nullptr;
  const Key key = key_of(cell);
  const std::lock_guard guard(mutex_);
  if (given_up_) return nullptr;
  const auto known = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const auto& process) { return process.first == key; });
  if (known != processes_.end()) {
    std::rotate(known, known + 1, processes_.end());
    return processes_.back().second;
  }
  const std::string design = leaves_rwlocks(cell.design) ? kPthread : kDesignOfOurs;
  auto process = std::make_shared<const Process>(plan_, cell, design, *at);
  if (processes_.size() == kMostProcesses) processes_.pop_front();
  processes_.emplace_back(key, process);
  return process;
}

bool Snapshots::give_up() {
  const std::lock_guard guard(mutex_);
  processes_.clear();
  return !std::exchange(given_up_, true);
}

}  // namespace elision::cli::experiment
