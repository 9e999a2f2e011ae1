// SPDX-License-Identifier: Apache-2.0
// Descriptors of the engine. They have high numbers, are closed on exec, and the guest can neither see nor
// close them.
#pragma once

#include <set>
#include <vector>

namespace elision::vm {

/// First number of the engine's descriptors, so that the guest's have the numbers of a native run.
inline constexpr int kFirstEngineDescriptor = 900;

/// Moves `descriptor` to a high number and reserves it. Keeps its number if there is no room. Does nothing to
/// a negative one.
int reserve_descriptor(int descriptor);
void close_reserved_descriptor(int descriptor);
bool is_reserved_descriptor(int descriptor);
const std::set<int>& reserved_descriptors();
/// Restores the set after a vfork child, which shares memory but not descriptors, has changed it.
void set_reserved_descriptors(const std::set<int>& descriptors);
/// All open descriptors of this process, reserved ones included.
std::vector<int> open_descriptors();

}  // namespace elision::vm
