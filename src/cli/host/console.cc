// SPDX-License-Identifier: Apache-2.0
#include "cli/host/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>

#include "base/printable.h"
#include "cli/host/parse.h"
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

std::string variable_or_empty(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The locale that the environment names. The process itself stays in the "C" locale.
bool locale_is_utf8() {
  const locale_t named = newlocale(LC_CTYPE_MASK, "", nullptr);
  if (named == nullptr) return false;
  const bool utf8 = std::strcmp(nl_langinfo_l(CODESET, named), "UTF-8") == 0;
  freelocale(named);
  return utf8;
}

std::size_t width_in(const Surroundings& surroundings) {
  constexpr std::size_t kNarrowest = 20;
  const unsigned asked = number_of<unsigned>(surroundings.columns).value_or(0);
  const unsigned known = asked != 0 ? asked : surroundings.window_columns;
  return known == 0 ? kDefaultWidth : std::max<std::size_t>(known, kNarrowest);
}

}  // namespace

Appearance appearance_in(const Surroundings& surroundings) {
  Appearance appearance;
  appearance.blocks = surroundings.utf8;
  if (!surroundings.terminal) return appearance;
  appearance.width = width_in(surroundings);
  appearance.redraws = surroundings.term != "dumb";
  appearance.colour = appearance.redraws && surroundings.no_color.empty();
  return appearance;
}

Appearance appearance_of(int descriptor) {
  Surroundings surroundings;
  surroundings.terminal = isatty(descriptor) == 1;
  winsize window{};
  if (surroundings.terminal && ioctl(descriptor, TIOCGWINSZ, &window) == 0)
    surroundings.window_columns = window.ws_col;
  surroundings.utf8 = locale_is_utf8();
  surroundings.columns = variable_or_empty("COLUMNS");
  surroundings.no_color = variable_or_empty("NO_COLOR");
  surroundings.term = variable_or_empty("TERM");
  return appearance_in(surroundings);
}

std::string toned(std::string_view text, Tone tone, const Appearance& appearance) {
  if (!appearance.colour || tone == Tone::kPlain) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", tone == Tone::kGood ? "1;32" : "31", text);  // bold green, red
}

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
