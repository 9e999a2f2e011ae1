// SPDX-License-Identifier: Apache-2.0
#include "cli/host/held_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/host/descriptors.h"
#include "cli/host/environment.h"
#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

constexpr int kNotExecuted = 127;
constexpr char kGo = 1;

/// In the child, which shares nothing but may hold locks of threads that it does not have: calls only what a
/// signal handler may.
[[noreturn]] void wait_and_execute(const int (&ends)[2], const char* file, char* const* words,
                                   char* const* environment, const sigset_t& to_reset, const sigset_t& mask) {
  close(ends[0]);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&to_reset, signal) != 1) continue;
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  restore_descriptor_limit();
  char byte = 0;
  ssize_t got = 0;
  while ((got = recv(ends[1], &byte, 1, 0)) < 0 && errno == EINTR) {
  }
  if (got != 1) _exit(kNotExecuted);  // the parent has ended
  execve(file, words, environment);
  const int error = errno;
  (void)!send(ends[1], &error, sizeof error, MSG_NOSIGNAL);
  _exit(kNotExecuted);
}

}  // namespace

HeldProcess::HeldProcess(const std::string& file, const std::vector<std::string>& words,
                         const std::vector<std::string>& environment, const sigset_t& to_reset) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw UsageError(fmt::format("cannot run '{}': {}", file, std::strerror(errno)));
  const auto word_pointers = pointers_to(words), variables = pointers_to(environment);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  id_ = fork();
  const int error = errno;
  if (id_ == 0)
    wait_and_execute(ends, file.c_str(), word_pointers.data(), variables.data(), to_reset, before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(ends[1]);
  socket_ = ends[0];
  if (id_ > 0) return;
  close(socket_);
  throw UsageError(fmt::format("cannot run '{}': {}", file, std::strerror(error)));
}

HeldProcess::~HeldProcess() {
  close(socket_);
  if (released_) return;
  kill(id_, SIGKILL);
  while (waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

int HeldProcess::release() {
  released_ = true;
  (void)!send(socket_, &kGo, 1, MSG_NOSIGNAL);
  int error = 0;
  ssize_t got = 0;
  while ((got = recv(socket_, &error, sizeof error, MSG_WAITALL)) < 0 && errno == EINTR) {
  }
  if (got != static_cast<ssize_t>(sizeof error)) return 0;  // its end is closed: execve or a signal
  while (waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
  return error;
}

}  // namespace elision::cli
