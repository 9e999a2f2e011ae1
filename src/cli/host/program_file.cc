// SPDX-License-Identifier: Apache-2.0
#include "cli/host/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "base/elf_header.h"
#include "cli/host/environment.h"
#include "cli/host/parse.h"
#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestScriptLine = 256;  // the kernel's BINPRM_BUF_SIZE

[[noreturn]] void reject(const std::string& file, std::string_view why) {
  throw UsageError(fmt::format("cannot run '{}': {}", file, why));
}

bool is_runnable(const std::string& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

std::optional<std::string> search(const std::string& name, std::string_view path) {
  for (const std::string& directory : split_list(path, ':')) {
    const std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
    if (is_runnable(candidate)) return candidate;
  }
  return std::nullopt;
}

// The text after "#!" in the first line.
std::string interpreter_in(std::string_view head) {
  std::string_view line =
      head.substr(2, head.find('\n') == std::string_view::npos ? head.size() : head.find('\n') - 2);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return std::string(line.substr(0, line.find_first_of(" \t\r")));
}

// The beginning of a file, by which the kernel knows the kind of program.
std::string head_of(std::ifstream& stream) {
  std::string head(kLongestScriptLine, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  return head;
}

void check_script(const std::string& file, std::string_view head) {
  const std::string interpreter = interpreter_in(head);
  if (interpreter.empty()) reject(file, "its first line names no interpreter");
  if (!is_runnable(interpreter)) {
    reject(file, fmt::format("its interpreter '{}' does not exist or is not executable", interpreter));
  }
}

void check_elf(const std::string& file, std::ifstream& stream, std::uintmax_t file_bytes) {
  constexpr std::string_view kTruncated = "it is a truncated ELF";
  Elf64_Ehdr header{};
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  const auto bytes = static_cast<std::size_t>(stream.gcount());
  if (const std::string problem = elf_header_problem(header, bytes); !problem.empty())
    reject(file, "it " + problem);
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  const auto table_bytes = static_cast<std::streamsize>(segments.size() * sizeof(Elf64_Phdr));
  stream.seekg(static_cast<std::streamoff>(header.e_phoff));
  stream.read(reinterpret_cast<char*>(segments.data()), table_bytes);
  if (stream.gcount() != table_bytes) reject(file, kTruncated);
  for (const Elf64_Phdr& segment : segments) {
    const bool outside = segment.p_offset > file_bytes || segment.p_filesz > file_bytes - segment.p_offset;
    if (segment.p_type == PT_LOAD && outside) reject(file, kTruncated);
  }
}

}  // namespace

std::string find_program(const std::string& name, std::string_view path) {
  if (name.find('/') == std::string::npos) {
    if (const auto found = search(name, path)) return *found;
    throw UsageError(fmt::format("no program '{}' in PATH", name));
  }
  std::error_code error;
  if (!fs::exists(name, error)) throw UsageError(fmt::format("no program '{}': no such file", name));
  if (fs::is_directory(name, error)) reject(name, "it is a directory");
  if (!is_runnable(name)) reject(name, "it is not executable");
  return name;
}

Program program_of(const std::vector<std::string>& words) {
  Program program{find_program(words.front(), variable(copy_environment(environ), "PATH")), words};
  check_program(program.file);
  return program;
}

void check_program(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return;  // executable but not readable: the kernel may still run it
  const std::string head = head_of(stream);
  stream.clear();
  stream.seekg(0);
  if (head.rfind("#!", 0) == 0) return check_script(file, head);
  if (head.rfind(ELFMAG, 0) == 0) return check_elf(file, stream, fs::file_size(file));
  if (head.empty()) reject(file, "the file is empty");
  reject(file, "it is neither an ELF program nor a script whose first line names an interpreter ('#!')");
}

std::string interpreter_of_script(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string head = stream ? head_of(stream) : "";
  return head.starts_with("#!") ? interpreter_in(head) : "";
}

std::string address_sanitizer_of(const std::string& file) {
  constexpr std::string_view kOfGcc = "libasan.so", kOfClang = "libclang_rt.asan";
  std::string found;
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return found;
  elf_version(EV_CURRENT);
  {
    const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(descriptor, ELF_C_READ, nullptr), elf_end);
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNAMIC) continue;
      Elf_Data* const entries = elf_getdata(section, nullptr);
      GElf_Dyn entry;
      for (int i = 0; gelf_getdyn(entries, i, &entry) != nullptr && entry.d_tag != DT_NULL; ++i) {
        if (entry.d_tag != DT_NEEDED) continue;
        const char* const name = elf_strptr(elf.get(), header.sh_link, entry.d_un.d_val);
        const std::string_view soname = name == nullptr ? "" : name;
        if (soname.starts_with(kOfGcc) || soname.starts_with(kOfClang)) found = soname;
      }
    }
  }
  close(descriptor);
  return found;
}

}  // namespace elision::cli
