// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/whole_file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace elision::vm {
namespace {

bool write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written < 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

int write_whole(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool whole = fd >= 0 && write_all(fd, text) && rename(temporary.c_str(), path.c_str()) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (whole) return 0;
  if (fd >= 0) unlink(temporary.c_str());
  return error;
}

}  // namespace elision::vm
