// SPDX-License-Identifier: Apache-2.0
// Call paths inside of transactions, from the branches that the CPU records. An abort takes the stack back to
// the transaction's begin, so no stack shows the calls that the transaction had made. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profile/perf_records.h"

namespace elision::profile {

/// Calls that an aborted transaction had made and not yet returned from.
struct TransactionPath {
  std::vector<std::uint64_t> calls{};  // the call instructions, innermost first
  bool is_whole = false;  // the records reach back to the transaction's begin: no call is missing
};

/// Returns the path of an abort. `branches`: those of its sample, newest first; they must have types
/// (PERF_SAMPLE_BRANCH_TYPE_SAVE) and all calls and returns. `place`: the instruction that aborted: its
/// record is the newest abort there or, on CPUs that record another address, the newest branch. Returns
/// nothing if there is no such record, or if branches have no types.
///
/// A return that matches no call in the records leaves a function that was entered before: outside of the
/// transaction, or by a call that the records no longer have.
std::optional<TransactionPath> path_in_transaction(const std::vector<PerfBranch>& branches,
                                                   std::uint64_t place);

}  // namespace elision::profile
