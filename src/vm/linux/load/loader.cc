// SPDX-License-Identifier: Apache-2.0
// Script rules are those of Linux fs/binfmt_script.c: one optional argument, 256 bytes of line, five
// levels of scripts.
#include "vm/linux/load/loader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace elision::vm {
namespace {

constexpr std::size_t kScriptLineBytes = 256;
constexpr int kMaxScriptLevels = 5;

struct ScriptLine {
  std::string interpreter;
  std::string argument;
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string trim(const std::string& text) {
  std::size_t begin = 0, end = text.size();
  while (begin < end && is_blank(text[begin])) ++begin;
  while (end > begin && is_blank(text[end - 1])) --end;
  return text.substr(begin, end - begin);
}

/// The script line of `file`, or nothing if it is no script.
std::optional<ScriptLine> read_script_line(int file) {
  char buffer[kScriptLineBytes];
  const ssize_t got = pread(file, buffer, sizeof buffer, 0);
  if (got < 2 || buffer[0] != '#' || buffer[1] != '!') return std::nullopt;
  std::string line(buffer + 2, static_cast<std::size_t>(got - 2));
  if (const std::size_t end = line.find('\n'); end != std::string::npos) line.resize(end);
  if (const std::size_t end = line.find('\0'); end != std::string::npos) line.resize(end);
  line = trim(line);
  ScriptLine result;
  std::size_t split = 0;
  while (split < line.size() && !is_blank(line[split])) ++split;
  result.interpreter = line.substr(0, split);
  result.argument = trim(line.substr(split));
  return result;
}

/// Rewrites the arguments as the kernel does: interpreter, its argument, the script, the script's own.
void apply_script_line(const ScriptLine& line, const std::string& script,
                       std::vector<std::string>& arguments) {
  if (!arguments.empty()) arguments.erase(arguments.begin());
  arguments.insert(arguments.begin(), script);
  if (!line.argument.empty()) arguments.insert(arguments.begin(), line.argument);
  arguments.insert(arguments.begin(), line.interpreter);
}

Fallible<std::vector<ElfImage>> check_interpreter(const ElfImage& image) {
  std::vector<ElfImage> result;
  if (image.interpreter.empty()) return result;
  auto file = open_program(image.interpreter);
  if (!file)
    return Failure{file.failure().error,
                   image.path + ": its dynamic loader cannot be used: " + file.failure().message};
  auto loader = parse_elf(image.interpreter, std::move(file.value()));
  if (!loader)
    return Failure{ELIBBAD, image.path + ": its dynamic loader cannot be used: " + loader.failure().message};
  result.push_back(std::move(loader.value()));
  return result;
}

std::string absolute_path(const ElfImage& image) {
  char target[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(image.file.get());
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  return size > 0 ? std::string(target, static_cast<std::size_t>(size)) : image.path;
}

Fallible<OpenFile> open_request(const ProgramRequest& request) {
  if (request.descriptor < 0) return open_program(request.path);
  return open_program("/proc/self/fd/" + std::to_string(request.descriptor));
}

}  // namespace

Fallible<std::string> find_program(const std::string& name, const std::string& search_path) {
  if (name.empty()) return Failure{ENOENT, "the program's name is empty"};
  if (name.find('/') != std::string::npos) return name;
  int error = ENOENT;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = search_path.find(':', begin);
    std::string folder = search_path.substr(begin, end == std::string::npos ? end : end - begin);
    const std::string candidate = (folder.empty() ? std::string(".") : folder) + "/" + name;
    struct stat status;
    if (stat(candidate.c_str(), &status) == 0) {
      if (S_ISREG(status.st_mode) && access(candidate.c_str(), X_OK) == 0) return candidate;
      error = EACCES;
    }
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return Failure{error, name + (error == EACCES ? ": is not executable" : ": not found in PATH")};
}

Fallible<CheckedProgram> check_program(const ProgramRequest& request) {
  std::vector<std::string> arguments = request.arguments;
  std::string path = request.path;
  auto file = open_request(request);
  for (int level = 0; level <= kMaxScriptLevels; ++level) {
    if (!file) return file.failure();
    const auto line = read_script_line(file->get());
    if (!line) {
      auto image = parse_elf(path, std::move(file.value()));
      if (!image) return image.failure();
      auto interpreter = check_interpreter(image.value());
      if (!interpreter) return interpreter.failure();
      return CheckedProgram{std::move(image.value()), std::move(interpreter.value()), std::move(arguments),
                            request.path};
    }
    if (line->interpreter.empty())
      return Failure{ENOEXEC, path + ": is a script whose first line names no interpreter"};
    apply_script_line(*line, path, arguments);
    file = open_program(line->interpreter);
    if (!file)
      return Failure{file.failure().error,
                     path + ": is a script whose interpreter cannot be used: " + file.failure().message};
    path = line->interpreter;
  }
  return Failure{ELOOP, request.path + ": too many levels of scripts"};
}

Fallible<LoadedProgram> load_program(AddressSpace& memory, EngineServices& services,
                                     const CheckedProgram& program,
                                     const std::vector<std::string>& environment,
                                     const MachineIdentity& identity, const LimitTable& limits) {
  const std::uint64_t page_offset = services.random() % 4096 * kPageBytes;
  const std::uint64_t break_offset = services.random() % 256 * kPageBytes;
  const bool fits = program.image.high - program.image.low < kLowBegin - kProgramBase - (32u << 20);
  auto mapped = map_elf(memory, program.image, fits ? kProgramBase + page_offset : 0);
  if (!mapped) return mapped.failure();

  MappedImage loader{};
  if (!program.interpreter.empty()) {
    auto result = map_elf(memory, program.interpreter.front(), 0);
    if (!result) return result.failure();
    loader = result.value();
  }
  LoadedProgram loaded;
  loaded.break_begin = mapped->end + break_offset;
  memory.start_break(loaded.break_begin);
  loaded.entry = program.interpreter.empty() ? mapped->entry : loader.entry;
  loaded.executable = absolute_path(program.image);
  loaded.arguments = program.arguments;

  StackContents contents{
      program.arguments, environment, program.path, mapped.value(), program.image.headers.size(),
      loader.bias,       limits};
  auto stack = build_initial_stack(memory, services, contents, identity);
  if (!stack) return Failure{stack.failure().error, program.image.path + ": " + stack.failure().message};
  loaded.stack_pointer = stack->stack_pointer;
  loaded.auxiliary_vector = std::move(stack->auxiliary_vector);
  return loaded;
}

}  // namespace elision::vm
