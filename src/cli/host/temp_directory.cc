// SPDX-License-Identifier: Apache-2.0
#include "cli/host/temp_directory.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "cli/host/lifeline.h"
#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

// Retries, since processes that are still ending may create files.
void remove_for_good(const std::filesystem::path& path) {
  constexpr int kMostTries = 1000;
  constexpr useconds_t kPauseMicroseconds = 10'000;
  std::error_code error;
  for (int i = 0; i < kMostTries; ++i) {
    std::filesystem::remove_all(path, error);
    if (!std::filesystem::exists(path, error)) return;
    usleep(kPauseMicroseconds);
  }
}

[[noreturn]] void remove_after_death(const std::filesystem::path& path) {
  become_helper("folder-guard");
  pollfd life = {lifeline(), 0, 0};
  while ((life.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0) poll(&life, 1, -1);
  remove_for_good(path);
  _exit(0);
}

}  // namespace

TempDirectory::TempDirectory() {
  std::error_code error;
  std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) parent = "/tmp";
  std::string name = (parent / "elision.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw UsageError(
        fmt::format("cannot make a temporary directory in '{}': {}", parent.string(), std::strerror(errno)));
  }
  path_ = name;
  lifeline();
  helper_ = fork();
  if (helper_ == 0) remove_after_death(path_);
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (helper_ <= 0) return;
  kill(helper_, SIGKILL);
  while (waitpid(helper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace elision::cli
