// SPDX-License-Identifier: Apache-2.0
// Words separated by NUL as the arguments of `elision`. Every verb parses them and stops before it acts. Bad
// input must end with exit code 2 and one line on standard error. A program that would start must be the
// first word after "--". Help and lists go to standard output.
//
// This file replaces the functions that a verb calls after parsing: they end the input. Nothing is started,
// opened for writing or looked up in PATH. "/" is replaced by "_", so that words name only files in the
// current folder, which is that of the machine files (MACHINE_FILES in the environment).
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#define main elision_main
#include "cli/main.cc"  // NOLINT(bugprone-suspicious-include): the fuzzer calls main()
#undef main
#include "cli/doctor/gather.h"
#include "cli/host/gnuplot.h"
#include "cli/host/output_file.h"
#include "cli/host/program_file.h"
#include "cli/options/arguments.h"
#include "cli/options/designs.h"
#include "fuzz.h"
#include "machine/description_toml.h"
#include "text_mutation.h"
#include "vm/engine/engine_layout.h"
#include "vm/engine/run.h"

namespace {

/// Thrown when a verb has parsed its arguments.
struct Understood {
  std::string program;  // that would run
};

[[noreturn]] void must_not_come_here(const char* where) {
  throw std::logic_error(std::string(where) + " was called");
}

}  // namespace

namespace elision::cli {

Program program_of(const std::vector<std::string>& words) { throw Understood{words.front()}; }
std::string interpreter_of_script(const std::string&) { must_not_come_here("interpreter_of_script"); }
std::string address_sanitizer_of(const std::string&) { must_not_come_here("address_sanitizer_of"); }

void require_writable(const std::string&) {}
void require_regular(const std::string&) {}
bool is_standard_output(const std::string& path) { return path == kStandardOutput; }
bool is_terminal(const std::string&) { return false; }
bool is_replaced_whole(const std::string&) { must_not_come_here("is_replaced_whole"); }
void require_directory(const std::string&) {}
void require_gnuplot() {}
std::string drawn_by_gnuplot(const std::string&) { must_not_come_here("drawn_by_gnuplot"); }
void discard_output(const std::string&) {}
void write_output(const std::string&, std::string_view) { must_not_come_here("write_output"); }

namespace doctor {
Facts gather() { throw Understood{}; }
}  // namespace doctor

}  // namespace elision::cli

namespace elision::vm {

void leave_the_way() {}
int run_virtual_machine(const Options&, const std::string&, const std::vector<std::string>&, char**) {
  must_not_come_here("run_virtual_machine");
}
std::optional<int> run_from_snapshot(const std::string&, const Options&, const std::string&,
                                     const std::vector<std::string>&, char**, std::string&) {
  must_not_come_here("run_from_snapshot");
}
int resume_virtual_machine(int) { throw Understood{}; }
void leave_note(const Options&, const char*, const std::string&) {}

}  // namespace elision::vm

