// SPDX-License-Identifier: Apache-2.0
// Checks, for tests, that the tables of the model agree with each other.
#pragma once

#include "machine/state.h"

namespace elision::machine {

/// The invariant that does not hold, in words, or null. Slow.
const char* broken_invariant(const State& state);

}  // namespace elision::machine
