// SPDX-License-Identifier: Apache-2.0
// The program's environment and name, even before the C library knows them: the first lock operation may come
// while the program is being linked, or before any constructor.
#pragma once

namespace elision::runtime {

/// The value of an environment variable; null if it is not set.
const char* environment_variable(const char* name);

/// The last component of the program's name; "" if it cannot be known.
const char* program_name();

}  // namespace elision::runtime
