// SPDX-License-Identifier: Apache-2.0
// How what Linux does for the guest says that it failed:
//   long          a system call's result, or 0: a negative errno is the failure
//   OrErrno<T>    a value, or the negative errno that the call returns
//   Fallible<T>   for loaders: a value, or an errno for a guest and a line for a user who started the program
// Access to guest memory can fail in one way only: load_guest() and its like then give nothing or false
// (guest_memory.h), and the caller says -EFAULT.
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

/// A negative errno, as system calls return it.
struct Errno {
  long value;
};

template <class T>
using OrErrno = Result<T, Errno>;

}  // namespace elision::vm
