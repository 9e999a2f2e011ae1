// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all, processes that end alike.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "cli/host/output_file.h"
#include "cli/host/supervisor.h"
#include "cli/host/temp_directory.h"
#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::size_t files_in(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {}));
}

TEST(AtomicFile, ReplacesTheOldContentAndLeavesNothingElse) {
  const TempDirectory directory;
  const fs::path file = directory.path() / "out.json";
  write_output(file, "old");
  write_output(file, "new");
  EXPECT_EQ(content_of(file), "new");
  EXPECT_EQ(files_in(directory.path()), 1u);
}

TEST(AtomicFile, UnwritablePlacesAreRefusedBeforeAndDuring) {
  const TempDirectory directory;
  EXPECT_THROW(require_writable(directory.path() / "no" / "such"), UsageError);
  EXPECT_THROW(require_writable(directory.path()), UsageError);
  EXPECT_THROW(write_output(directory.path() / "no" / "such", "x"), UsageError);
  EXPECT_NO_THROW(require_writable(directory.path() / "new"));
  fs::create_directory(directory.path() / "taken");
  EXPECT_THROW(write_output(directory.path() / "taken", "x"), UsageError);
  EXPECT_EQ(files_in(directory.path()), 1u);
}

TEST(RegularFile, OthersAreRefusedAndStandardOutputIsNot) {
  const TempDirectory directory;
  const fs::path fifo = directory.path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THROW(require_regular(fifo), UsageError);
  EXPECT_THROW(require_regular("/dev/null"), UsageError);
  EXPECT_THROW(require_regular(directory.path()), UsageError);
  EXPECT_NO_THROW(require_regular(directory.path() / "new"));
  EXPECT_NO_THROW(require_regular(kStandardOutput));
}

TEST(TempDirectory, DisappearsWithItsContent) {
  fs::path path;
  {
    const TempDirectory directory;
    path = directory.path();
    std::ofstream(path / "file") << "x";
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Supervisor, PassesExitCodeAfterWork) {
  bool afterwards = false;
  const int status = supervise([] { return 7; }, [&] { afterwards = true; });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  EXPECT_TRUE(afterwards);
}

// A child that sends `signal` to its supervisor alone must get it back.
TEST(Supervisor, SignalsSentToItReachTheChild) {
  const int status = supervise(
      [] {
        kill(getppid(), SIGTERM);
        while (true) pause();
        return 0;
      },
      [] {});
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

TEST(SupervisorDeathTest, EndsAsTheChildDid) {
  EXPECT_EXIT(end_like(supervise([] { return 3; }, [] {})), ::testing::ExitedWithCode(3), "");
  EXPECT_EXIT(end_like(supervise(
                  [] {
                    std::signal(SIGABRT, SIG_DFL);
                    raise(SIGABRT);
                    return 0;
                  },
                  [] {})),
              ::testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace elision::cli
