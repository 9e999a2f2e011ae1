// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/child.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "base/whole_file.h"
#include "cli/host/environment.h"
#include "cli/host/lifeline.h"
#include "cli/host/usage_error.h"

namespace elision::cli::experiment {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// The program may have removed the file. The output of a killed run is not compared.
std::string output_of(const ChildRequest& request, const char* name, bool timed_out) {
  constexpr std::size_t kMostBytes = 64 << 20;
  const std::filesystem::path file = request.directory / name;
  elision::Result<std::string> text = read_whole_file(file, kMostBytes);
  if (text) return std::move(*text);
  std::error_code error;
  if (timed_out || !std::filesystem::exists(file, error)) return "";
  throw UsageError(fmt::format("cannot keep what '{}' wrote to {}: {}", request.program, name, text.error()));
}

// Every run must get the same input, but a pipe or a terminal can be read only once. The path goes through
// our own descriptor, since the child closes its descriptor before it opens the path.
std::string input_for_every_run() {
  struct stat status {};
  const bool file = fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  return file ? fmt::format("/proc/{}/fd/{}", getpid(), STDIN_FILENO) : "/dev/null";
}

/// The guards' report on a run, in memory shared with the comparison.
struct Report {
  int start_error = 0;     // an errno: the program could not be started
  pid_t left_running = 0;  // a process of the program that may not be ended; 0: none
  bool ended = false;      // the inner guard finished: the members below are valid
  bool stopped = false;    // the guards ended the program
  int status = 0;
  double seconds = 0;
  rusage usage{};
};

/// Shared with processes that are forked later.
class SharedReport {
 public:
  SharedReport() {
    void* memory = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw UsageError(fmt::format("no memory for a run: {}", std::strerror(errno)));
    report_ = new (memory) Report;
  }
  ~SharedReport() { munmap(report_, sizeof(Report)); }
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;
  Report& operator*() const { return *report_; }

 private:
  Report* report_;
};

/// What the program's process needs, prepared before the fork.
struct Start {
  std::string input, output, error_output;
  const char* file;
  std::vector<char*> words, environment;
};

Start start_of(const ChildRequest& request) {
  return {input_for_every_run(),
          (request.directory / "stdout").string(),
          (request.directory / "stderr").string(),
          request.file.c_str(),
          pointers_to(request.words),
          pointers_to(request.environment)};
}

bool open_as(int wanted, const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), flags, 0600);
  if (descriptor < 0 || descriptor == wanted) return descriptor >= 0;
  const bool good = dup2(descriptor, wanted) >= 0;
  close(descriptor);
  return good;
}

// Becomes the program, in a process group of its own, with default signals.
[[noreturn]] void become_program(const Start& start, pid_t guard, Report& report) {
  constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guard) _exit(kUsageExitCode);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGQUIT}) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  close_lifeline();
  if (open_as(STDIN_FILENO, start.input, O_RDONLY) && open_as(STDOUT_FILENO, start.output, kCreate) &&
      open_as(STDERR_FILENO, start.error_output, kCreate)) {
    execve(start.file, start.words.data(), start.environment.data());
  }
  report.start_error = errno;
  _exit(kUsageExitCode);
}

