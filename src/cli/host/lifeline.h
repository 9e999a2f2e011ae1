// SPDX-License-Identifier: Apache-2.0
// How helper processes learn that this process has ended, in whatever way: a pipe that only this process
// holds open for writing. It stays readable for nothing until then, and reads as ended from then on, also
// after SIGKILL.
#pragma once

namespace elision::cli {

/// Makes the pipe with the first call; throws UsageError if it cannot. What the helpers poll for POLLHUP.
int lifeline();

/// For a forked process that goes on as somebody else's program: closes both ends.
void close_lifeline();

/// For a forked helper: leads a process group of its own, so that signals to ours do not reach it, has a name
/// of its own (up to 15 bytes), so that killing commands by their name does not reach it either, blocks every
/// signal, and closes every descriptor but the lifeline and `kept`.
void become_helper(const char* name, int kept = -1);

}  // namespace elision::cli