namespace {

namespace cli = elision::cli;

/// Captures output to a descriptor. Sanitizers still report to the old one.
class Caught {
 public:
  explicit Caught(int descriptor)
      : descriptor_(descriptor), old_(dup(descriptor)), file_(memfd_create("caught", 0)) {
    if (old_ < 0 || file_ < 0 || dup2(file_, descriptor) < 0) std::abort();
    if (descriptor == STDERR_FILENO)
      __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<long>(old_)));
  }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  ~Caught() { close(file_); }

  std::string take() {
    dup2(old_, descriptor_);
    if (descriptor_ == STDERR_FILENO) __sanitizer_set_report_fd(reinterpret_cast<void*>(long{STDERR_FILENO}));
    close(old_);
    std::string text(static_cast<std::size_t>(lseek(file_, 0, SEEK_END)), '\0');
    if (pread(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      fuzz::fail("lost output");
    return text;
  }

 private:
  int descriptor_, old_, file_;
};

/// While this lives, the current folder is that of the machine files.
class InMachineFiles {
 public:
  InMachineFiles() : old_(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    static const std::string folder = fuzz::path_from("MACHINE_FILES");
    if (old_ < 0 || chdir(folder.c_str()) != 0) fuzz::fail("no folder");
  }
  InMachineFiles(const InMachineFiles&) = delete;
  InMachineFiles& operator=(const InMachineFiles&) = delete;
  ~InMachineFiles() {
    if (fchdir(old_) != 0) std::abort();
    close(old_);
  }

 private:
  int old_;
};

struct Outcome {
  enum class Kind { kUnderstood, kRefused, kDone, kOtherException } kind = Kind::kDone;
  int code = 0;
  std::string program, output, errors;
};

Outcome outcome_of(const cli::Words& words) {
  Outcome outcome;
  const InMachineFiles folder;
  Caught output(STDOUT_FILENO), errors(STDERR_FILENO);
  try {
    outcome.code = dispatch(words);
  } catch (const Understood& understood) {
    outcome.kind = Outcome::Kind::kUnderstood;
    outcome.program = understood.program;
  } catch (const cli::UsageError& error) {
    outcome.kind = Outcome::Kind::kRefused;
    outcome.code = report(words, error.what());
  } catch (const std::exception& error) {
    outcome.kind = Outcome::Kind::kOtherException;
    cli::print_error(error.what());
  }
  outcome.errors = errors.take();
  outcome.output = output.take();
  return outcome;
}

std::string shown(const cli::Words& words) {
  std::string text = "elision";
  for (const std::string& word : words) text += " '" + word + "'";
  return text;
}

/// The number of lines, each of which must be of the form "elision VERB: MESSAGE".
std::size_t lines_of(std::string text) {
  static const std::string kFront = "elision";
  std::size_t lines = 0;
  for (; !text.empty(); ++lines) {
    const std::size_t end = text.find('\n');
    const std::string line = text.substr(0, end);
    const std::size_t colon = line.find(": ");
    if (end == text.npos || line.rfind(kFront, 0) != 0 || colon == line.npos || colon + 2 == line.size())
      fuzz::fail("not a line of ours: " + line);
    if (std::any_of(line.begin(), line.end(),
                    [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
      fuzz::fail("control characters: " + line);
    text.erase(0, end + 1);
  }
  return lines;
}

void check(const cli::Words& words, const Outcome& outcome) {
  const std::size_t lines = outcome.kind == Outcome::Kind::kOtherException ? 0 : lines_of(outcome.errors);
  switch (outcome.kind) {
    case Outcome::Kind::kOtherException:
      return fuzz::fail(shown(words) + ": " + outcome.errors);
    case Outcome::Kind::kRefused:
      if (outcome.code != 2 || lines != 1 || !outcome.output.empty())
        fuzz::fail(shown(words) + ": not refused in one line: " + outcome.output + outcome.errors);
      return;
    case Outcome::Kind::kUnderstood:
      if (const auto program = cli::split_arguments(words).program;
          !outcome.output.empty() || outcome.program != (program.empty() ? "" : program.front()))
        fuzz::fail(shown(words) + ": another program: " + outcome.program + outcome.output);
      return;
    case Outcome::Kind::kDone:
      if (outcome.code != (words.empty() ? 2 : 0) || lines != 0 || outcome.output.empty())
        fuzz::fail(shown(words) + ": " + outcome.output + outcome.errors);
  }
}

cli::Words words_of(const std::uint8_t* data, std::size_t size) {
  cli::Words words;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    std::replace(words.back().begin(), words.back().end(), '/', '_');
    at = end + 1;
  }
  return words;
}

/// Every verb, and every option in a verb's help.
std::vector<std::string> names() {
  std::vector<std::string> names = {"--version"};
  for (const cli::Verb& verb : cli::verbs()) {
    names.emplace_back(verb.name);
    const std::string help = outcome_of({"help", verb.name}).output;
    for (std::size_t at = help.find("--"); at != help.npos; at = help.find("--", at + 2)) {
      const std::size_t end = help.find_first_not_of("-abcdefghijklmnopqrstuvwxyz", at);
      names.push_back(help.substr(at, end - at));
    }
  }
  return names;
}

}  // namespace

const fuzz::TextKind& fuzz::text_kind() {
  static const fuzz::TextKind kKind = [] {
    fuzz::TextKind kind{'\0', "=,", names()};
    for (const auto& more : {cli::default_designs(), elision::machine::built_in_machines()})
      kind.words.insert(kind.words.end(), more.begin(), more.end());
    for (const char* word : {"native",
                             "core-i7-4770.toml",
                             "README.toml",
                             "--",
                             "-",
                             "--=",
                             "-h",
                             "",
                             "[",
                             "]",
                             "{",
                             "}",
                             "{threads}",
                             "\"",
                             "'",
                             "\\",
                             "%%",
                             "@core-i7-4770.toml",
                             "now",
                             "true",
                             "false",
                             "none",
                             "stderr",
                             "1e3",
                             "0.5",
                             "nan",
                             "inf",
                             "0x10",
                             "(.*)",
                             "(a",
                             "\n",
                             "\x1b[31m",
                             "\xff",
                             "park",
                             "spin",
                             "inside",
                             "exclusive",
                             "aware",
                             "glibc",
                             "htm-",
                             "pthread-aahtm"})
      kind.words.emplace_back(word);
    return kind;
  }();
  return kKind;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cli::Words words = words_of(data, size);
  check(words, outcome_of(words));
  return 0;
}
