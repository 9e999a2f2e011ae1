// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.h"

#include <CLI/CLI.hpp>

#include "cli/options/suggest.h"

namespace elision::cli {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs = {
      {"compare", "run a program under each lock design and say which is best for it", compare_verb,
       compare_app},
      {"record", "run a program once and write where its threads spend their time at locks", record_verb,
       record_app},
      {"report", "show what a recorded profile means", report_verb, report_app},
      {"annotate", "show lines of source with their time and conflicts in a profile", annotate_verb,
       annotate_app},
      {"export", "write the call paths of a recorded profile for other tools", export_verb, export_app},
      {"diff", "show what differs between two profiles", diff_verb, diff_app},
      {"merge", "make one profile of those of several processes", merge_verb, merge_app},
      {"import", "make a profile of a file of Linux's perf record", import_verb, import_app},
      {"run", "run a program natively under one lock design", run_verb, run_app},
      {"vm", "run a program on a described multicore with hardware transactions, in virtual time", vm_verb,
       vm_app},
      {"doctor", "say whether hardware transactions commit here, and if not, why", doctor_verb, doctor_app},
      {"machines", "list the built-in machine descriptions, or show one", machines_verb, machines_app},
      {"help", "explain a verb", help_verb, nullptr},
      {"vm-exec", "", vm_exec_verb, nullptr},
  };
  return kVerbs;
}

const Verb& find_verb(const std::string& name) {
  std::vector<std::string> shown;
  for (const Verb& verb : verbs()) {
    if (name == verb.name) return verb;
    if (*verb.summary != '\0') shown.emplace_back(verb.name);
  }
  throw unknown_name("verb", name, shown);
}

}  // namespace elision::cli
