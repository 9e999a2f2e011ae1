// SPDX-License-Identifier: Apache-2.0
// Prints stub_offsets.h: what stubs.S needs to know of C++ structures, as macros.
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "vm/cpu/core.h"
#include "vm/cpu/stubs.h"

using namespace elision::vm;
using elision::machine::BranchPredictor;
using elision::machine::Filter;
using elision::machine::FilterEntry;

// How stubs.S computes with them.
static_assert(sizeof(FilterEntry) == 16 && offsetof(FilterEntry, tag) == 0);
static_assert(BranchPredictor::kWrong == 1u << 6);

static void define(const char* name, std::uint64_t value) {
  std::printf("#define %s %llu\n", name, static_cast<unsigned long long>(value));
}

int main() {
  std::puts("// Written by stub_offsets.cc.");
  define("SELF", offsetof(Core, self));
  define("DIRECTION", offsetof(Core, direction_flag));
  define("X87_USED", offsetof(Core, x87_used));
  define("PROGRESS", offsetof(Core, progress));
  define("FLAGS", offsetof(Core, flags_slot));
  define("HOOK_ADDRESS", offsetof(Core, hook_address));
  define("RESUME", offsetof(Core, resume));
  define("BRANCH", offsetof(Core, branch));
  define("MISPREDICTION", offsetof(Core, misprediction_cost));
  define("GPR", offsetof(Core, state.gpr));
  define("FS_BASE", offsetof(Core, state.fs_base));
  define("MXCSR", offsetof(Core, state.mxcsr));
  define("YMM", offsetof(Core, state.ymm));
  define("FX", offsetof(Core, state.fx));
  define("EPOCH", offsetof(Core, filter.epoch));
  define("FILTER", offsetof(Core, filter.entry));
  define("INDEX_BITS", Filter::kIndexMask * sizeof(FilterEntry));
  define("NO_STORE", FilterEntry::kNoStore);
  define("IN_FLIGHT", FilterEntry::kInFlight);
  define("HISTORY", offsetof(Core, branches.history));
  define("MISPREDICTIONS", offsetof(Core, branches.mispredictions));
  define("BIAS", offsetof(Core, branches.bias));
  define("PATTERN", offsetof(Core, branches.pattern));
  define("NEXT_BIAS", offsetof(Core, branches.next_bias));
  define("NEXT_COUNTER", offsetof(Core, branches.next_counter));
  define("WRONG", BranchPredictor::kWrong);
  define("WRONG_BIT", 6);
  define("HISTORY_MASK", (1u << BranchPredictor::kHistoryBits) - 1);
  define("HOST_RSP", kHostStack);
  define("HOST_FS", kHostStack + 8);
  define("HOST_MXCSR", kHostStack + 16);
}
