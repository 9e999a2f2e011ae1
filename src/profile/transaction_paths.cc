// SPDX-License-Identifier: Apache-2.0
#include "profile/transaction_paths.h"

#include <algorithm>

namespace elision::profile {

namespace {

using Records = std::vector<PerfBranch>;

/// The record of the sampled abort. The sample's interrupt may have ended the thread's next transaction, too.
Records::const_iterator record_of_abort(const Records& branches, std::uint64_t place) {
  const auto found = std::find_if(branches.begin(), branches.end(), [place](const PerfBranch& branch) {
    return branch.is_abort && branch.from == place;
  });
  if (found != branches.end() || branches.empty()) return found;
  return branches.front().is_abort ? branches.begin() : branches.end();
}

}  // namespace

std::optional<TransactionPath> path_in_transaction(const Records& branches, std::uint64_t place) {
  const auto abort = record_of_abort(branches, place);
  if (abort == branches.end()) return std::nullopt;
  const auto first = std::next(abort);
  const auto behind = std::find_if(first, branches.end(), [](const PerfBranch& branch) {
    return !branch.in_transaction || branch.is_abort;
  });
  TransactionPath path;
  path.is_whole = behind != branches.end();
  for (auto branch = behind; branch != first;) {
    --branch;
    if (branch->type == PERF_BR_UNKNOWN) return std::nullopt;
    if (branch->type == PERF_BR_CALL || branch->type == PERF_BR_IND_CALL)
      path.calls.push_back(branch->from);
    else if (branch->type == PERF_BR_RET && !path.calls.empty())
      path.calls.pop_back();
  }
  std::reverse(path.calls.begin(), path.calls.end());
  return path;
}

}  // namespace elision::profile
