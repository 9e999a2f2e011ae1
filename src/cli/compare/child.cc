// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/environment.h"
#include "cli/usage_error.h"

namespace elision::cli::compare {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

std::string content_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// Every run must see the same input; what comes through a pipe or a terminal can be read only once.
const char* input_for_every_run() {
  struct stat status{};
  return fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode) ? "/proc/self/fd/0" : "/dev/null";
}

/// posix_spawn's two option objects, with a process group of its own and default signals.
class SpawnOptions {
 public:
  explicit SpawnOptions(const std::filesystem::path& directory) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, input_for_every_run(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, (directory / "stdout").c_str(), kCreate, 0600);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, (directory / "stderr").c_str(), kCreate, 0600);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGQUIT}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnOptions() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;

  pid_t spawn(const ChildRequest& request) const {
    pid_t pid = 0;
    const int error = posix_spawn(&pid, request.file.c_str(), &actions_, &attributes_,
                                  pointers_to(request.words).data(), pointers_to(request.environment).data());
    if (error != 0) throw UsageError(fmt::format("cannot run '{}': {}", request.file, std::strerror(error)));
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// True if the process ended by itself; false if time ran out or we were told to stop.
bool wait_for_end(pid_t pid, const StopFlag& stop, Clock::time_point start, double timeout_seconds) {
  // By number: glibc 2.36 declares pidfd_open without C linkage.
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return true;  // waitpid will block instead
  bool ended = false;
  while (!ended && !stop.raised()) {
    const double left = timeout_seconds - seconds_since(start);
    if (left <= 0) break;
    pollfd waits[] = {{process, POLLIN, 0}, {stop.descriptor(), POLLIN, 0}};
    poll(waits, 2, static_cast<int>(std::min(left * 1000 + 1, 1e6)));
    ended = (waits[0].revents & POLLIN) != 0;
  }
  close(process);
  return ended;
}

const StopFlag* g_stop = nullptr;

void on_stop_signal(int) { g_stop->raise(); }

}  // namespace

void stop_on_signals(const StopFlag& stop) {
  g_stop = &stop;
  struct sigaction action{};
  action.sa_handler = on_stop_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

StopFlag::StopFlag() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) throw UsageError(fmt::format("cannot make an event: {}", std::strerror(errno)));
}

StopFlag::~StopFlag() { close(descriptor_); }

void StopFlag::raise() const { eventfd_write(descriptor_, 1); }

bool StopFlag::raised() const {
  pollfd wait = {descriptor_, POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

Sample run_child(const ChildRequest& request, const StopFlag& stop) {
  Sample sample;
  const auto start = Clock::now();
  const pid_t pid = SpawnOptions(request.directory).spawn(request);
  const bool ended = wait_for_end(pid, stop, start, request.timeout_seconds);
  if (!ended) kill(-pid, SIGKILL);
  int status = 0;
  rusage usage{};
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  sample.seconds = sample.host_seconds = seconds_since(start);
  kill(-pid, SIGKILL);  // whatever it left running in its group would disturb the next run
  sample.outcome = !ended ? Outcome::kTimedOut : WIFSIGNALED(status) ? Outcome::kKilled : Outcome::kEnded;
  sample.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  sample.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  sample.output = content_of(request.directory / "stdout");
  sample.error_output = content_of(request.directory / "stderr");
  return sample;
}

}  // namespace elision::cli::compare
