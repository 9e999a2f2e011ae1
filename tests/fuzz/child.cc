// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "fuzz.h"

namespace fuzz {
namespace {

constexpr std::size_t kMostOutput = 1 << 20;

std::string text_of(int file) {
  std::string text(kMostOutput, '\0');
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  close(file);
  return text;
}

/// True if the child has ended within so many seconds.
bool wait_for(pid_t child, int& status, unsigned seconds) {
  constexpr timespec kStep{0, 5'000'000};
  constexpr unsigned kStepsASecond = 200;
  for (unsigned step = 0; step < seconds * kStepsASecond; ++step) {
    if (waitpid(child, &status, WNOHANG) == child) return true;
    nanosleep(&kStep, nullptr);
  }
  return false;
}

}  // namespace

Ended run_child(const std::vector<std::string>& command, unsigned seconds) {
  const int output = memfd_create("output", 0), errors = memfd_create("errors", 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // the driver's alarm ends the fuzzer, not what it has started
    const int input = open("/dev/null", O_RDONLY);
    dup2(input, 0), dup2(output, 1), dup2(errors, 2);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(126);
  }
  Ended ended;
  if (!wait_for(child, ended.status, seconds)) {
    ended.asked = true;
    kill(child, SIGTERM);
    if (!wait_for(child, ended.status, seconds)) {
      kill(child, SIGKILL);
      waitpid(child, &ended.status, 0);
      fail(command[0] + " ignores SIGTERM");
    }
  }
  ended.output = text_of(output);
  ended.errors = text_of(errors);
  return ended;
}

}  // namespace fuzz
