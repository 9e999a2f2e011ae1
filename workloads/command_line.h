// SPDX-License-Identifier: Apache-2.0
// The command line of a benchmark program. Bad input gets one line and exit code 2.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace workloads {

/// An option that was added, to say more about it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// Only numbers from `low` to `high` are taken.
  Option within(std::int64_t low, std::int64_t high) const;
  Option within_real(double low, double high) const;
  /// Only these words are taken.
  Option one_of(const std::vector<std::string>& words) const;
  /// Not together with `other`.
  Option excludes(Option other) const;

 private:
  CLI::Option* option_;
};

/// What a program takes. Values stay as they are unless an option gives another.
class CommandLine {
 public:
  /// `program`: its name in messages. `description`: the first line of --help. From now on the program also
  /// ends with one line and exit code 2 where `new` finds no memory.
  CommandLine(std::string program, const std::string& description);
  ~CommandLine();

  /// `name`: with its dashes; without them it stands for the words that are no options.
  Option add(const std::string& name, int& value, const std::string& help = "");
  Option add(const std::string& name, unsigned& value, const std::string& help = "");
  Option add(const std::string& name, std::uint64_t& value, const std::string& help = "");
  Option add(const std::string& name, double& value, const std::string& help = "");
  Option add(const std::string& name, std::string& value, const std::string& help = "");
  Option add(const std::string& name, std::vector<std::string>& words, const std::string& help = "");
  /// Without a value: true if it is given.
  Option add_flag(const std::string& name, bool& given, const std::string& help = "");

  /// An exit code if the program must end now: after --help, or bad input, of which one line tells.
  std::optional<int> parse(int argc, char** argv);
  /// Prints one line about options that do not fit together. Returns the exit code, 2.
  int refuse(const std::string& complaint) const;

 private:
  std::string program_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace workloads
