// SPDX-License-Identifier: Apache-2.0
#include "cli/host/replaceable_locks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "cli/host/environment.h"
#include "cli/host/install.h"
#include "cli/host/program_file.h"
#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

constexpr const char* kLinkedStatically = "it is linked statically";
constexpr const char* kLocksOfApi = "it locks through libelision-api, whose locks are not replaced";

using Names = std::set<std::string, std::less<>>;

// Functions that load libraries or start programs. With one of these, a program may use locks that its files
// do not show.
const Names& open_ended() {
  static const Names kNames = {"dlopen",   "dlmopen",     "execl",        "execle",  "execlp",
                               "execv",    "execve",      "execvp",       "execvpe", "fexecve",
                               "execveat", "posix_spawn", "posix_spawnp", "system",  "popen"};
  return kNames;
}

/// A file open for reading. The other functions need is_elf().
class ElfFile {
 public:
  explicit ElfFile(const std::string& file) : descriptor_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    if (descriptor_ >= 0) elf_ = elf_begin(descriptor_, ELF_C_READ, nullptr);
  }
  ~ElfFile() {
    elf_end(elf_);
    if (descriptor_ >= 0) close(descriptor_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool is_elf() const { return elf_ != nullptr && elf_kind(elf_) == ELF_K_ELF; }

  /// The dynamic linker that the program asks for; empty: none.
  std::string interpreter() const {
    std::size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) return {};
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr || segment.p_type != PT_INTERP)
        continue;
      char path[PATH_MAX] = {};
      if (segment.p_filesz >= sizeof path) return {};
      const ssize_t length = pread(descriptor_, path, segment.p_filesz, static_cast<off_t>(segment.p_offset));
      return length == static_cast<ssize_t>(segment.p_filesz) ? path : "";
    }
    return {};
  }

  /// Calls `each` for every dynamic symbol. False if there is no readable table.
  bool for_each_symbol(const std::function<void(std::string_view name, bool defined)>& each) const {
    bool found = false;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
      Elf_Data* const table = elf_getdata(section, nullptr);
      GElf_Sym symbol;
      for (int i = 1; gelf_getsym(table, i, &symbol) != nullptr; ++i) {
        const char* const name = elf_strptr(elf_, header.sh_link, symbol.st_name);
        if (name != nullptr) each(name, symbol.st_shndx != SHN_UNDEF);
      }
      found = true;
    }
    return found;
  }

 private:
  int descriptor_;
  Elf* elf_ = nullptr;
};

// The program that finally runs: a script's interpreter, or the interpreter's.
std::string without_scripts(std::string file) {
  constexpr int kMostScripts = 5;  // the kernel's own limit
  for (int i = 0; i < kMostScripts; ++i) {
    const std::string interpreter = interpreter_of_script(file);
    if (interpreter.empty()) break;
    file = interpreter;
  }
  return file;
}

