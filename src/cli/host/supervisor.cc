// SPDX-License-Identifier: Apache-2.0
#include "cli/host/supervisor.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

volatile sig_atomic_t g_child = 0;

// Passes a signal on, unless the terminal sent it: Ctrl-C (si_code SI_KERNEL) reaches the child anyway.
void pass_on(int signal, siginfo_t* info, void*) {
  if (info->si_code != SI_KERNEL && g_child > 0) kill(g_child, signal);
}

class SignalsPassedOn {
 public:
  SignalsPassedOn() {
    struct sigaction action {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO;
    for (std::size_t i = 0; i < kPassedOn.size(); ++i) sigaction(kPassedOn[i], &action, &previous_[i]);
  }
  ~SignalsPassedOn() { restore(); }
  void restore() const {
    for (std::size_t i = 0; i < kPassedOn.size(); ++i) sigaction(kPassedOn[i], &previous_[i], nullptr);
  }

 private:
  std::array<struct sigaction, kPassedOn.size()> previous_{};
};

// Blocks the signals until g_child names the new child. Otherwise a signal in between would be lost.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : kPassedOn) sigaddset(&held, signal);
    sigprocmask(SIG_BLOCK, &held, &previous_);
  }
  ~SignalsHeld() { release(); }
  void release() const { sigprocmask(SIG_SETMASK, &previous_, nullptr); }

 private:
  sigset_t previous_{};
};

}  // namespace

int supervise(const std::function<int()>& child, const std::function<void()>& afterwards) {
  const pid_t parent = getpid();
  g_child = 0;
  const SignalsPassedOn passing;
  const auto before = std::signal(SIGCHLD, SIG_DFL);  // if ignored, the child's status would be lost
  std::fflush(nullptr);
  const SignalsHeld held;
  const pid_t pid = fork();
  if (pid < 0) throw UsageError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (pid == 0) {
    passing.restore();
    std::signal(SIGCHLD, before);
    held.release();
    // If the supervisor is killed, the guest must end too.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kUsageExitCode);
    std::exit(child());
  }
  g_child = pid;
  held.release();
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  afterwards();
  return status;
}

void end_like(int wait_status) {
  std::fflush(nullptr);
  if (WIFSIGNALED(wait_status)) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(WTERMSIG(wait_status), SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, WTERMSIG(wait_status));
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(WTERMSIG(wait_status));
  }
  std::exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : kUsageExitCode);
}

}  // namespace elision::cli
