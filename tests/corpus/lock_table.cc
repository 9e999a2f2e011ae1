// SPDX-License-Identifier: Apache-2.0
// Tells designs_test.py about the lock library, from the library's headers.
//
//   lock_table designs          every lock design by a valid name, one per line
//   lock_table counters DIR     the counts of each process with a file in DIR, one JSON object per line
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "abi/lock_designs.h"
#include "cli/experiment/lock_counters.h"

namespace abi = elision::abi;

namespace {

std::string with_number(const char* form, const char* number) {
  std::string name = form;
  if (const std::size_t at = name.find('N'); at != std::string::npos) name.replace(at, 1, number);
  return name;
}

/// A number in a name becomes 10; plain retries also come with 1, where the only transaction's abort ends
/// elision.
void print_designs() {
  for (const abi::LockDesignRow& row : abi::kLockDesigns) {
    if (row.design.elision == abi::LockElision::kRetries && !row.design.speculates()) {
      fmt::print("{}\n", with_number(row.name, "1"));
    }
    fmt::print("{}\n", with_number(row.name, "10"));
  }
}

/// `counts`: whether the library counts the design's sections (it does not count those of glibc's own locks).
nlohmann::json as_json(const abi::CounterTotals& totals) {
  abi::LockDesign design;
  abi::find_lock_design(totals.design.c_str(), design);
  const bool counts = design.base != abi::LockBase::kPthread || design.speculates();
  return {{"program", totals.program},
          {"asked", totals.asked_design},
          {"design", totals.design},
          {"seen", totals.interposed_locks_seen},
          {"counts", counts},
          {"elides", counts && design.elides() && totals.has_rtm},
          {"speculates", design.speculates() && totals.always_abort != abi::AlwaysAbortKind::kNone},
          {"sections", totals.sections()},
          {"commits", totals.commits},
          {"fallbacks", totals.fallbacks},
          {"speculations", totals.speculations},
          {"busy", totals.busy},
          {"bad_unlocks", totals.bad_unlocks},
          {"bad_destroys", totals.bad_destroys}};
}

}  // namespace

int main(int count, char** words) {
  const std::span arguments(words, static_cast<std::size_t>(count));
  if (count == 2 && std::string_view(arguments[1]) == "designs") {
    print_designs();
    return 0;
  }
  if (count == 3 && std::string_view(arguments[1]) == "counters") {
    for (const auto& totals : elision::cli::experiment::read_counters(arguments[2])) {
      fmt::print("{}\n", as_json(totals).dump());
    }
    return 0;
  }
  fmt::print(stderr, "lock_table: what to print: designs, or counters DIR\n");
  return 2;
}
