// SPDX-License-Identifier: Apache-2.0
#include "cli/host/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>

#include "base/printable.h"
#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

constexpr std::array kStandard = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
std::array<bool, kStandard.size()> g_placeholders{};

// Turns SIGPIPE and SIGXFSZ of this thread's writes into their errno.
class WriteSignalsHeld {
 public:
  WriteSignalsHeld() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGPIPE);
    sigaddset(&signals_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals_, &previous_);
  }
  ~WriteSignalsHeld() {
    const timespec now{};
    while (sigtimedwait(&signals_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }
  WriteSignalsHeld(const WriteSignalsHeld&) = delete;
  WriteSignalsHeld& operator=(const WriteSignalsHeld&) = delete;

 private:
  sigset_t signals_{}, previous_{};
};

[[noreturn]] void end_without_reader() {
  constexpr int kExitCode = 128 + SIGPIPE;
  std::signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
  _exit(kExitCode);
}

}  // namespace

void hold_standard_descriptors() {
  for (std::size_t i = 0; i < kStandard.size(); ++i) {
    if (fcntl(kStandard[i], F_GETFD) >= 0 || errno != EBADF) continue;
    // Opened in the wrong direction, so that its use fails. open() returns the lowest free number, which is
    // this one.
    const int mode = kStandard[i] == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    g_placeholders[i] = open("/dev/null", mode | O_CLOEXEC) == kStandard[i];
  }
}

void release_standard_descriptors() {
  for (std::size_t i = 0; i < kStandard.size(); ++i) {
    if (g_placeholders[i]) close(kStandard[i]);
    g_placeholders[i] = false;
  }
}

int write_all(int descriptor, std::string_view content) {
  const WriteSignalsHeld held;
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd room = {descriptor, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

void print(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == EPIPE) end_without_reader();
  if (error != 0) throw UsageError(fmt::format("cannot write to standard output: {}", std::strerror(error)));
}

void print_error(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

void tell(std::string_view verb, std::string_view message) {
  print_error(fmt::format("elision{}{}: {}\n", verb.empty() ? "" : " ", printable(verb), printable(message)));
}

void do_all(std::initializer_list<std::function<void()>> steps) {
  std::optional<UsageError> first;
  for (const auto& step : steps) {
    try {
      step();
    } catch (const UsageError& error) {
      if (!first) first = error;
    }
  }
  if (first) throw *first;
}

}  // namespace elision::cli
