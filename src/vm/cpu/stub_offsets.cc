// SPDX-License-Identifier: Apache-2.0
// Prints stub_offsets.h: offsets and constants of C++ structures, as macros for stubs.S.
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "vm/cpu/cpu.h"
#include "vm/cpu/stubs.h"

using namespace elision::vm;
using elision::machine::BranchPredictor;
using elision::machine::Filter;
using elision::machine::FilterEntry;

// stubs.S relies on these.
static_assert(sizeof(FilterEntry) == 16 && offsetof(FilterEntry, tag) == 0);
static_assert(BranchPredictor::kWrong == 1u << 6);

constexpr unsigned kRecordShift = 5;
static_assert(sizeof(BranchRecord) == 1u << kRecordShift);

static void define(const char* name, std::uint64_t value) {
  std::printf("#define %s %llu\n", name, static_cast<unsigned long long>(value));
}

int main() {
  std::puts("// Written by stub_offsets.cc.");
  define("SELF", offsetof(Cpu, self));
  define("DIRECTION", offsetof(Cpu, direction_flag));
  define("X87_USED", offsetof(Cpu, x87_used));
  define("PROGRESS", offsetof(Cpu, progress));
  define("FLAGS", offsetof(Cpu, flags_slot));
  define("CHECK_ADDRESS", offsetof(Cpu, check_address));
  define("RESUME", offsetof(Cpu, resume));
  define("BRANCH", offsetof(Cpu, branch));
  define("IN_TRANSACTION", offsetof(Cpu, in_transaction));
  define("SCRATCH", offsetof(Cpu, scratch));
  define("EXIT_VALUE", offsetof(Cpu, exit_value));
  define("BRANCH_SITE", offsetof(Cpu, branch_site));
  define("BRANCH_COUNT", offsetof(Cpu, branch_ring.count));
  define("BRANCH_MASK", BranchRing::kEntries - 1);
  define("BRANCH_SHIFT", kRecordShift);
  define("BRANCH_FROM", offsetof(Cpu, branch_ring.entry) + offsetof(BranchRecord, from));
  define("BRANCH_TO", offsetof(Cpu, branch_ring.entry) + offsetof(BranchRecord, to));
  define("BRANCH_KIND", offsetof(Cpu, branch_ring.entry) + offsetof(BranchRecord, kind));
  define("BRANCH_IN_TRANSACTION", offsetof(Cpu, branch_ring.entry) + offsetof(BranchRecord, in_transaction));
  define("SITE_FROM", offsetof(BranchSite, from));
  define("SITE_TO", offsetof(BranchSite, to));
  define("SITE_KIND", offsetof(BranchSite, kind));
  define("SITE_DONE", offsetof(BranchSite, done));
  define("MISPREDICTION", offsetof(Cpu, misprediction_cost));
  define("GPR", offsetof(Cpu, state.gpr));
  define("FS_BASE", offsetof(Cpu, state.fs_base));
  define("MXCSR", offsetof(Cpu, state.mxcsr));
  define("YMM", offsetof(Cpu, state.ymm));
  define("FX", offsetof(Cpu, state.fx));
  define("EPOCH", offsetof(Cpu, filter.epoch));
  define("FILTER", offsetof(Cpu, filter.entry));
  define("INDEX_BITS", Filter::kIndexMask * sizeof(FilterEntry));
  define("NO_STORE", FilterEntry::kNoStore);
  define("IN_FLIGHT", FilterEntry::kInFlight);
  define("HISTORY", offsetof(Cpu, branches.history));
  define("MISPREDICTIONS", offsetof(Cpu, branches.mispredictions));
  define("BIAS", offsetof(Cpu, branches.bias));
  define("PATTERN", offsetof(Cpu, branches.pattern));
  define("NEXT_BIAS", offsetof(Cpu, branches.next_bias));
  define("NEXT_COUNTER", offsetof(Cpu, branches.next_counter));
  define("WRONG", BranchPredictor::kWrong);
  define("WRONG_BIT", 6);
  define("HISTORY_MASK", (1u << BranchPredictor::kHistoryBits) - 1);
  define("HOST_RSP", kHostStack);
  define("HOST_FS", kHostStack + 8);
  define("HOST_MXCSR", kHostStack + 16);
}
