// SPDX-License-Identifier: Apache-2.0
// A value, or why the guest's execve fails: the errno value for a guest that asked, the line for a user who
// did.
#pragma once

#include <string>

#include "base/result.h"

namespace elision::vm {

struct Failure {
  int error = 0;        // an errno value, as execve would report it
  std::string message;  // one line that names the file
};

template <class T>
using Fallible = Result<T, Failure>;

}  // namespace elision::vm
