// SPDX-License-Identifier: Apache-2.0
#include "cli/host/gnuplot.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "cli/host/console.h"
#include "cli/host/environment.h"
#include "cli/host/parse.h"
#include "cli/host/program_file.h"
#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

constexpr const char* kName = "gnuplot";

/// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content = "") : descriptor_(memfd_create(kName, MFD_CLOEXEC)) {
    if (descriptor_ < 0 || write_all(descriptor_, content) != 0 || lseek(descriptor_, 0, SEEK_SET) != 0)
      throw UsageError(fmt::format("cannot draw: {}", std::strerror(errno)));
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }

  std::string content() const {
    std::string text;
    char part[4096];
    for (ssize_t length = 0;
         (length = pread(descriptor_, part, sizeof part, static_cast<off_t>(text.size()))) > 0;)
      text.append(part, static_cast<std::size_t>(length));
    return text;
  }

 private:
  const int descriptor_;
};

std::string gnuplot_file() { return find_program(kName, variable(copy_environment(environ), "PATH")); }

// Returns the wait status.
int run_gnuplot(const MemoryFile& script, const MemoryFile& picture, const MemoryFile& complaints) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, script.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, picture.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, complaints.descriptor(), STDERR_FILENO);
  const std::vector<std::string> words = {kName, "--default-settings", "-"};
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, gnuplot_file().c_str(), &actions, nullptr, pointers_to(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw UsageError(fmt::format("cannot start gnuplot: {}", std::strerror(error)));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// gnuplot shows the line of the script, a mark below it, and then says what is wrong with it.
std::string last_line(const std::string& text) {
  std::string last = "it drew nothing";
  for (const std::string& line : split_list(text, '\n')) {
    if (line.find_first_not_of(' ') != std::string::npos) last = line;
  }
  return last;
}

}  // namespace

void require_gnuplot() try { gnuplot_file(); } catch (const UsageError&) {
  throw UsageError("--plot needs gnuplot, which is not in PATH; Debian's package is gnuplot-nox");
}

std::string drawn_by_gnuplot(const std::string& script) {
  const MemoryFile input(script), picture, complaints;
  const int status = run_gnuplot(input, picture, complaints);
  const std::string drawn = picture.content();
  if (status == 0 && !drawn.empty()) return drawn;
  throw UsageError(fmt::format("gnuplot failed: {}", last_line(complaints.content())));
}

}  // namespace elision::cli