// The parent of `process`; 0 if `process` has gone.
pid_t parent_of(pid_t process) {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = descriptor < 0 ? -1 : read(descriptor, text, sizeof text - 1);
  if (descriptor >= 0) close(descriptor);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* name_end = std::strrchr(text, ')');  // the name may contain any characters
  int parent = 0;
  return name_end != nullptr && std::sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

bool has_ended(pid_t child) {
  siginfo_t end{};
  return waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid != 0;
}

// Returns false if `child` cannot be ended because it belongs to another user.
bool end_child(pid_t child) {
  if (kill(child, SIGKILL) != 0 && !has_ended(child)) return false;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return true;
}

// Ends children until there are none. Descendants of any group or session become our children when their
// parents end (PR_SET_CHILD_SUBREAPER), so this ends them all. Returns a process that cannot be ended, or 0.
pid_t end_descendants() {
  while (true) {
    DIR* const processes = opendir("/proc");
    if (processes == nullptr) return 0;
    pid_t stays = 0;
    bool any_ended = false;
    for (const dirent* entry = nullptr; (entry = readdir(processes)) != nullptr;) {
      const pid_t process = std::atoi(entry->d_name);  // 0: not the folder of a process
      if (process <= 0 || parent_of(process) != getpid()) continue;
      const bool ended = end_child(process);
      any_ended |= ended;
      if (!ended) stays = process;
    }
    closedir(processes);
    if (!any_ended) return stays;
  }
}

bool told_to_end() {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

// Waits until `child` ends, the other end of `life` is closed, or SIGTERM comes. SIGTERM and SIGCHLD are
// blocked. Does not use pidfd_open, which a container may forbid. Without signalfd, polls.
void wait_for_any(pid_t child, int life) {
  sigset_t news;
  sigemptyset(&news);
  sigaddset(&news, SIGTERM);
  sigaddset(&news, SIGCHLD);
  pollfd waits[] = {{life, 0, 0}, {signalfd(-1, &news, SFD_CLOEXEC), POLLIN, 0}};
  const int wait_ms = waits[1].fd < 0 ? 100 : -1;
  while (!has_ended(child)) {
    if (poll(waits, std::size(waits), wait_ms) < 0 && errno != EINTR) return;
    signalfd_siginfo signal{};
    if (waits[0].revents != 0 || (waits[1].fd < 0 && told_to_end())) return;
    if (waits[1].revents != 0 &&
        (read(waits[1].fd, &signal, sizeof signal) < 0 || signal.ssi_signo == SIGTERM))
      return;
  }
}

/// A pipe that carries no data: its reader sees when all writers have ended.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw UsageError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int reader() const { return ends[0]; }
  int writer() const { return ends[1]; }
  void close_reader() { close_end(0); }
  void close_writer() { close_end(1); }

 private:
  void close_end(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  int ends[2] = {-1, -1};
};

// The guards are forked copies of the comparison. An exception must not reach the comparison's handlers.

// The inner guard: starts the program and measures it. `outer` hangs up when the outer guard ends.
[[noreturn]] void guard_program(const Start& start, Report& report, int outer) noexcept {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t self = getpid();
  const auto begin = Clock::now();
  const pid_t program = fork();
  if (program == 0) become_program(start, self, report);
  if (program < 0) {
    report.start_error = errno;
    _exit(kUsageExitCode);
  }
  wait_for_any(program, outer);
  report.stopped = !has_ended(program);
  // It may have ended, but only we wait for it.
  const bool ends = kill(program, SIGKILL) == 0 || has_ended(program);
  while (ends && wait4(program, &report.status, 0, &report.usage) < 0 && errno == EINTR) {
  }
  report.seconds = seconds_since(begin);
  report.left_running = end_descendants();
  _exit(0);
}

// The outer guard, between the comparison and the inner guard. Each guard survives the comparison and the
// other guard, and ends all processes of the program. Both hold `ending` open until then.
[[noreturn]] void guard_run(const Start& start, Report& report, int ending) noexcept {
  become_helper("run-guard", ending);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Pipe life;
  const pid_t inner = fork();
  if (inner == 0) {
    life.close_writer();
    guard_program(start, report, life.reader());
  }
  if (inner < 0) {
    report.start_error = errno;
    _exit(kUsageExitCode);
  }
  life.close_reader();
  wait_for_any(inner, lifeline());
  life.close_writer();
  int status = 0;
  while (waitpid(inner, &status, 0) < 0 && errno == EINTR) {
  }
  report.left_running = end_descendants();
  report.ended = status == 0;
  _exit(0);
}

// True if the guards ended by themselves; false on timeout or if we must stop.
bool wait_for_end(int ending, const StopFlag& stop, Clock::time_point start, double timeout_seconds) {
  while (!stop.raised()) {
    const double left = timeout_seconds - seconds_since(start);
    if (left <= 0) return false;
    pollfd waits[] = {{ending, 0, 0}, {stop.descriptor(), POLLIN, 0}};
    poll(waits, std::size(waits), static_cast<int>(std::min(left * 1000 + 1, 1e6)));
    if (waits[0].revents != 0) return true;
  }
  return false;
}

// If the outer guard was killed, the inner one may still be at work.
void await_end(int ending) {
  pollfd wait = {ending, 0, 0};
  while (wait.revents == 0) poll(&wait, 1, -1);
}

pid_t fork_guard(const Start& start, Report& report, Pipe& ending) {
  lifeline();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a SIGTERM may come before the guard has blocked it
  const pid_t guard = fork();
  if (guard == 0) guard_run(start, report, ending.writer());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (guard < 0) throw UsageError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  ending.close_writer();
  return guard;
}

const StopFlag* g_stop = nullptr;

void on_stop_signal(int) { g_stop->raise(); }

}  // namespace

void stop_on_signals(const StopFlag& stop) {
  g_stop = &stop;
  std::signal(SIGCHLD, SIG_DFL);  // if ignored, the children's status would be lost
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  for (const int signal : kStopSignals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);  // under nohup a hang-up stops nothing
  }
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
  const SharedReport shared;
  Report& report = *shared;
  const auto start = Clock::now();
  Pipe ending;
  const pid_t guard = fork_guard(start_of(request), report, ending);
  const bool ended = wait_for_end(ending.reader(), stop, start, request.timeout_seconds);
  if (!ended) kill(guard, SIGTERM);
  while (waitpid(guard, nullptr, 0) < 0 && errno == EINTR) {
  }
  await_end(ending.reader());
  if (report.start_error != 0)
    throw UsageError(fmt::format("cannot run '{}': {}", request.file, std::strerror(report.start_error)));
  if (!report.ended || (ended && report.stopped))
    throw UsageError(fmt::format("a process that watches '{}' was killed", request.program));
  Sample sample;
  const int status = report.status;
  sample.seconds = sample.host_seconds = report.seconds;
  sample.most_seconds = request.timeout_seconds;
  sample.outcome = !ended ? Outcome::kTimedOut : WIFSIGNALED(status) ? Outcome::kKilled : Outcome::kEnded;
  sample.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  sample.cpu_seconds = seconds_of(report.usage.ru_utime) + seconds_of(report.usage.ru_stime);
  sample.left_running = report.left_running;
  sample.output = output_of(request, "stdout", !ended);
  sample.error_output = output_of(request, "stderr", !ended);
  return sample;
}

}  // namespace elision::cli::experiment
