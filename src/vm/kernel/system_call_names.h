// SPDX-License-Identifier: Apache-2.0
// Names of system calls, for messages and statistics. The table is made at build time from the C library's
// headers (system_call_names.cmake). Allocates nothing.
#pragma once

#include <cstdint>

namespace elision::vm {

/// As in <sys/syscall.h> without SYS_; null if the headers know no such number.
const char* system_call_name(std::uint64_t number);

}  // namespace elision::vm
