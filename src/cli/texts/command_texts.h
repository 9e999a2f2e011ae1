// SPDX-License-Identifier: Apache-2.0
// What manual pages and completions say of the command line, as plain data: walk.cc fills it, one file a
// format renders it.
#pragma once

#include <string>
#include <vector>

namespace elision::cli {

/// The value of an option, by its name (options/arguments.h).
struct ValueText {
  std::string name;                // "MACHINE|FILE"; empty: a flag
  std::vector<std::string> words;  // what the value can be, as far as that can be listed
  bool is_list = false;            // several of the words, with commas between them
  bool is_file = false;            // or a file
  bool is_folder = false;          // or a folder
};

struct OptionText {
  std::string name;        // "--lock"; of a positional argument its name
  std::string short_name;  // "-h", or empty
  ValueText value;
  std::string help;
  std::string condition;  // which other options it needs and excludes, in words, or empty
  bool is_positional = false;
};

struct ExitCodeText {
  std::string code;
  std::string meaning;
};

struct ExampleText {
  std::string purpose;
  std::string command;
};

struct VariableText {
  std::string name;
  std::string meaning;
};

/// What only a manual page says.
struct ManualWords {
  std::vector<std::string> paragraphs;
  std::vector<ExitCodeText> exit_codes;
  std::vector<ExampleText> examples;
  std::vector<VariableText> variables = {};
};

struct VerbText {
  std::string name;
  std::string summary;
  std::string usage;  // "elision run --lock DESIGN [OPTION...] -- PROGRAM ARG..."
  std::string description;
  std::vector<OptionText> options;
  bool takes_program = false;  // behind "--"
  ManualWords manual;
};

struct CommandTexts {
  std::string version;
  std::string date;             // of the manual pages, as 2026-01-31
  std::vector<VerbText> verbs;  // without `help`
  ManualWords manual;           // of the command as a whole
};

}  // namespace elision::cli
