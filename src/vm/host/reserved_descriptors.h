// SPDX-License-Identifier: Apache-2.0
// Descriptors that the kernel keeps for itself: out of the way of the guest's numbers, close-on-exec, and
// none that the guest can close.
#pragma once

#include <set>
#include <vector>

namespace elision::vm {

/// Descriptors of the engine start here, so that the guest's have the numbers of a native run.
inline constexpr int kFirstEngineDescriptor = 900;

/// Moves `descriptor` out of the guest's way and makes it ours; as it is if there is no room. Negative: does
/// nothing.
int reserve_descriptor(int descriptor);
void close_reserved_descriptor(int descriptor);
bool is_reserved_descriptor(int descriptor);
const std::set<int>& reserved_descriptors();
/// Takes back what a child that shares our memory, but not our descriptors, has changed.
void set_reserved_descriptors(const std::set<int>& descriptors);
/// All that this process has open, ours too.
std::vector<int> open_descriptors();

}  // namespace elision::vm
