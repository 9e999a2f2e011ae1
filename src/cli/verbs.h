// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line, one source file each. A verb gets the words after its name and returns the
// exit code. On bad input it throws UsageError.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace elision::cli {

using Words = std::vector<std::string>;

int vm_verb(const Words& words);
int vm_exec_verb(const Words& words);
int run_verb(const Words& words);
int compare_verb(const Words& words);
int record_verb(const Words& words);
int report_verb(const Words& words);
int annotate_verb(const Words& words);
int export_verb(const Words& words);
int diff_verb(const Words& words);
int merge_verb(const Words& words);
int import_verb(const Words& words);
int doctor_verb(const Words& words);
int machines_verb(const Words& words);
int help_verb(const Words& words);

/// The options of a verb, to be described (texts/), not parsed.
std::unique_ptr<CLI::App> vm_app();
std::unique_ptr<CLI::App> run_app();
std::unique_ptr<CLI::App> compare_app();
std::unique_ptr<CLI::App> record_app();
std::unique_ptr<CLI::App> report_app();
std::unique_ptr<CLI::App> annotate_app();
std::unique_ptr<CLI::App> export_app();
std::unique_ptr<CLI::App> diff_app();
std::unique_ptr<CLI::App> merge_app();
std::unique_ptr<CLI::App> import_app();
std::unique_ptr<CLI::App> doctor_app();
std::unique_ptr<CLI::App> machines_app();

struct Verb {
  const char* name;
  const char* summary;  // empty: not shown by help
  int (*function)(const Words& words);
  std::unique_ptr<CLI::App> (*app)();  // null: it has no options
};

/// Every verb, in the order in which help shows them.
const std::vector<Verb>& verbs();

/// The verb of that name; throws UsageError with the nearest one.
const Verb& find_verb(const std::string& name);

}  // namespace elision::cli
