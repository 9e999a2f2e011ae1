// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/gather.h"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include <cstdlib>
#include <sstream>

#include "abi/lock_variables.h"
#include "cli/doctor/cpu_facts.h"
#include "cli/doctor/kernel_facts.h"
#include "cli/doctor/perf_facts.h"
#include "cli/doctor/predicates.h"
#include "cli/doctor/trial.h"

namespace elision::cli::doctor {
namespace {

constexpr unsigned kAttempts = 10000;

GlibcFacts read_glibc() {
  GlibcFacts facts;
#ifdef __GLIBC__
  facts.version = gnu_get_libc_version();
#endif
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  if (tunables != nullptr) facts.elision_tunables = elision_tunables(tunables);
  return facts;
}

SettingsFacts read_settings() {
  const char* given = std::getenv(abi::row_of(abi::LockVariable::kHideRtm).name);
  SettingsFacts facts;
  if (given != nullptr && *given != '\0') facts.hide_rtm = given;
  return facts;
}

}  // namespace

std::string elision_tunables(const std::string& tunables) {
  std::istringstream entries(tunables);
  std::string found;
  for (std::string entry; std::getline(entries, entry, ':');) {
    if (entry.starts_with("glibc.elision.")) found += (found.empty() ? "" : ":") + entry;
  }
  return found;
}

Facts gather() {
  Facts facts;
  facts.cpu = read_cpu(native_cpuid);
  facts.kernel = read_kernel();
  facts.settings = read_settings();
  if (!is_hidden(facts)) facts.trial = try_transactions(facts.cpu, kAttempts);
  facts.perf = read_perf(native_perf_open);
  facts.glibc = read_glibc();
  return facts;
}

}  // namespace elision::cli::doctor
