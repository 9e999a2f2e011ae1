// SPDX-License-Identifier: Apache-2.0
// A file of generated input.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace workloads::rms {

/// The file lies in a folder of its own below $TMPDIR. Both lose their names before anything is written, so
/// that nothing is left if the program is killed later. An error ends the program with one line and exit
/// code 2.
class InputFile {
 public:
  explicit InputFile(std::string_view content) : descriptor_(open_without_name()) {
    for (std::size_t at = 0; at < content.size();) {
      const ssize_t written = ::write(descriptor_, content.data() + at, content.size() - at);
      if (written < 0 && errno != EINTR) fail("write the input");
      if (written > 0) at += static_cast<std::size_t>(written);
    }
    if (::lseek(descriptor_, 0, SEEK_SET) != 0) fail("go to the beginning of the input");
  }
  ~InputFile() { ::close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// For its reader, at the beginning of the file.
  int descriptor() const { return descriptor_; }

  /// Reads `bytes` bytes that begin at `offset`, by system calls alone.
  void read(void* into, std::size_t bytes, std::size_t offset) const {
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t read =
          ::pread(descriptor_, static_cast<char*>(into) + at, bytes - at, static_cast<off_t>(offset + at));
      if (read == 0 || (read < 0 && errno != EINTR)) fail("read the input");
      if (read > 0) at += static_cast<std::size_t>(read);
    }
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "cannot %s: %s\n", what, std::strerror(errno));
    std::_Exit(2);
  }

  static int open_without_name() {
    const char* const given = std::getenv("TMPDIR");
    std::string folder = given != nullptr && *given != '\0' ? given : "/tmp";
    folder += "/rms-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) fail("make a folder for the input");
    const std::string name = folder + "/input";
    const int descriptor = ::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    const int error = errno;
    ::unlink(name.c_str());
    ::rmdir(folder.c_str());
    errno = error;
    if (descriptor < 0) fail("make the input");
    return descriptor;
  }

  const int descriptor_;
};

}  // namespace workloads::rms
