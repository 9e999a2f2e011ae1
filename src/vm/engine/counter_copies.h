// SPDX-License-Identifier: Apache-2.0
// Copies of our libraries' counters at the bounds of the part of a run that is counted. The libraries count
// the whole run; readers subtract (abi/counters_reader.h, abi/tm_counters_reader.h).
#pragma once

#include <cstdint>
#include <string>

namespace elision::vm {

/// Copies the newest counter file that each library has made for process `id` in `directory` to one in
/// directory `to`, which has `suffix` behind its name (abi::kCountersAtBegin, abi::kCountersAtEnd),
/// completely or not at all. Does nothing for a process without such a file.
void copy_counters(const std::string& directory, std::uint32_t id, const std::string& to, const char* suffix);

}  // namespace elision::vm
