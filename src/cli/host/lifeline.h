// SPDX-License-Identifier: Apache-2.0
// Tells helper processes that this process has ended in any way, SIGKILL included: a pipe whose write end
// only this process holds. Nothing is ever written; at the end of the process the pipe hangs up.
#pragma once

namespace elision::cli {

/// The descriptor that helpers poll for POLLHUP. The first call makes the pipe, or throws UsageError.
int lifeline();

/// Closes both ends, in a forked process that becomes another program.
void close_lifeline();

/// For a forked helper. Gives it a process group of its own, so that signals to our group do not reach it,
/// and a name of its own (up to 15 bytes), so that killing commands by name does not reach it. Blocks all
/// signals, and closes all descriptors but the lifeline and `kept`.
void become_helper(const char* name, int kept = -1);

}  // namespace elision::cli
