// SPDX-License-Identifier: Apache-2.0
#include "cli/host/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/host/console.h"
#include "cli/host/parse.h"

namespace elision::cli {
namespace {

namespace fs = std::filesystem;

/// The file of an option, with links followed.
struct Destination {
  int descriptor = -1;    // an open descriptor of ours to write to; else -1
  std::string path;       // without a descriptor
  bool exists = false;    // at `path`
  struct stat status {};  // if it exists
  bool regular() const { return !exists || S_ISREG(status.st_mode); }
  bool replaceable() const { return regular() && (!exists || status.st_nlink == 1); }
};

UsageError cannot_write(const std::string& path, int error) {
  return UsageError(fmt::format("cannot write '{}': {}", path, std::strerror(error)));
}

// The directory part of `path` without links. Throws if that directory does not exist.
std::string folder_of(const std::string& asked, const fs::path& path) {
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  char resolved[PATH_MAX];
  if (realpath(parent.c_str(), resolved) == nullptr) throw cannot_write(asked, errno);
  return resolved;
}

// The links in a process's descriptor folder may lead to files without a path: pipes, sockets, removed files.
bool is_descriptor_folder(const std::string& folder) {
  return folder.starts_with("/proc/") && folder.ends_with("/fd");
}

Destination found_at(const std::string& asked, const std::string& path) {
  Destination destination;
  destination.path = path;
  destination.exists = stat(path.c_str(), &destination.status) == 0;
  if (!destination.exists && errno != ENOENT) throw cannot_write(asked, errno);
  if (destination.exists && S_ISDIR(destination.status.st_mode)) throw cannot_write(asked, EISDIR);
  return destination;
}

// Unlike realpath, follows a link to a file that does not exist yet.
Destination destination_of(const std::string& asked) {
  constexpr int kMostLinks = 40;  // the kernel's own limit
  if (asked == kStandardOutput) return {STDOUT_FILENO, {}, false, {}};
  if (asked.empty() || asked.ends_with('/')) throw cannot_write(asked, asked.empty() ? ENOENT : EISDIR);
  fs::path path = asked;
  for (int links = 0; links < kMostLinks; ++links) {
    const std::string folder = folder_of(asked, path);
    const std::string name = path.filename();
    const std::string whole = folder + "/" + name;
    if (folder == fmt::format("/proc/{}/fd", getpid())) {
      if (const auto number = number_of<int>(name); number.value_or(-1) >= 0) return {*number, {}, false, {}};
    }
    char target[PATH_MAX];
    const ssize_t length = is_descriptor_folder(folder) ? -1 : readlink(whole.c_str(), target, sizeof target);
    if (length < 0) return found_at(asked, whole);
    const fs::path next(std::string(target, static_cast<std::size_t>(length)));
    path = next.is_absolute() ? next : fs::path(folder) / next;
  }
  throw cannot_write(asked, ELOOP);
}

// Writes and closes `descriptor`. Returns 0 or an errno.
int write_and_close(int descriptor, std::string_view content) {
  const int error = write_all(descriptor, content);
  return close(descriptor) != 0 && error == 0 ? errno : error;
}

int write_in_place(const Destination& destination, std::string_view content) {
  const int fresh = destination.regular() ? O_CREAT | O_TRUNC : 0;
  const int descriptor = open(destination.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | fresh, 0666);
  return descriptor < 0 ? errno : write_and_close(descriptor, content);
}

// Gives the new file the owner and mode of the file that it replaces.
bool takes_after(int descriptor, const struct stat& old) {
  struct stat own {};
  if (fstat(descriptor, &own) != 0) return false;
  const bool same_owner = own.st_uid == old.st_uid && own.st_gid == old.st_gid;
  if (!same_owner && fchown(descriptor, old.st_uid, old.st_gid) != 0) return false;
  return fchmod(descriptor, old.st_mode & 07777) == 0;
}

std::string temporary_name(const Destination& destination) {
  return fmt::format("{}.{}.tmp", destination.path, getpid());
}

// Creates the temporary file that will replace the destination. Returns -1 if that is not possible.
int open_replacement(const Destination& destination) {
  if (!destination.replaceable()) return -1;
  const std::string temporary = temporary_name(destination);
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0 || !destination.exists || takes_after(descriptor, destination.status)) return descriptor;
  close(descriptor);
  unlink(temporary.c_str());
  return -1;
}

// Closes `descriptor`, the replacement. Returns 0 or an errno.
int write_and_replace(int descriptor, const Destination& destination, std::string_view content) {
  const std::string temporary = temporary_name(destination);
  int error = write_and_close(descriptor, content);
  if (error == 0 && rename(temporary.c_str(), destination.path.c_str()) != 0) error = errno;
  if (error != 0) unlink(temporary.c_str());
  return error;
}

// Whether a file beside the destination, which may not exist, can take its place.
bool can_be_replaced(const Destination& destination) {
  const int descriptor = open_replacement(destination);
  if (descriptor < 0) return false;
  close(descriptor);
  return unlink(temporary_name(destination).c_str()) == 0;
}

}  // namespace

void require_writable(const std::string& path) {
  const Destination destination = destination_of(path);
  if (destination.descriptor >= 0) {
    const int flags = fcntl(destination.descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) throw cannot_write(path, EBADF);
    return;
  }
  const bool good =
      destination.exists ? access(destination.path.c_str(), W_OK) == 0 : can_be_replaced(destination);
  if (!good) throw cannot_write(path, errno);
}

void require_regular(const std::string& path) {
  require_writable(path);
  if (!destination_of(path).regular())
    throw UsageError(fmt::format("cannot write '{}': it is not a regular file", path));
}

void require_directory(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) throw cannot_write(path, errno);
  if (!S_ISDIR(status.st_mode)) throw cannot_write(path, ENOTDIR);
  if (access(path.c_str(), W_OK | X_OK) != 0) throw cannot_write(path, errno);
}

bool is_standard_output(const std::string& path) { return destination_of(path).descriptor == STDOUT_FILENO; }

bool is_terminal(const std::string& path) {
  const Destination destination = destination_of(path);
  if (destination.descriptor >= 0) return isatty(destination.descriptor) == 1;
  if (!destination.exists || !S_ISCHR(destination.status.st_mode)) return false;
  const int descriptor = open(destination.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) return false;
  const bool terminal = isatty(descriptor) == 1;
  close(descriptor);
  return terminal;
}

bool is_replaced_whole(const std::string& path) {
  const Destination destination = destination_of(path);
  return destination.descriptor < 0 && can_be_replaced(destination);
}

void write_output(const std::string& path, std::string_view content) {
  const Destination destination = destination_of(path);
  if (destination.descriptor == STDOUT_FILENO) return print(content);
  int error = 0;
  if (destination.descriptor >= 0) {
    error = write_all(destination.descriptor, content);
  } else if (const int replacement = open_replacement(destination); replacement >= 0) {
    error = write_and_replace(replacement, destination, content);
  } else {
    error = write_in_place(destination, content);
  }
  if (error != 0) throw cannot_write(path, error);
}

void discard_output(const std::string& path) try {
  if (path.empty()) return;
  require_writable(path);
  const Destination destination = destination_of(path);
  if (!destination.exists || !destination.regular()) return;
  const bool gone = destination.replaceable() && unlink(destination.path.c_str()) == 0;
  if (!gone && truncate(destination.path.c_str(), 0) != 0) throw cannot_write(path, errno);
} catch (const UsageError&) {
  // It is not a file of ours.
}

}  // namespace elision::cli
