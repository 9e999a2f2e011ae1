// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/trial.h"

#include <csetjmp>
#include <csignal>

namespace elision::cli::doctor {
namespace {

sigjmp_buf before_work;

void go_back(int) { siglongjmp(before_work, 1); }

}  // namespace

bool runs_legally(const std::function<void()>& work) {
  struct sigaction ours {
  }, theirs{};
  ours.sa_handler = go_back;
  sigaction(SIGILL, &ours, &theirs);
  const bool legal = sigsetjmp(before_work, 1) == 0;
  if (legal) work();
  sigaction(SIGILL, &theirs, nullptr);
  return legal;
}

TrialFacts try_transactions(const CpuFacts& cpu, unsigned attempts) {
  TrialFacts facts;
  if (!cpu.rtm) return facts;
  facts.illegal_instruction = !runs_legally([&] {
    facts.counts = htm::try_transactions(attempts);
    if (facts.counts.commits > 0) facts.nesting_depth = htm::measure_nesting_depth();
  });
  return facts;
}

}  // namespace elision::cli::doctor
