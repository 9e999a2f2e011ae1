// SPDX-License-Identifier: Apache-2.0
// Numbers and names of Linux's system calls, for messages and for the test that none is forgotten.
#pragma once

#include <cstdint>
#include <span>

namespace elision::vm {

struct NamedSystemCall {
  std::uint64_t number;
  const char* name;
};

/// All up to Linux 6.10.
std::span<const NamedSystemCall> named_system_calls();
/// Null for a number without a name.
const char* system_call_name(std::uint64_t number);

}  // namespace elision::vm
