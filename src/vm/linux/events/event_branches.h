// SPDX-License-Identifier: Apache-2.0
// Branch stacks of samples (PERF_SAMPLE_BRANCH_STACK). Pure: calls nothing.
//
// Sources: perf_event_open(2), Linux arch/x86/events/intel/lbr.c, arch/x86/events/utils.c.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <vector>

#include "vm/interface/branch_record.h"
#include "vm/interface/machine_identity.h"

namespace elision::vm {

inline bool has_branch_stack(const perf_event_attr& attr) {
  return (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
}

/// Returns 0, or the error with which Linux refuses the event's choice of branches on these parts.
int refusal_of_branches(const perf_event_attr& attr);

/// Returns a mask of BranchKind: the branches that the event's samples show.
std::uint32_t branch_kinds(const perf_event_attr& attr);

/// Returns how many branches the machine's CPUs keep.
unsigned branch_depth(const MachineIdentity& machine);

/// Returns the words of a sample's branch stack: their number first. `records`: newest first.
std::vector<std::uint64_t> branch_stack(const perf_event_attr& attr, const std::vector<BranchRecord>& records,
                                        unsigned depth);

}  // namespace elision::vm
