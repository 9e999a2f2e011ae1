// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
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

bool confined = false;

/// Makes every mounted file system read-only for the calling process, as far as the kernel permits.
void make_files_read_only() {
  if (unshare(CLONE_NEWNS) != 0) _exit(125);
  FILE* const mounts = setmntent("/proc/self/mounts", "r");
  if (mounts == nullptr) _exit(125);
  while (const mntent* const entry = getmntent(mounts)) {
    constexpr unsigned long kKept = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME;
    struct statvfs status {};
    const unsigned long kept = statvfs(entry->mnt_dir, &status) == 0 ? status.f_flag & kKept : 0;
    mount(nullptr, entry->mnt_dir, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kept, nullptr);
  }
  endmntent(mounts);
}

}  // namespace

void confine() {
  constexpr int kNamespaces = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC;
  if (unshare(kNamespaces) != 0 && unshare(CLONE_NEWUSER | kNamespaces) != 0) {
    std::puts("skipped: namespaces are not permitted here, and inputs are run as programs");
    std::exit(kSkipped);
  }
  const unsigned left = alarm(0);  // the driver's time limit moves to the process that continues
  const pid_t inside = fork();
  if (inside > 0) {
    int status = 0;
    waitpid(inside, &status, 0);
    if (WIFSIGNALED(status)) {
      signal(WTERMSIG(status), SIG_DFL);
      raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
  }
  alarm(left);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (inside < 0) fail("cannot be confined");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    std::puts(
        "skipped: the root is no mount point, so that files cannot be made read-only, and inputs are run as "
        "programs");
    std::fflush(stdout);
    _exit(kSkipped);
  }
  confined = true;
}

Ended run_child(const std::vector<std::string>& command, unsigned seconds) {
  const int output = memfd_create("output", 0), errors = memfd_create("errors", 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // the driver's alarm ends only the fuzzer
    if (confined) make_files_read_only();
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
