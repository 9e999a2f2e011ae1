// SPDX-License-Identifier: Apache-2.0
#include "cli/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "cli/usage_error.h"

namespace elision::cli {
namespace {

UsageError cannot_write(const std::string& path, int error) {
  return UsageError(fmt::format("cannot write '{}': {}", path, std::strerror(error)));
}

bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void require_writable(const std::string& path) {
  const std::filesystem::path directory = std::filesystem::absolute(path).parent_path();
  std::error_code ignored;
  if (path.empty()) throw cannot_write(path, ENOENT);
  if (std::filesystem::is_directory(path, ignored)) throw cannot_write(path, EISDIR);
  if (access(directory.c_str(), W_OK | X_OK) != 0) throw cannot_write(path, errno);
}

void write_atomically(const std::string& path, std::string_view content) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) throw cannot_write(path, errno);
  bool good = write_all(descriptor, content);
  int error = errno;
  if (close(descriptor) != 0 && good) good = false, error = errno;
  if (good && rename(temporary.c_str(), path.c_str()) != 0) good = false, error = errno;
  if (!good) {
    unlink(temporary.c_str());
    throw cannot_write(path, error);
  }
}

}  // namespace elision::cli
