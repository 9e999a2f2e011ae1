// SPDX-License-Identifier: Apache-2.0
// A temporary file for programs that read or write one in their sections.
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

namespace workloads {

/// The file lies in a folder of its own below $TMPDIR. Both lose their names before anything is written, so
/// that nothing is left if the program is killed later. An error ends the program with one line and exit
/// code 2. Reads and writes are system calls alone.
class NamelessFile {
 public:
  NamelessFile() : descriptor_(open_without_name()) {}
  ~NamelessFile() { ::close(descriptor_); }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  int descriptor() const { return descriptor_; }

  std::size_t size() const {
    const off_t end = ::lseek(descriptor_, 0, SEEK_END);
    if (end < 0) fail("go to the end of");
    return static_cast<std::size_t>(end);
  }

  void rewind() const {
    if (::lseek(descriptor_, 0, SEEK_SET) != 0) fail("go to the beginning of");
  }

  /// Writes behind what was written last.
  void write(const void* from, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t written = ::write(descriptor_, static_cast<const char*>(from) + at, bytes - at);
      if (written < 0 && errno != EINTR) fail("write");
      if (written > 0) at += static_cast<std::size_t>(written);
    }
  }

  /// Reads `bytes` bytes that begin at `offset`.
  void read(void* into, std::size_t bytes, std::size_t offset) const {
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t read =
          ::pread(descriptor_, static_cast<char*>(into) + at, bytes - at, static_cast<off_t>(offset + at));
      if (read == 0) errno = ENODATA;  // the file ends too early
      if (read == 0 || (read < 0 && errno != EINTR)) fail("read");
      if (read > 0) at += static_cast<std::size_t>(read);
    }
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "cannot %s a temporary file: %s\n", what, std::strerror(errno));
    std::_Exit(2);
  }

  static int open_without_name() {
    const char* const given = std::getenv("TMPDIR");
    std::string folder = given != nullptr && *given != '\0' ? given : "/tmp";
    folder += "/elision-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) fail("make a folder for");
    const std::string name = folder + "/file";
    const int descriptor = ::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    const int error = errno;
    ::unlink(name.c_str());
    ::rmdir(folder.c_str());
    errno = error;
    if (descriptor < 0) fail("make");
    return descriptor;
  }

  const int descriptor_;
};

}  // namespace workloads
