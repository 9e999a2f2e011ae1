// SPDX-License-Identifier: Apache-2.0
// Call paths as pprof and the tools that read its format take them: a gzipped message Profile of protocol
// buffers (proto/profile.proto of github.com/google/pprof). Pure.
#pragma once

#include <string>

#include "profile/export_labels.h"

namespace elision::profile {

/// Each sample has a number of samples, a weight (the default) and, of time, the labels state, lock and
/// thread; of aborts, the label cause. The same profile gives the same bytes.
std::string pprof_file(const PathTable& table, const Origin& origin);

}  // namespace elision::profile
