// SPDX-License-Identifier: Apache-2.0
#include "cli/lifeline.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <mutex>

#include "cli/usage_error.h"

namespace elision::cli {
namespace {

constexpr int kRead = 0, kWrite = 1;
std::once_flag g_once;
int g_ends[] = {-1, -1};

void close_end(int end) {
  if (g_ends[end] >= 0) close(g_ends[end]);
  g_ends[end] = -1;
}

void close_between(int first, int last) {
  if (first <= last) close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0);
}

}  // namespace

int lifeline() {
  std::call_once(g_once, [] {
    if (pipe2(g_ends, O_CLOEXEC) != 0)
      throw UsageError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  });
  return g_ends[kRead];
}

void leave_lifeline() { close_end(kWrite); }

void close_lifeline() {
  close_end(kWrite);
  close_end(kRead);
}

void become_helper() {
  setpgid(0, 0);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  leave_lifeline();
  close_between(0, g_ends[kRead] - 1);
  close_between(g_ends[kRead] + 1, INT_MAX);
}

}  // namespace elision::cli