// Whether the dynamic linker ignores LD_PRELOAD (AT_SECURE).
bool gains_rights(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return false;
  const bool user = (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid();
  const bool group =
      (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != getegid();
  const bool capabilities = geteuid() != 0 && getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
  return user || group || capabilities;
}

// The libraries of `file` as `linker` lists them: "libm.so.6 => /lib/libm.so.6 (0x...)". Nothing if it fails.
std::optional<std::string> listing(const std::string& linker, const std::string& file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const std::vector<std::string> words = {linker, "--list", file};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, linker.c_str(), &actions, nullptr, pointers_to(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t length = 0; error == 0 && (length = read(ends[0], part, sizeof part)) != 0;) {
    if (length > 0) text.append(part, static_cast<std::size_t>(length));
    if (length < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 0;
  while (error == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return error == 0 && status == 0 ? std::optional(text) : std::nullopt;
}

std::vector<std::string> libraries_in(const std::string& listing) {
  constexpr std::string_view kArrow = " => ";
  std::vector<std::string> files;
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(kArrow), address = line.rfind(" (0x");
    if (arrow == std::string::npos || address == std::string::npos || address < arrow) continue;
    files.push_back(line.substr(arrow + kArrow.size(), address - arrow - kArrow.size()));
  }
  return files;
}

Names replaced_functions() {
  Names names;
  const ElfFile library(preload_library());
  if (library.is_elf()) {
    library.for_each_symbol([&names](std::string_view name, bool defined) {
      if (defined) names.emplace(name);
    });
  }
  return names;
}

// Whether `file` needs a symbol that `is_wanted`; nothing if its symbols cannot be read.
template <class IsWanted>
std::optional<bool> needs(const std::string& file, IsWanted is_wanted) {
  const ElfFile object(file);
  bool found = false;
  const bool read = object.is_elf() && object.for_each_symbol([&](std::string_view name, bool defined) {
    found |= !defined && is_wanted(name);
  });
  return read ? std::optional(found) : std::nullopt;
}

// Whether `file` may load libraries or start programs.
bool is_open_ended(const std::string& file) {
  return needs(file, [](std::string_view name) { return open_ended().contains(name); }).value_or(true);
}

// Whether `file` calls one of `functions` or may load code that does.
bool may_lock(const std::string& file, const Names& functions) {
  const auto is_wanted = [&](std::string_view name) {
    return functions.contains(name) || open_ended().contains(name);
  };
  return needs(file, is_wanted).value_or(true);
}

// Whether code in `file` starts transactions.
bool may_start_transactions(const std::string& file) {
  return needs(file, [](std::string_view name) { return name == "_ITM_beginTransaction"; }).value_or(true);
}

// The libitm in a list of libraries that is not libitm.so.1; empty: none.
std::string other_libitm(const std::string& listing) {
  constexpr std::string_view kName = "libitm.so.";
  for (std::size_t at = listing.find(kName); at != std::string::npos; at = listing.find(kName, at + 1)) {
    const std::string name = listing.substr(at, listing.find_first_of(" \n", at) - at);
    const bool begins_a_word = at == 0 || listing[at - 1] == '\t' || listing[at - 1] == '\n';
    if (begins_a_word && name != "libitm.so.1") return name;
  }
  return {};
}

// Why no transaction of `file` can be replaced, for a sentence; empty: some can, or it is not known.
std::string why_no_transaction_is_replaced(const std::string& file, Place place) {
  const ElfFile program(file);
  if (!program.is_elf()) return {};
  const std::string linker = program.interpreter();
  if (linker.empty()) return kLinkedStatically;
  if (place == Place::kNative && gains_rights(file)) return "it runs with more rights than its caller";
  const std::optional<std::string> list = listing(linker, file);
  if (!list) return {};
  if (const std::string other = other_libitm(*list); !other.empty())
    return fmt::format("it uses {}, and libelision-tm stands for libitm.so.1", other);
  std::vector<std::string> objects = libraries_in(*list);
  objects.push_back(file);
  if (is_open_ended(file) || std::any_of(objects.begin(), objects.end(), may_start_transactions)) return {};
  return "it has none: it was not compiled with -fgnu-tm";
}

// Whether `file` calls libelision-api. One that is linked with its archive does not show it.
bool calls_api(const std::string& file) {
  return needs(file, [](std::string_view name) { return name.starts_with("elision_"); }).value_or(false);
}

}  // namespace

std::string why_no_lock_is_replaced(const std::string& named, Place place) {
  const std::string file = without_scripts(named);
  const ElfFile program(file);
  if (!program.is_elf()) return {};
  const std::string linker = program.interpreter();
  if (linker.empty()) return kLinkedStatically;
  if (place == Place::kNative && gains_rights(file)) return "it runs with more rights than its caller";
  const std::string linker_name = linker.substr(linker.rfind('/') + 1);
  if (linker_name.starts_with("ld-musl")) return "its C library is not glibc";
  if (!linker_name.starts_with("ld-linux")) return {};  // only glibc's linker is started to list libraries
  const std::optional<std::string> list = listing(linker, file);
  if (!list) return {};
  std::vector<std::string> objects = libraries_in(*list);
  objects.push_back(file);
  const Names functions = replaced_functions();
  const bool some = std::any_of(objects.begin(), objects.end(),
                                [&](const std::string& object) { return may_lock(object, functions); });
  if (some) return {};
  return calls_api(file) ? kLocksOfApi : "it does not lock through pthread mutexes";
}

std::string why_no_lock_was_taken(const std::string& named, Place place) {
  const std::string why = why_no_lock_is_replaced(named, place);
  return why.empty() && calls_api(without_scripts(named)) ? kLocksOfApi : why;
}

std::string no_lock_sentence(std::string_view program, std::string_view verb, std::string_view why) {
  return fmt::format(
      "{} {} no lock that Elision can replace{}, so the design of the lock makes no difference to it{}",
      program, verb, why.empty() ? " in this run" : fmt::format(" ({})", why),
      why == kLinkedStatically ? "; link it dynamically" : "");
}

void require_transactions(const std::string& file, Place place, std::string_view option) {
  if (const std::string why = why_no_transaction_is_replaced(without_scripts(file), place); !why.empty())
    throw UsageError(fmt::format("{}: the transactions of '{}' cannot be replaced: {}", option, file, why));
}

}  // namespace elision::cli
