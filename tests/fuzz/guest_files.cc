// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a program under `elision vm`. It runs, dies like a program, or is refused with one line.
// It may run for ever, but the engine must not fail and must be killable. A mutated program may make any
// system call, so it is confined: it can neither signal nor change anything outside.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "child.h"
#include "fuzz.h"

namespace {

constexpr unsigned kSeconds = 20;
constexpr int kRefused = 2;  // the exit code of a bad command line or program

const std::string& file_name() {
  static const std::string name = [] {
    char text[] = "/tmp/fuzz-file-XXXXXX";
    close(mkstemp(text));
    std::atexit([] { unlink(file_name().c_str()); });
    return std::string(text);
  }();
  return name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string elision = (fuzz::confine(), fuzz::path_from("ELISION"));
  const std::string& name = file_name();
  unlink(name.c_str());
  const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) fuzz::fail("cannot write " + name);
  close(file);
  const fuzz::Ended ended =
      fuzz::run_child({elision, "vm", "--crash-reports", "none", "--", name, "x"}, kSeconds);
  unlink(name.c_str());
  if (ended.errors.find("internal error") != std::string::npos) fuzz::fail(ended.errors);
  const bool refused =
      WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == kRefused && ended.output.empty();
  const auto lines = std::count(ended.errors.begin(), ended.errors.end(), '\n');
  if (refused && ended.errors.rfind("elision", 0) == 0 && lines != 1)
    fuzz::fail("not one line:\n" + ended.errors);
  return 0;
}
