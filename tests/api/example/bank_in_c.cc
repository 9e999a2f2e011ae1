// SPDX-License-Identifier: Apache-2.0
// The C functions in a C++17 program.
#include "bank.c"
