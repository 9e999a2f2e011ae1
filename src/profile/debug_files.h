// SPDX-License-Identifier: Apache-2.0
// Where libdwfl finds the debug files of stripped programs: on this machine, and on the debuginfod servers
// that the user names by DEBUGINFOD_URLS, if elfutils' libdebuginfod is installed. Without that variable the
// network is never used.
//
// Where a search must leave servers out though the variable is set, files on this machine are found by build
// id alone: libdw's whole search would ask the servers.
//
// A server that sends nothing for DEBUGINFOD_TIMEOUT seconds, or 10 if that is not set, is given up, and no
// server is asked again by this process.
#pragma once

#include <elfutils/libdwfl.h>

namespace elision::profile {

enum class DebugFiles {
  kLocal,
  kServersToo,  // may take long
};

/// Makes libdwfl look for debug files there. Call it before dwfl_begin().
void set_search(Dwfl_Callbacks& callbacks, DebugFiles where);
/// Bounds the time of downloads, and keeps libdebuginfod from showing their progress.
void bound_downloads(Dwfl* dwfl);

}  // namespace elision::profile
