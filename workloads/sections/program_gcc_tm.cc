// SPDX-License-Identifier: Apache-2.0
// A program over sections once more, for GCC's transactions: compiled with -fgnu-tm.
#include PROGRAM_HEADER

#include "sections/gcc_tm.h"

namespace workloads::PROGRAM {

int run_gcc_tm(const Options& options);
int run_gcc_tm(const Options& options) { return run<sections::GccTm>(options); }

}  // namespace workloads::PROGRAM
