// SPDX-License-Identifier: Apache-2.0
#include "base/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace elision {
namespace {

class WholeFile : public testing::Test {
 protected:
  WholeFile() {
    std::string name = testing::TempDir() + "whole-file-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~WholeFile() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& content) {
    std::ofstream(folder_ / "file", std::ios::binary) << content;
    return folder_ / "file";
  }
  std::filesystem::path folder_;
};

TEST_F(WholeFile, UpToTheLimitIsRead) {
  const std::string content = std::string(200'000, 'x') + std::string("\0\n", 2);
  for (const std::string& text : {std::string(), std::string("a"), content}) {
    EXPECT_EQ(read_whole_file(file(text), text.size()).value(), text);
  }
}

TEST_F(WholeFile, BeyondTheLimitIsRefused) {
  EXPECT_EQ(read_whole_file(file(std::string(2049, 'x')), 2048).error(), "it is larger than 2 KB");
  std::filesystem::resize_file(file(""), std::uintmax_t{1} << 40);
  EXPECT_EQ(read_whole_file(folder_ / "file", 1 << 20).error(), "it is larger than 1 MB");
}

TEST_F(WholeFile, EndlessFileIsRefusedAtOnce) {
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(read_whole_file(fifo, 1 << 20).error(), "it is not a regular file");
  EXPECT_EQ(read_whole_file("/dev/zero", 1 << 20).error(), "it is not a regular file");
}

TEST_F(WholeFile, ErrorsOfTheSystemAreSaid) {
  EXPECT_EQ(read_whole_file(folder_ / "no", 1).error(), "No such file or directory");
  EXPECT_EQ(read_whole_file(folder_, 1).error(), "Is a directory");
}

TEST_F(WholeFile, FileOfUnknownSizeIsRead) {
  EXPECT_NE(read_whole_file("/proc/self/status", 1 << 20).value().find("Pid:"), std::string::npos);
}

}  // namespace
}  // namespace elision
