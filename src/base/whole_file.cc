// SPDX-License-Identifier: Apache-2.0
#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace elision {
namespace {

class Descriptor {
 public:
  // A FIFO without a writer opens at once.
  explicit Descriptor(const std::string& path)
      : number_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
};

Error system_error() { return {std::strerror(errno)}; }

std::string size_text(std::size_t bytes) {
  constexpr std::size_t kKilobyte = 1024, kMegabyte = 1024 * kKilobyte;
  return bytes >= kMegabyte ? std::to_string(bytes / kMegabyte) + " MB"
                            : std::to_string(bytes / kKilobyte) + " KB";
}

}  // namespace

// Does not use the size from stat: files of /proc have size 0, and a file may grow.
Result<std::string> read_whole_file(const std::string& path, std::size_t most_bytes) {
  constexpr std::size_t kPieceBytes = 1 << 16;
  const Descriptor file(path);
  struct stat status {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) return system_error();
  if (S_ISDIR(status.st_mode)) return Error{std::strerror(EISDIR)};
  if (!S_ISREG(status.st_mode)) return Error{"it is not a regular file"};
  std::string content;
  while (content.size() <= most_bytes) {
    const std::size_t old = content.size();
    content.resize(old + std::min(kPieceBytes, most_bytes + 1 - old));
    const ssize_t more = read(file.number(), content.data() + old, content.size() - old);
    if (more < 0 && errno != EINTR) return system_error();
    content.resize(old + static_cast<std::size_t>(std::max<ssize_t>(more, 0)));
    if (more == 0) return content;
  }
  return Error{"it is larger than " + size_text(most_bytes)};
}

}  // namespace elision
